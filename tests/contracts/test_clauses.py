"""Every clause that code or a test cites has a line in docs/clauses.md, and every line there is cited."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ID = re.compile(r"(?<![\w-])[A-Z][1-9]\d?(?!\w)")
_BEHIND_A_SIGN = re.compile(rf"#.*{_ID.pattern}")
_LINE = re.compile(r"- (?P<id>[A-Z][1-9]\d?): (?P<words>[A-Z`].*\.)")


@cache
def told() -> list[str]:
    """The clauses of the page, in its order."""
    letter, found = "", []
    for line in (ROOT / "docs" / "clauses.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            letter = line[3]
            assert re.fullmatch(rf"## {letter}: [a-z].*", line), line
        elif line.startswith("- "):
            match = _LINE.fullmatch(line)
            assert match and match["id"][0] == letter, f"not a clause of {letter}: {line}"
            found.append(match["id"])
    return found


@cache
def cited() -> dict[str, str]:
    """Every clause in a comment, a docstring or the list of behaviours, with one place that cites it."""
    found = {}
    for path in sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("tests/**/*.toml")]):
        text = path.read_text(encoding="utf-8")
        if not _ID.search(text):
            continue  # most files: to take one apart takes its time
        for words in prose(text) if path.suffix == ".py" else [text]:
            found.update(dict.fromkeys(_ID.findall(words), str(path.relative_to(ROOT))))
    return found


def prose(source: str) -> Iterator[str]:
    if _BEHIND_A_SIGN.search(source):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ""


def test_every_cited_clause_has_a_line() -> None:
    known = set(told())
    assert {clause: place for clause, place in cited().items() if clause not in known} == {}


def test_every_line_can_be_cited_and_is() -> None:
    clauses = told()
    assert len(clauses) == len(set(clauses))
    assert set(clauses) - set(cited()) == set(), "nothing cites these: leave them out"
