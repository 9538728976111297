"""The fourth verb: what one member's agent learned helps the others (E1-E7)."""
