"""Runs the command line in this process, for tests to which a process of its own adds nothing but its start."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

from memdir.cli.entry import main


def run_here(
    command: str, words: Sequence[str], *, cwd: Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """What `command` would have left, were it started in that folder with these words and this input."""
    given, out, err = (io.TextIOWrapper(io.BytesIO(data), "utf-8", write_through=True) for data in (stdin, b"", b""))
    streams = patch.multiple(sys, stdin=given, stdout=out, stderr=err, argv=[command, *words])
    with streams, patch.dict(os.environ), chdir(cwd):
        try:
            code = main(words)
        except SystemExit as end:  # argparse leaves this way
            code = end.code if isinstance(end.code, int) else 1
    require_agreement(words, code, out.buffer.getvalue().decode("utf-8", "replace"))
    return subprocess.CompletedProcess([command, *words], code, out.buffer.getvalue(), err.buffer.getvalue())


def require_agreement(words: Sequence[str], code: int, out: str) -> None:
    """Whatever a test runs: an answer for programs is `ok` exactly where the status is 0 (docs/reference/json.md)."""
    if "--json" in words and out.startswith("{"):
        answer = json.loads(out if out.startswith("{\n") else out.splitlines()[-1])  # what tells events ends with it
        assert answer["ok"] is (code == 0), (words, code, out)
