"""Bytes and paths: atomic writes, locks, safe paths, git. Knows no memories."""
