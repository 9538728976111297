"""What a fork runs on: the loop, the tools, their gate, the judge of shell commands and the sandbox that runs them.

The names here are for hosts with an agent of their own (docs/how-to/embedding.md).
"""

from memdir.disk.shipped import lazily

# Some live in rooms above the front door: nothing is loaded by naming them, and no room below takes them (ADR 0079).
__getattr__ = lazily(__name__)
