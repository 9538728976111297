"""The reference check (R6), against a real repository."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.recall.verify import MAX_TRIES, Verifier, references_in

Git = Callable[..., str]
Commit = Callable[[dict[str, str | None]], None]

LINES = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture
def commit(repository: Path, git: Git) -> Commit:
    """Writes files, takes away those without a text, and commits that."""

    def make(texts: dict[str, str | None]) -> None:
        for name, text in texts.items():
            path = repository / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git("add", "--all", cwd=repository)
        git("commit", "--quiet", "-m", "change", cwd=repository)

    return make


@pytest.fixture
def project(repository: Path, git: Git, commit: Commit) -> Path:
    """A project with a past: one file renamed, one removed, with a symbol, two targets and two scripts."""
    commit(
        {
            "src/old_name.py": "def load_settings():\n    return 1\n" * 5,
            "src/gone.py": "def load_config(): ...\n\n\nclass OrderGateway: ...\n",
            "src/kept.py": "class PaymentGateway: ...\n",
            "Makefile": "test lint: src\n\techo\ndeploy:\n\techo\n",
            "package.json": '{"scripts": {"build": "x", "ship": "y"}}',
        }
    )
    commit(
        {
            "src/gone.py": None,
            "Makefile": "test lint: src\n\techo\n",
            "package.json": '{"scripts": {"build": "x"}}',
        }
    )
    git("mv", "src/old_name.py", "src/new_name.py", cwd=repository)
    git("commit", "--quiet", "-m", "rename", cwd=repository)
    return repository


def words(project: Path, text: str) -> list[str]:
    return [item.words for item in Verifier(str(project)).missing(text, max_seconds=20)]


def test_where_no_git_tells_paths_that_stood_are_remembered_within_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R6: a process may go on for weeks."""
    monkeypatch.setattr("memdir.recall.verify.MAX_SEEN", 2)
    paths, verifier = [tmp_path / "src" / f"{name}.py" for name in "abc"], Verifier(str(tmp_path))
    paths[0].parent.mkdir()
    for path in paths:
        path.touch()
        assert verifier.missing(f"See src/{path.name}.") == []
        path.unlink()
    assert [one.name for one in verifier.missing("src/a.py src/b.py src/c.py")] == ["src/a.py", "src/b.py"]


def test_a_renamed_file_is_named_with_its_new_name(project: Path) -> None:
    assert words(project, "Settings are read in src/old_name.py, see src/kept.py") == [
        "src/old_name.py (renamed to src/new_name.py)"
    ]


def test_a_file_that_was_removed_is_gone_without_a_new_name(project: Path) -> None:
    assert words(project, "See src/gone.py.") == ["src/gone.py"]


@pytest.mark.parametrize(
    "text",
    [
        "See src/never.py",
        "a Node.js/Express.js backend",
        "first read/write.Then close",
        "served as image/svg.xml",
        "see ../other/src/gone.py",
        "`getElementById` and `pytest_addoption`",
        "`make release` and `npm run gone`",
    ],
)
def test_of_what_never_was_in_the_project_nothing_is_claimed(project: Path, text: str) -> None:
    assert words(project, text) == []


def test_names_with_several_dots_are_names(project: Path, commit: Commit) -> None:
    commit({"src/x.test.ts": LINES, "src/x.d.ts": "x", "src/x.test": "x", "lib/a-3.6.0.min.js": "x"})
    commit({"src/x.d.ts": None, "src/x.test": None})
    assert words(project, "src/x.test.ts, src/x.d.ts and lib/a-3.6.0.min.js.") == ["src/x.d.ts"]


def test_a_path_may_be_seen_from_a_package(project: Path, commit: Commit) -> None:
    commit({"packages/web/src/app.ts": LINES, "packages/web/src/was.ts": "x", "src/app.ts": "y"})
    commit({"packages/web/src/was.ts": None, "src/app.ts": None})
    (project / "packages" / "web" / "src" / "new.ts").write_text("")
    assert words(project, "src/app.ts, src/new.ts, src/was.ts") == ["src/was.ts"]


def test_a_file_at_the_root_is_meant_before_one_of_a_package(project: Path, commit: Commit, git: Git) -> None:
    commit({"src/app.ts": LINES, "packages/web/src/app.ts": "y\n" * 20})
    for old, new in (("src/app.ts", "src/main.ts"), ("packages/web/src/app.ts", "packages/web/src/web.ts")):
        git("mv", old, new, cwd=project)
        git("commit", "--quiet", "-m", "rename", cwd=project)
    assert words(project, "src/app.ts") == ["src/app.ts (renamed to src/main.ts)"]
    assert words(project, "web/src/app.ts") == ["web/src/app.ts (renamed to packages/web/src/web.ts)"]


