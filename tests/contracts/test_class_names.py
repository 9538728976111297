"""A class name stands for one idea, private ones too: none occurs twice in the package, so that a reader who has met
one need not ask which is meant.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import memdir

SOURCE = Path(memdir.__file__).parent


def test_no_class_name_occurs_twice() -> None:
    homes = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].append(path.relative_to(SOURCE).as_posix())
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}
