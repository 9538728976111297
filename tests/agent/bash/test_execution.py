"""Commands the judge allows are really run, without a sandbox, among treacherous files: nothing may change (G4).

The commands are made from the option tables themselves and from words that would write if they got through.
"""

from __future__ import annotations

import asyncio
import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from memdir.agent.bash.bash_tool import run_sandboxed
from memdir.agent.bash.command_arguments import COMMANDS, GIT_COMMANDS, long_options, short_options
from memdir.agent.bash.sandbox import ENVIRONMENT, sandbox_kind
from memdir.agent.bash.shell_judge import judge
from memdir.agent.gate import Allow

from .place import build_place, lines, snapshot

BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(not BASH, reason="bash is not installed")

SEED = 20
BATCH = 40
MIXED = 4_000  # lines tried by the judge; those it allows are run
# What would write, run or delete if it got past the judge, beside what a command needs to get that far.
BAIT = (
    *("-o", "-opwned", "--output=pwned", "--out=pwned", "-i", "-w", "-delete", "-exec", "-fprint", "-fls", "-C", "-R"),
    *(
        "pwned",
        "pwned2",
        "*",
        "./*",
        "*.txt",
        "-r",
        "-T",
        "--pre",
        "--compress-program=./evil",
        "'w pwned'",
        "'s/a/b/w pwned'",
    ),
    *(
        "'1e touch pwned'",
        "'{print > \"pwned\"}'",
        "'BEGIN{system(\"touch pwned\")}'",
        "-v",
        "-f",
        "--",
        "-",
        "-s",
        "-n",
        "-p",
    ),
    *(
        "{a,b}.txt",
        "{a.txt,-opwned}",
        "-e",
        "-E",
        "-l",
        "-c",
        "-d",
        "-x",
        "-u",
        "tf",
        "xf",
        "cf",
        "add",
        "new",
        "--set=x",
    ),
    *(
        "a.txt",
        "b.txt",
        "a.json",
        "src",
        ".",
        "a.csv",
        "README.md",
        "'{print $1}'",
        "p",
        "foo",
        "5",
        "-1",
        "HEAD",
        "--list",
    ),
    *(">/dev/null", "2>&1", "| cat", "| sort", "| xargs cat", "| xargs -I{} cat {}", "| head -2", "&& ls", "; pwd"),
)


def run_for_real(commands: list[str], place: Path) -> None:
    """By bash as the sandbox would start it, but with nothing around it; one shell runs many, to be quick."""
    try:
        subprocess.run(
            [BASH, "--norc", "--noprofile", "-c", "\n".join(commands)],
            cwd=place,
            env=dict(ENVIRONMENT),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"one of these was allowed and does not end: {commands}")


def from_tables() -> list[str]:
    """Every option of every row, alone, with a file or two behind it."""
    rows = {name: spec for name, spec in COMMANDS.items() if not spec.rule}
    rows |= {f"git {name}": spec for name, spec in GIT_COMMANDS.items()}
    made = []
    for name, spec in rows.items():
        shorts = [f"-{letter}{'' if arity == 'flag' else '2'}" for letter, arity in short_options(spec.short).items()]
        longs = [f"--{option}{'=2' if arity == 'value' else ''}" for option, arity in long_options(spec.long).items()]
        for option in ["", *shorts, *longs]:
            made.append(f"{name} {option} {'foo ' if spec.operands == 'pattern' else ''}a.txt")
    return made


def mixed() -> list[str]:
    """Random words, bait among them, behind every command."""
    chance = random.Random(SEED)
    names = [*COMMANDS, *(f"git {name}" for name in GIT_COMMANDS)]
    options = [f"-{letter}" for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123"]
    words = [*BAIT, *BAIT, *options]
    return [f"{chance.choice(names)} {' '.join(chance.choices(words, k=chance.randint(1, 4)))}" for _ in range(MIXED)]


def allowed(commands: list[str]) -> list[str]:
    return sorted({command for command in commands if judge(command) == Allow()})


@pytest.mark.slow("tables")
@pytest.mark.parametrize(
    "made",
    [lambda: lines(Path(__file__).parent / "harmless.txt"), from_tables, mixed],
    ids=["harmless", "tables", "mixed"],
)
def test_nothing_changes_when_allowed_commands_run_for_real(made: object, tmp_path: Path) -> None:
    place = build_place(tmp_path)
    before = snapshot(place)
    assert callable(made)
    commands = allowed(made())
    assert len(commands) > 100
    for at in range(0, len(commands), BATCH):
        run_for_real(commands[at : at + BATCH], place)
        assert snapshot(place) == before, commands[at : at + BATCH]


def test_nothing_changes_when_allowed_commands_run_in_the_sandbox(tmp_path: Path) -> None:
    if sandbox_kind() is None:
        pytest.skip("neither bubblewrap nor Landlock works here")
    place = build_place(tmp_path)
    before = snapshot(place)
    commands = allowed(mixed())

    async def run_all() -> None:
        for command in random.Random(SEED).sample(commands, 60):
            result = await run_sandboxed(command, cwd=str(place), timeout_seconds=20, max_output_bytes=10_000)
            assert not result.timed_out, command

    asyncio.run(run_all())
    assert snapshot(place) == before


def test_honest_output_comes_back_from_the_sandbox(tmp_path: Path) -> None:
    if sandbox_kind() is None:
        pytest.skip("neither bubblewrap nor Landlock works here")
    place = build_place(tmp_path)
    command = f"grep -c foo {shlex.quote(str(place / 'b.txt'))} && git log --oneline | wc -l && cat a.txt | tail -1"
    assert judge(command) == Allow()
    result = asyncio.run(run_sandboxed(command, cwd=str(place), timeout_seconds=20, max_output_bytes=10_000))
    assert (result.exit_code, result.output.split()) == (0, ["39", "1", "changed"])
