"""The fourth verb: what one member's agent learned helps the others (E1, E4), within limits (E6), over a folder, git or
a hub (E7)."""
