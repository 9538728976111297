"""Memories as files: topic files, the index, the scan, the history. Knows no agents and no models."""
