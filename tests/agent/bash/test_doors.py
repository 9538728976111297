"""Lines that try every door, judged and run where the traps are: nothing changes, runs or comes out (G4)."""

from __future__ import annotations

import random
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from memdir.agent.bash.shell_judge import judge
from memdir.agent.gate import Allow, Deny

from .place import lines
from .traps import Trap, build_trap, versions

pytestmark = pytest.mark.skipif(
    not (shutil.which("bwrap") and shutil.which("bash")), reason="needs bubblewrap and bash"
)

HERE = Path(__file__).parent
DOORS = [line for line in lines(HERE / "doors.txt") if not line.startswith("#")]
HOSTILE = [line[2:] for line in DOORS if line.startswith("- ")]
HARMLESS = [line[2:] for line in DOORS if line.startswith("+ ")]
BATCH = 40
SEED = 12
MUTANTS = {"sample": 6_000, "all": 100_000}


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return build_trap(tmp_path_factory.mktemp("trap"))


def test_the_corpus_is_new_and_large() -> None:
    older = {*lines(HERE / "hostile.txt"), *lines(HERE / "harmless.txt")}
    assert len({*HOSTILE, *HARMLESS} - older) >= 900
    assert all(line[:2] in ("- ", "+ ") for line in DOORS)


def test_every_hostile_line_is_denied(trap: Trap) -> None:
    assert [line for line in HOSTILE if not isinstance(judge(line, cwd=str(trap.place)), Deny)] == []


def test_every_harmless_line_is_allowed(trap: Trap) -> None:
    verdicts = {line: judge(line, cwd=str(trap.place)) for line in HARMLESS}
    assert {line: verdict for line, verdict in verdicts.items() if verdict != Allow()} == {}


# A folder, what a stranger put there (`name -> target` is a link), and the line that shows `../out/.env` or `s/.env`.
NAMED_TO_HARM = (
    ("-r s/.env", "grep CANARY *"),
    ("-drecurse s/.env a.py", "grep CANARY *"),
    ("-r s/.env", "grep CANARY [-a]*"),
    ("-r/x s/.env", "grep CANARY */x"),
    ("--files0-from=.l .l->../out/list", "wc *"),
    ("--files0-from=.l .l->../out/list", "du -a *"),
    ("-f a", "tail *"),
    ("-r a s/.env", "rg -l '' | xargs grep CANARY"),
    ("a->../out/.env b", "grep -l '' b a | xargs cat"),
    ("d->../out b", "find -L . -type f | xargs cat"),
    ("d->../out b", "find d/ -type f | xargs cat"),
    ("d->../out b", "rg -l '' d | xargs cat"),
    (".docker/config.json config.json", "git diff .docker config.json"),
    (".docker/config.json config.json", "diff .docker config.json"),
    ("x.JSON secrets.json", "rg --iglob '*.JSON' CANARY"),
)


@pytest.mark.parametrize(("names", "line"), NAMED_TO_HARM)
def test_no_name_of_a_file_makes_a_line_show_more(names: str, line: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    for name in ("../out/.env", "../out/list", *(name for name in names.split() if "->" not in name)):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("CANARY\n")
    for name, target in (name.split("->") for name in names.split() if "->" in name):
        (place / name).symlink_to(target)
    assert isinstance(judge(line, cwd=str(place)), Deny)


def test_a_whole_repository_may_be_searched_unless_its_configuration_holds_a_token(tmp_path: Path) -> None:
    config = tmp_path / ".git" / "config"
    config.parent.mkdir()
    config.write_text('[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.com/a.git\n')
    assert judge("grep -rn foo .", cwd=str(tmp_path)) == Allow()
    assert isinstance(judge("cat .git/config", cwd=str(tmp_path)), Deny)
    config.write_text('[remote "origin"]\n\turl = https://me:word@example.com/a.git\n')
    assert isinstance(judge("grep -rn foo .", cwd=str(tmp_path)), Deny)


def check_runs(trap: Trap, commands: list[str]) -> None:
    """Runs them by every version of awk and sed there is, many at a time; one at a time when something is wrong."""
    for programs in versions(trap):
        chosen = [line for line in commands if not programs or re.search(r"\b(awk|sed)\b", line)]
        for at in range(0, len(chosen), BATCH):
            batch = chosen[at : at + BATCH]
            if trap.runs(batch, programs=programs):
                culprits = [line for line in batch if trap.runs([line], programs=programs)]
                pytest.fail(f"with {programs or 'the programs installed'}: {culprits or batch}")


def test_what_is_allowed_does_no_harm(trap: Trap) -> None:
    """Also of the older lists: whatever the judge lets through in this folder is run."""
    known = [*HOSTILE, *HARMLESS, *lines(HERE / "hostile.txt"), *lines(HERE / "harmless.txt")]
    check_runs(trap, [line for line in known if judge(line, cwd=str(trap.place)) == Allow()])


@cache
def _pieces() -> tuple[list[list[str]], list[str]]:
    """The lines as words and blanks, and all words of all lines: quoted ones whole, and cut open."""
    cut = re.compile(r"'[^']*'|\"[^\"]*\"|\s+|[^\s'\"]+|.", re.DOTALL)
    split = [cut.findall(line) for line in [*HOSTILE, *HARMLESS]]
    inner = [part for words in split for word in words for part in re.findall(r"[\w.*/$]+|\W", word)]
    return split, sorted({word for words in split for word in words if word.strip()} | set(inner))


def mutant(chance: random.Random) -> str:
    """A line with some of its words exchanged, taken out, doubled, or cut and filled with pieces of others."""
    split, pool = _pieces()
    words = list(chance.choice(split))
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(words))
        change = chance.randrange(4)
        if change == 0:
            words[at] = chance.choice(pool)
        elif change == 1:
            words.insert(at, f" {chance.choice(pool)} ")
        elif change == 2:
            middle = chance.randrange(len(words[at]) + 1)
            words[at] = words[at][:middle] + chance.choice(pool) + words[at][middle:]
        elif len(words) > 1:
            words.pop(at)
    return "".join(words)


def test_mutants_that_are_allowed_do_no_harm(trap: Trap, request: pytest.FixtureRequest) -> None:
    chance = random.Random(SEED)
    count = MUTANTS[request.config.getoption("--faults", default="sample")]
    made = {mutant(chance) for _ in range(count)} - {*HARMLESS}
    allowed = sorted(line for line in made if judge(line, cwd=str(trap.place)) == Allow())
    assert len(allowed) > count // 100
    check_runs(trap, allowed)


def test_the_trap_shows_what_it_should(trap: Trap, tmp_path: Path) -> None:
    """What is denied above does harm when it is run: the canaries are alive."""
    for number, line in enumerate(
        ["git log --format='%+G?'", "cat .[e]nv", "git stash -m show", "awk '{print > \"pwned\"}' a.txt"]
    ):
        assert build_trap(tmp_path / str(number)).runs([line])
