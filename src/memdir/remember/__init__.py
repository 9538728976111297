"""Conversation → files: what is learned from finished turns."""