def test_which_of_several_packages_is_meant_is_not_guessed(project: Path, commit: Commit) -> None:
    commit({"packages/a/src/app.ts": LINES, "packages/b/src/app.ts": "y\n" * 20})
    commit(
        {
            "packages/a/src/app.ts": None,
            "packages/b/src/app.ts": None,
            "packages/a/src/main.ts": LINES,
            "packages/b/src/main.ts": "y\n" * 20,
        }
    )
    assert words(project, "src/app.ts") == ["src/app.ts"]


def test_a_file_that_a_sparse_checkout_leaves_out_is_not_gone(project: Path, git: Git) -> None:
    git("sparse-checkout", "set", "docs", cwd=project)
    assert not (project / "src").exists()
    assert words(project, "src/kept.py, `PaymentGateway`") == []


def test_a_file_renamed_twice_is_named_with_its_last_name(project: Path, git: Git) -> None:
    git("mv", "src/new_name.py", "src/newer.py", cwd=project)
    git("commit", "--quiet", "-m", "rename", cwd=project)
    git("mv", "src/newer.py", "src/newest.py", cwd=project)
    assert words(project, "src/old_name.py") == ["src/old_name.py (renamed to src/newest.py)"]
    git("commit", "--quiet", "-m", "rename", cwd=project)
    assert words(project, "src/old_name.py") == ["src/old_name.py (renamed to src/newest.py)"]


def test_a_later_file_of_the_name_in_between_does_not_mislead(project: Path, git: Git, commit: Commit) -> None:
    git("mv", "src/new_name.py", "src/newer.py", cwd=project)
    git("commit", "--quiet", "-m", "rename", cwd=project)
    commit({"src/new_name.py": LINES})
    git("mv", "src/new_name.py", "src/another.py", cwd=project)
    git("commit", "--quiet", "-m", "rename", cwd=project)
    assert words(project, "src/old_name.py") == ["src/old_name.py (renamed to src/newer.py)"]


def test_a_rename_that_is_not_committed_is_known(project: Path, git: Git) -> None:
    verifier = Verifier(str(project))
    assert verifier.missing("src/kept.py", max_seconds=20) == []
    for new in ("src/moved.py", "src/again.py"):
        git("mv", "src/kept.py" if new == "src/moved.py" else "src/moved.py", new, cwd=project)
        assert [item.now for item in verifier.missing("src/kept.py", max_seconds=20)] == [new]


def test_a_file_that_was_only_deleted_on_disk_is_gone(project: Path) -> None:
    (project / "src" / "kept.py").unlink()
    assert words(project, "src/kept.py") == ["src/kept.py"]


def test_a_path_may_begin_with_a_dot_and_a_slash(project: Path) -> None:
    assert words(project, "./src/old_name.py and ./src/kept.py") == ["src/old_name.py (renamed to src/new_name.py)"]


def test_symbols_are_looked_up_in_the_files_and_in_the_past(project: Path) -> None:
    text = "Use `load_settings()` and `PaymentGateway`, not `load_config()` or `OrderGateway`; `x` is no symbol"
    assert words(project, text) == ["load_config()", "OrderGateway"]


def test_a_symbol_in_a_file_that_is_not_tracked_yet_is_there(project: Path) -> None:
    (project / "src" / "fresh.py").write_text("def load_config(): ...\n")
    assert words(project, "`load_config()`") == []


def test_a_part_of_a_symbol_never_was_one(project: Path, commit: Commit) -> None:
    commit({"src/a.py": "def open_pools(): ...\n"})
    commit({"src/a.py": None})
    assert words(project, "`open_pool` `open_pools`") == ["open_pools"]


def test_commands_are_looked_up_where_they_are_defined(project: Path) -> None:
    text = "Run `make lint` and `make deploy`, `npm run build` and `npm run ship`."
    assert words(project, text) == ["make deploy", "npm run ship"]


def test_a_script_is_not_found_among_the_dependencies(project: Path, commit: Commit) -> None:
    commit({"package.json": '{"scripts": {"build": "x"}, "dependencies": {"ship": "1", "lint": "1"}}'})
    assert words(project, "`npm run ship` `npm run lint`") == ["npm run ship"]


def test_a_command_that_moved_to_a_package_or_an_included_file_is_not_gone(project: Path, commit: Commit) -> None:
    commit({"packages/web/package.json": '{"scripts": {"ship": "y"}}', "Makefile": "include rules\n"})
    assert words(project, "`npm run ship` `make deploy`") == []


