"""Conversations: messages, and the files they are kept in."""
