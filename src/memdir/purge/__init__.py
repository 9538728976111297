"""The command that removes what came from a session, a page or a person."""
