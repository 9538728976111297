"""What commands say to people and programs: lines that fit, names that were meant, help as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial

import pytest

from memdir.cli.context import Formatter, build_parser
from memdir.cli.entry import command_places, load_command
from memdir.model.builtin import eyes
from memdir.model.builtin.extract import features
from tests.conftest import Ran

Memdir = Callable[..., Ran]

LONG = "The nightly backup of the warehouse goes to the bucket in Frankfurt, and its restore is tried on every Monday"
NAMED = ("--name", "Backup of the warehouse, with a restore", "--type", "project")
TOLD = """\
list
list --scope all
log
doctor
config list
budget
check
guard
search warehouse
recall where does the nightly backup of the warehouse go
recall --explain the nightly backup of the warehouse
recall --log
why backup
agents
undo --dry-run
move backup --scope user --dry-run
sessions
review
adopt
attach --status
daemon
dream --dry-run
show bakcup
lst
sync
log -x
""".splitlines()


@pytest.mark.parametrize("name", command_places())
def test_of_every_command_s_help_only_an_example_that_is_typed_as_it_is_may_be_wider(name: str) -> None:
    parser = build_parser(name, load_command(command_places()[name]))
    parser.formatter_class = partial(Formatter, width=60)  # type: ignore[assignment]
    told = parser.format_help()
    wide = [line for line in told.splitlines() if len(line) > 60]
    assert [line for line in wide if not line.startswith(("  memdir ", "  #"))] == []
    assert not re.search(r"\w-\n", told), "no word is broken"


def test_whatever_a_command_tells_ends_its_lines_between_words(memdir: Memdir, monkeypatch: pytest.MonkeyPatch) -> None:
    memdir("remember", LONG, *NAMED)
    memdir("recall", "where does the nightly backup of the warehouse go", "--pin")
    monkeypatch.setenv("COLUMNS", "60")
    for words in TOLD:
        ran = memdir(*words.split())
        lines = (ran.out + ran.err).splitlines()
        assert lines and [line for line in lines if len(line) > 60 and " " in line.strip()] == [], words


@pytest.mark.parametrize("typed", ["bakcup", "project_bakup_of_the_warehouse.md", "warehose", "restroe"])
def test_a_mistyped_memory_is_guessed_at(memdir: Memdir, typed: str) -> None:
    memdir("remember", LONG, *NAMED)
    memdir("remember", "The office plants are watered by Ann", "--type", "project")
    for command in ("show", "forget", "why", "edit", "log", "restore", "diff"):
        ran = memdir(command, typed)
        assert ran.code == 6 and "Did you mean project_backup_of_the_warehouse" in ran.err, command
        assert "plants" not in ran.err


def test_a_memory_that_is_gone_is_guessed_at_too_and_what_is_like_nothing_is_not(memdir: Memdir) -> None:
    memdir("remember", "Coffee is out", "--type", "project")
    memdir("forget", "coffee")
    assert "Did you mean project_coffee_is_out.md?" in memdir("restore", "cofee").err
    assert "Did you mean" not in memdir("restore", "zebra").err + memdir("show", "").err


@pytest.mark.parametrize("words", ["--json help", "help --json", "--json --help"])
def test_help_for_programs_lists_every_command(memdir: Memdir, words: str) -> None:
    told = json.loads(memdir(*words.split()).out)
    assert told["ok"] and {one["name"] for one in told["commands"]} == set(command_places())


@pytest.mark.parametrize("words", ["--json list --help", "list -h --json", "--json help list", "help list --json"])
def test_help_of_a_command_for_programs_is_one_answer(memdir: Memdir, words: str) -> None:
    ran = memdir(*words.split())
    told = json.loads(ran.out)
    assert ran.code == 0 and told["ok"] and told["command"] == "list" and "--limit" in told["help"]


@pytest.mark.parametrize(("letters", "code"), [(60_000, 0), (2_000_000, 5)])
def test_a_blob_is_kept_or_refused_at_the_door_and_breaks_nothing(memdir: Memdir, letters: int, code: int) -> None:
    ran = memdir("remember", "-", stdin="x" * letters)
    assert ran.code == code and "inside memdir" not in ran.err
    assert code == 0 or "at most" in ran.err


PATTERNS = [it for part in (eyes, features) for it in vars(part).values() if isinstance(it, re.Pattern)]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda it: it.pattern[:20])
@pytest.mark.parametrize("blob", ["x" * 1_000_000, "x-" * 500_000, "x " * 500_000])
def test_no_pattern_goes_through_a_blob_again_and_again(pattern: re.Pattern[str], blob: str) -> None:
    pattern.search(blob)  # hours, where each letter begins again
