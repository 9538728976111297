"""The reference check (R6), against a real repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.recall.verify import Verifier, named_in

Git = Callable[..., str]


@pytest.fixture
def project(repository: Path, git: Git) -> Path:
    (repository / "src").mkdir()
    (repository / "src" / "old_name.py").write_text("def load_settings():\n    return 1\n" * 5)
    (repository / "src" / "kept.py").write_text("class PaymentGateway: ...\n")
    (repository / "Makefile").write_text("test lint: src\n\techo\n")
    (repository / "package.json").write_text('{"scripts": {"build": "x"}}')
    git("add", ".", cwd=repository)
    git("commit", "--quiet", "-m", "add", cwd=repository)
    git("mv", "src/old_name.py", "src/new_name.py", cwd=repository)
    git("commit", "--quiet", "-m", "rename", cwd=repository)
    return repository


def words(project: Path, text: str) -> list[str]:
    return [item.words for item in Verifier(str(project)).missing(text, max_seconds=20)]


def test_a_renamed_file_is_named_with_its_new_name(project: Path) -> None:
    assert words(project, "Settings are read in src/old_name.py, see src/kept.py") == [
        "src/old_name.py (renamed to src/new_name.py)"
    ]


def test_a_file_that_never_was_is_gone_without_a_new_name(project: Path) -> None:
    assert words(project, "See src/never.py.") == ["src/never.py"]


def test_symbols_are_looked_up_in_the_tracked_files(project: Path) -> None:
    text = "Use `load_settings()` and `PaymentGateway`, not `load_config()` or `OrderGateway`; `x` is no symbol"
    assert words(project, text) == ["load_config()", "OrderGateway"]


def test_commands_are_looked_up_where_they_are_defined(project: Path) -> None:
    text = "Run `make lint` and `make deploy`, `npm run build` and `npm run ship`."
    assert words(project, text) == ["make deploy", "npm run ship"]


def test_addresses_on_the_web_are_not_files_but_links_into_a_repository_are(project: Path) -> None:
    text = "See https://example.org/a/b.html, docs.example.com/x/y.md and https://git.example/o/r/blob/main/src/gone.py"
    assert words(project, text) == ["src/gone.py"]


def test_outside_git_only_paths_and_commands_are_claimed(tmp_path: Path) -> None:
    assert words(tmp_path, "`load_config()` in src/gone.py, `make x`") == ["src/gone.py"]


def test_a_check_that_would_take_too_long_claims_nothing(project: Path) -> None:
    assert Verifier(str(project)).missing("See src/never.py and `load_config()`", max_seconds=0) == []


def test_what_was_found_is_remembered_until_the_head_moves(project: Path, git: Git) -> None:
    verifier = Verifier(str(project))
    assert [item.name for item in verifier.missing("`load_config()`", max_seconds=20)] == ["load_config()"]
    (project / "src" / "kept.py").write_text("def load_config(): ...\n")
    assert len(verifier.missing("`load_config()`", max_seconds=20)) == 1
    git("commit", "--quiet", "-am", "config", cwd=project)
    assert verifier.missing("`load_config()`", max_seconds=20) == []


def test_what_was_found_in_a_worktree_is_forgotten_when_its_head_moves(project: Path, git: Git, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git("worktree", "add", "--quiet", str(tree), cwd=project)
    verifier = Verifier(str(tree))
    assert len(verifier.missing("`load_config()`", max_seconds=20)) == 1
    (tree / "src" / "kept.py").write_text("def load_config(): ...\n")
    git("commit", "--quiet", "-am", "config", cwd=tree)
    assert verifier.missing("`load_config()`", max_seconds=20) == []


def test_each_name_is_checked_once() -> None:
    assert list(named_in("a/b.py a/b.py `foo_bar` `foo_bar`")) == [("path", "a/b.py"), ("symbol", "foo_bar")]
