"""Conversations: messages, and the files they are kept in."""

from memdir.lazily import lazily

__getattr__ = lazily(__name__)