def test_a_rule_with_a_pattern_makes_a_target(project: Path, commit: Commit) -> None:
    commit({"Makefile": "dep%: src\n\techo\n"})
    assert words(project, "`make deploy` `make test`") == ["make test"]


def test_recipes_of_just_are_commands(project: Path, commit: Commit) -> None:
    commit({"justfile": "alias b := build\n@build target: deps\n  echo\nship:\n  echo\n"})
    commit({"justfile": "alias b := build\n@build target: deps\n  echo ship: done\n"})
    assert words(project, "`just b`, `just build`, `just ship`, `just never`") == ["just ship"]


def test_a_package_file_that_cannot_be_read_claims_nothing(project: Path, commit: Commit) -> None:
    commit({"package.json": "{"})
    assert words(project, "`npm run ship`") == []


def test_addresses_on_the_web_are_not_files_but_links_into_a_repository_are(project: Path) -> None:
    text = (
        "See https://example.org/a/b.html, docs.example.com/x/y.md and https://git.example/o/r/blob/main/src/gone.py#L3"
    )
    assert words(project, text) == ["src/gone.py"]


def test_the_branch_of_a_link_may_have_a_slash(project: Path) -> None:
    link = "https://git.example/o/r/blob/feature/x/src"
    assert words(project, f"{link}/kept.py {link}/gone.py {link}/never.py") == ["src/gone.py"]


@pytest.mark.parametrize("url", ["git@git.example:o/r.git", "https://git.example/fork/R"])
def test_a_link_into_another_repository_names_nothing_here(project: Path, git: Git, url: str) -> None:
    git("remote", "add", "origin", url, cwd=project)
    assert words(project, "https://git.example/o/other/blob/main/src/gone.py") == []
    assert words(project, "https://git.example/o/r/-/blob/main/src/gone.py") == ["src/gone.py"]


def test_outside_git_only_what_an_earlier_check_saw_is_claimed(tmp_path: Path) -> None:
    verifier = Verifier(str(tmp_path))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "seen.py").write_text("")
    text = "`load_config()` in src/gone.py and src/seen.py, `make x`"
    assert verifier.missing(text, max_seconds=20) == []
    (tmp_path / "src" / "seen.py").unlink()
    assert [item.words for item in verifier.missing(text, max_seconds=20)] == ["src/seen.py"]


def test_a_check_that_would_take_too_long_claims_nothing(project: Path) -> None:
    assert Verifier(str(project)).missing("See src/gone.py and `load_config()`", max_seconds=0) == []


@pytest.fixture
def git_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a git before the real one that does what is said; returns the file that counts how often it was asked."""

    def install(does: str) -> Path:
        program, asked = tmp_path / "first" / "git", tmp_path / "asked"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho >> {asked}\n{does}\n")
        program.chmod(0o700)
        monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
        return asked

    return install


HANGS = "exec tail -f /dev/null"


def test_many_paths_are_looked_up_in_the_past_together(project: Path, git_that: Callable[[str], Path]) -> None:
    asked = git_that(f'exec {shutil.which("git")} "$@"')
    words(project, "src/never.py")
    once = asked.read_text().count("\n")
    never = " ".join(f"src/never{number}.py" for number in range(10))
    assert words(project, f"{never} web/src/gone.py src/gone.py") == ["src/gone.py"]
    assert asked.read_text().count("\n") == 2 * once + 1, "and the commit that took one away, for a new name"


def test_an_answer_that_came_too_late_is_asked_for_again(project: Path, git_that: Callable[[str], Path]) -> None:
    asked = git_that(HANGS)
    verifier = Verifier(str(project))
    assert verifier.missing("src/old_name.py", max_seconds=0.2) == []
    assert asked.exists()
    shutil.rmtree(asked.parent / "first")
    assert [item.now for item in verifier.missing("src/old_name.py", max_seconds=20)] == ["src/new_name.py"]


def test_what_never_answers_in_time_is_given_up(project: Path, git_that: Callable[[str], Path]) -> None:
    asked = git_that(HANGS)
    verifier = Verifier(str(project))
    for _ in range(MAX_TRIES + 2):
        assert verifier.missing("src/old_name.py", max_seconds=0.1) == []
    assert asked.read_text().count("\n") == MAX_TRIES


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
    assert list(references_in("a/b.py ./a/b.py `foo_bar` `foo_bar`")) == [("path", "a/b.py"), ("symbol", "foo_bar")]
