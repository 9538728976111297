"""Conversations: messages, and the files they are kept in."""

from memdir.disk.shipped import lazily

__getattr__ = lazily(__name__)
