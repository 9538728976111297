"""A stranger's project is read and never run, whatever its git configuration, hooks and attributes name (S15)."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from memdir.agent.bash.sandbox import ENVIRONMENT, sandbox_kind
from memdir.agent.bash.shell_judge import judge
from memdir.agent.gate import Allow
from memdir.cli.entry import command_places
from memdir.disk.git_root import work_tree_root
from memdir.disk.project_git import NO_GIT, ProjectGit
from memdir.disk.repository import LeftOut
from memdir.dream.dream import DreamTask
from memdir.memdir import open_memory
from memdir.model.model import Request, ScriptedModel, calls, says
from memdir.remember.turn import FinishedTurn
from memdir.transcript.message import Message, Text
from tests.conftest import Ran
from tests.security.planted import FORMS, Stranger, git, keys

Memdir = Callable[..., Ran]

NAMING = "The loader is in src/old_name.py, see `load_config()` and `make deploy`; lib/gone.py too"
# What a command needs to do its work. One that is not here is run without a word, and must be content with that.
WORDS = {
    "remember": (NAMING, "--anyway"),
    "show": ("loader",),
    "search": ("loader",),
    "recall": ("open src/old_name.py, the loader", "--render"),
    "edit": ("loader",),
    "forget": ("spare",),
    "share": ("loader", "--set", "team.enabled=true"),
    "unshare": ("loader", "--set", "team.enabled=true"),
    "purge": ("--source", "monday"),
    "move": ("loader", "--scope", "user", "--dry-run"),
    "attach": ("--dry-run", "claude"),
    "guard add": ("spare", "warn", "shell(rm)"),
    "guard test": ("ls",),
    "guard remove": ("spare",),
    "restore": ("spare",),
    "why": ("loader",),
    "sessions search": ("loader",),
    "dream": ("--yes",),
    "export": ("exported",),
    "import": ("exported",),
    "completion": ("bash",),
    "chat": ("-p", "the loader"),
    "agents show": ("loader",),
    "agents snapshot": ("loader",),
    "agents take": ("loader",),
    "hub": ("serve", "--check"),
    "hub serve": ("--check",),
    "hub admin": ("add-team", "red"),
    "config get": ("recall.selector",),
    "config set": ("recall.selector", "local"),
}
IN_BASH = (
    "git log -3",
    "git log -p -2",
    "git status",
    "git diff",
    "git diff HEAD",
    "git show HEAD",
    "git blame README",
    "git grep -n load",
    "git ls-files -o",
    "git branch -a",
    "git stash list",
    "git describe --always",
)
RUNS = re.compile(
    r"(cmd|command|program|helper|driver|textconv|clean|smudge|process|editor|pager|askpass|tunnel|vcs|hookspath"
    r"|uploadpack|receivepack|packobjectshook|external|difffilter|gitproxy|httpd|browser|viewer|fsmonitor|\.uri"
    r"|showsignature|templatedir|promisor|insteadof|path)$",
    re.IGNORECASE,
)
HARMLESS = re.compile(
    r"advice\.|color\.|clean\.|column\.|fsck\.|fetch\.fsck|receive\.fsck|gitcvs\.|sendemail\.smtpssl"
    r"|help\.htmlPath|http\.sslCAPath|core\.quotePath|credential\.useHttpPath",
    re.IGNORECASE,
)
# Where git may not be asked at all; elsewhere it answers, under our configuration.
NOT_ASKED = {"in_bare", "in_pointed_at", "in_linked", "in_alternates"}


@dataclass(frozen=True)
class Planted:
    """A project in which plain git does run what was planted."""

    form: str
    stranger: Stranger
    tree: Path


@pytest.fixture(scope="module", params=FORMS)
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    stranger = Stranger(tmp_path_factory.mktemp("planted") / "stranger")
    tree, command = FORMS[request.param](stranger)
    stranger.forget()
    git(command, cwd=tree)
    assert stranger.ran, "or this form would prove nothing"
    stranger.forget()
    return Planted(request.param, stranger, tree)


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path / "stranger")


@pytest.mark.slow("in_alternates", "in_linked", "in_pointed_at", "in_bare_inside", "in_submodule")
def test_no_command_runs_what_a_project_names(
    planted: Planted, memdir: Memdir, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    assert memdir("remember", "A spare memory", "--type", "feedback", cwd=planted.tree).code == 0
    open_memory(planted.tree).transcript("monday").append_message(Message("user", (Text("The loader?"),)))
    (tmp_path / "home/agents").mkdir(parents=True, exist_ok=True)
    (tmp_path / "home/agents/loader.md").write_text("---\nmemory: local\n---\nYou load.\n", encoding="utf-8")
    assert memdir("remember", "A page loads", "--scope", "agent-local:loader", cwd=planted.tree).code == 0
    for name in command_places():
        words = [str(tmp_path / word) if word == "exported" else word for word in WORDS.get(name, ())]
        ran = memdir(*name.split(), *words, cwd=planted.tree)
        may_find_nothing = name == "sessions files" or name.startswith("daemon")
        assert ran.code == 0 or (may_find_nothing and ran.code == 1), (name, ran.err)
        assert planted.stranger.ran == set(), name


@pytest.mark.slow("in_alternates", "in_linked", "in_pointed_at", "in_bare_inside", "in_submodule")
def test_no_fork_runs_what_a_project_names(planted: Planted) -> None:
    if sandbox_kind() is None:
        pytest.skip("neither bubblewrap nor Landlock works here, so no fork has a Bash")
    uses = calls(*(("Bash", {"command": command}) for command in IN_BASH))
    model = ScriptedModel([uses, says("Nothing."), uses, says("Nothing.")])

    async def learn_and_dream() -> None:
        memory = open_memory(planted.tree, model=model)
        memory.start()
        asked = Message("user", (Text("Always run the linter before a commit, I said so twice."),), "m1")
        turn = FinishedTurn(Request("scripted", messages=(asked,)), Message("assistant", (Text("Yes."),), "m2"))
        memory.session("monday").turn_ended(turn.request, turn.reply)
        await memory.session("monday").extraction.drain(60)
        await memory.session("monday").dream(DreamTask(0))
        await memory.close()

    asyncio.run(learn_and_dream())
    assert len(model.requests) == 4, "the extraction and the dream have both asked git"
    for request in (model.requests[1], model.requests[3]):
        told = str(request.messages[-1])
        assert "PLANTED" not in told
        assert ("git has no repository here" in told) == (planted.form in NOT_ASKED)
    assert planted.stranger.ran == set()


def test_nothing_runs_for_git_in_a_shell_even_without_the_sandbox(planted: Planted) -> None:
    """A sandbox that stops a program from leaving a mark is not what keeps it from running."""
    assert [command for command in IN_BASH if judge(command) != Allow()] == []
    script = "\n".join(IN_BASH)
    try:
        with ProjectGit(work_tree_root(str(planted.tree)) or str(planted.tree), refs="all") as project:
            told = in_bash(script, planted.tree, project.variables)
    except LeftOut:
        told = in_bash(script, planted.tree, NO_GIT)
    assert "PLANTED" not in told
    assert planted.stranger.ran == set()
    assert ("load_config" in told) == (planted.form not in NOT_ASKED), "git answers where it may be asked"


def in_bash(script: str, cwd: Path, variables: dict[str, str]) -> str:
    environment = {**ENVIRONMENT, "PATH": os.environ["PATH"], **variables}
    bash = shutil.which("bash") or "bash"
    return subprocess.run(
        [bash, "-c", script], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.parametrize("name", ["in_repository", "in_include", "in_worktree", "as_submodule"])
def test_what_git_is_asked_for_still_works_there(name: str, stranger: Stranger, memdir: Memdir) -> None:
    tree, _ = FORMS[name](stranger)
    stranger.forget()
    memdir("remember", NAMING, "--anyway", cwd=tree)
    assert "src/old_name.py (renamed to src/new_name.py)" in memdir("doctor", cwd=tree).out
    assert "project's git is left out" not in memdir("doctor", cwd=tree).out
    assert stranger.ran == set()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("in_pointed_at", "does not say that it belongs to this folder"),
        ("in_linked", "is a link, which memdir does not follow"),
        ("in_alternates", "takes objects from another repository"),
        ("in_partial_clone", ""),
    ],
)
def test_the_doctor_says_why_git_is_left_out(name: str, reason: str, stranger: Stranger, memdir: Memdir) -> None:
    tree, _ = FORMS[name](stranger)
    told = memdir("doctor", cwd=tree).out
    assert ("the project's git is left out" in told) == bool(reason)
    assert reason in told


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("name", ["in_repository", "in_worktree", "in_partial_clone"])
def test_another_user_s_project_is_left_out_as_git_leaves_it_out(
    name: str, stranger: Stranger, memdir: Memdir, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, _ = FORMS[name](stranger)
    stranger.forget()
    before = memdir("path", cwd=tree).out
    give_away(tree.parent)
    assert git("rev-parse", "HEAD", cwd=tree) == "", "git itself refuses"
    assert memdir("path", cwd=tree).out == before, "the store does not depend on it"
    assert memdir("remember", NAMING, "--anyway", cwd=tree).code == 0
    told = memdir("doctor", cwd=tree).out
    assert "belongs to another user (number 12345)" in told
    assert "renamed" not in told
    assert stranger.ran == set()
    monkeypatch.setenv("SUDO_UID", "12345")
    assert "belongs to another user" not in memdir("doctor", cwd=tree).out, "as git honours who called sudo"
    assert stranger.ran == set()


def give_away(folder: Path) -> None:
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            os.lchown(os.path.join(place, name), 12345, 12345)


def test_the_list_of_keys_holds_all_that_this_git_knows() -> None:
    """Whoever meets a newer git learns here which keys it can be made to run something by."""
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout.split()
    known = {pattern(key) for key, _ in keys()} | {"include.path", "includeif.*.path"}
    assert {pattern(key) for key in listed if RUNS.search(key) and not HARMLESS.match(key)} - known == set()


def pattern(key: str) -> str:
    """One spelling of a key, whatever stands between its section and its name."""
    section, *part, name = key.lower().split(".")
    return f"{section}.*.{name}" if part else f"{section}.{name}" if section != "pager" else "pager.<cmd>"
