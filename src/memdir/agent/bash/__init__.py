"""Judge whether a shell command is provably read-only, and run it where the kernel keeps it so (G4)."""
