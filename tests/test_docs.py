"""Documentation is product: no path that is missing, no page out of date, no ADR out of form."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NAMED = re.compile(r"(?<![\w/.<~-])((?:src|docs|tests|examples|benchmarks|evals|\.ci)/[\w./-]*\w)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [target for target in LINK.findall(text) if "://" not in target and page.name != "file-format.md"]
    for target in links:
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
    for target in NAMED.findall(text):
        assert (ROOT / target).exists(), f"{page.name} names {target}"


def test_every_path_that_the_makefile_names_exists() -> None:
    for target in re.findall(
        r"\b(?:tests|examples|src|docs)/[\w./-]*\w", (ROOT / "Makefile").read_text(encoding="utf-8")
    ):
        assert (ROOT / target).exists(), f"the Makefile names {target}"


def test_every_module_that_a_page_names_exists() -> None:
    """By its name or the end of its path; `app.py` is a file of the user's."""
    known = [path.as_posix() for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts] + ["/app.py"]
    for page in PAGES:
        for name in set(re.findall(r"(?<![\w/.-])[\w/]+\.py\b", page.read_text(encoding="utf-8"))):
            assert any(path.endswith(f"/{name}") for path in known), f"{page.name} names {name}"


def test_each_word_of_the_glossary_is_told_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    words = [word.strip() for row in rows for word in row.split(",")]
    assert "memory" in words
    assert [word for word in words if words.count(word) > 1] == []


def test_the_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.generate", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/adr/*.md")), ids=lambda page: page.name)
def test_a_decision_has_its_three_parts_on_one_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(r"\d{4}-[a-z0-9-]+\.md$", page.name)
    assert text.startswith(f"# {page.name[:4]} ")
    for part in ("**Context.**", "**Decision.**", "**Consequences.**"):
        assert part in text
    assert len(text.splitlines()) <= 60


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        for named in re.findall(r"(?:`|^)make ([a-z -]+)(?:`|  |$)", page.read_text(encoding="utf-8"), re.MULTILINE):
            for target in named.split():
                assert target.strip("-") in targets | {"bench", "eval"}, f"{page.name} names make {target}"


def test_no_page_or_source_names_a_machine_path() -> None:
    for path in [*PAGES, *ROOT.glob("src/**/*.py"), *ROOT.glob("src/**/*.md")]:
        assert "/work/" not in path.read_text(encoding="utf-8"), path


def test_what_the_page_about_scopes_shows_can_be_done(
    memdir: Callable[..., Ran], project: Path, memdir_command: str
) -> None:
    """Every command of it, one after the other."""
    for name, scope in (("user_role", "project"), ("feedback_tabs", "user"), ("feedback_ci", "user")):
        memdir("remember", f"{name} is told", "--name", name, "--type", name.split("_")[0], "--scope", scope)
    memdir("move", "user_role", "--scope", "user")
    page = (ROOT / "docs/how-to/scopes.md").read_text(encoding="utf-8")
    first, second = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    environment = {**os.environ, "PATH": f"{Path(memdir_command).parent}:{os.environ['PATH']}"}
    for script in (first, "memdir undo --scope user; memdir undo", second):
        command = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "user_role.md" in memdir("list", "--scope", "user").out


SHOWN = ["settings.md", "remembering.md", "guards.md", "subagents.md", "magic-docs.md", "daily-log.md"]


@pytest.mark.parametrize("page", SHOWN)
def test_what_these_pages_show_can_be_done(page: str, repository: Path, memdir_command: str) -> None:
    text = (ROOT / "docs/how-to" / page).read_text(encoding="utf-8")
    first, *_ = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    environment = {**os.environ, "PATH": f"{Path(memdir_command).parent}:{os.environ['PATH']}"}
    command = ["bash", "-euo", "pipefail", "-c", first]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_page_for_people_names_a_clause() -> None:
    """They are for who works on it: comments, tests, decisions, what is made of docstrings."""
    inner = {"clauses.md", "architecture.md", "api.md"}
    for page in (page for page in PAGES if page.parent.name != "adr" and page.name not in inner | {"CONTRIBUTING.md"}):
        text = re.sub(r"\(F[2-5]\)", "", page.read_text(encoding="utf-8"))  # keys of the chat
        assert re.findall(r"\bSPEC\b|\([A-Z]\d{1,2}(?:, [A-Z]\d{1,2})*\)", text) == [], page.name


def test_what_a_package_index_shows_links_to_nothing_that_is_not_there() -> None:
    """It shows a page alone: a link works only when it is whole."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shown, readme = ((ROOT / name).read_text(encoding="utf-8") for name in (project["readme"], "README.md"))
    assert re.findall(r"\]\((?!https://)[\w./#-]+\)", shown) == []
    assert all(line in shown for line in readme.splitlines() if "](" not in line), "and is README otherwise"


def test_the_package_brings_all_that_its_readme_links_to() -> None:
    """There is no address of the repository to link to: what is unpacked must do. Once there is one, an index shows
    README beside it, and there a link works only when it is whole."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    has_address = "urls" in project["project"]
    packed = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    links = re.findall(r"\]\(([\w./-]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert bool(links) != has_address
    assert {link.split("/")[0] for link in links} <= (set() if has_address else set(packed))


LOST = {"the last change": "{last}", "the tree of the last change": "{last}^{{tree}}", "an old version": "{old}:two.md"}


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST.keys())
def test_the_way_to_an_old_version_leads_there(
    lost: str, memdir: Callable[..., Ran], git: Callable[..., str], project: Path, memdir_command: str
) -> None:
    """Every command of the page, word by word, on a history that really lost something."""
    for name in ("Testing", "Two", "Three"):
        memdir("remember", f"{name} came before the damage", "--name", name, "--type", "feedback")
    memdir("forget", "feedback_testing.md")
    state = Path(memdir("path").out.strip() + ".state")
    history = state / "history.git"
    last, _, old, _ = git("rev-list", "main", cwd=history).split()
    named = lost.format(last=last, old=old).replace("two.md", "feedback_two.md")
    blob = git("rev-parse", named, cwd=history).strip()
    (history / "objects" / blob[:2] / blob[2:]).write_bytes(b"")
    Path(str(state)[: -len(".state")], "feedback_two.md").unlink()
    memdir("doctor", "--fix")
    page = (ROOT / "docs/how-to/history-set-aside.md").read_text(encoding="utf-8")
    script = "\n".join(re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    path = f"{Path(memdir_command).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace("4f2a91c0", old[:8])],
        cwd=project,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert blob in done.stdout, "what is broken is named"
    assert "remember Two" in done.stdout and "Imported 1 memory" in done.stdout
    assert "Testing came before the damage" in memdir("show", "feedback_testing.md").out
    assert list(state.glob("history.git.damaged-*")) == []
