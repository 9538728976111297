"""Models: one protocol, and those that speak it. SDKs are extras, imported when used.

The names here are for hosts that choose, wrap or write a model (docs/how-to/models.md), or the words that one reads.
"""

from memdir.disk.shipped import lazily

__getattr__ = lazily(__name__)
