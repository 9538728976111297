"""`python -m memdir`: the command `memdir`, with the Python that is asked."""

import sys

from memdir.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
