"""The version, alone in its module so that `memdir --version` loads nothing else."""

__version__ = "0.1.0"
