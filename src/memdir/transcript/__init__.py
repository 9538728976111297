"""Conversations: messages, the files they are kept in, and their words as a person may see them on a screen."""

from memdir.disk.shipped import lazily

__getattr__ = lazily(__name__)
