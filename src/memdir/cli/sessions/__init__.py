"""`memdir sessions …`: one file a command."""
