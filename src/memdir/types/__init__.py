"""Types that signatures name.

Types that the signatures and fields of the public names mention, for annotations of one's own.
"""

from memdir.disk.shipped import lazily

__getattr__ = lazily(__name__)
