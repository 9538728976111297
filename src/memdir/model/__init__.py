<<<<<<< HEAD
"""Models: one protocol, and those that speak it. SDKs are extras, imported when used."""
=======
"""Models: the protocol and the providers behind it, the embedded offline one included."""
>>>>>>> extract
