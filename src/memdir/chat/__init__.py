"""A chat in the terminal with all of memdir in it (H1), and the turn engine that it stands on (`host.py`)."""
