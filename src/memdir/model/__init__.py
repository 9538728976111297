"""Models: the protocol and the providers behind it, the embedded offline one included."""
