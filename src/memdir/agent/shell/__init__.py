"""Judge whether a shell command is provably read-only (G4). It runs nothing; agent/sandbox does."""
