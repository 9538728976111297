"""Answers what dreams ask."""
