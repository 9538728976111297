"""Finds documents by words and meaning: what is kept of them, the index on disk, the one ranking."""
