"""What the agent of a chat does unasked, what a person is asked, and what their answers mean."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memdir import open_memory
from memdir.agent import Allow, Consent, Deny, Permission, allowed_beforehand, diff_of, run_agent
from memdir.agent.bash import why_no_bash
from memdir.chat.host import ChatHost
from memdir.guard.permissions import AllowedCommands
from memdir.model import Request, ScriptedModel
from memdir.model.model import calls, says
from memdir.transcript import ToolUse
from tests.chat.hosts import Person, host_of
from tests.timing import cpu_seconds

Judge = Callable[..., "Allow | Deny"]


def judged(host: ChatHost, tool: str, **arguments: Any) -> Allow | Deny:
    return asyncio.run(host.gate(ToolUse("1", tool, arguments)))


def read_first(host: ChatHost, path: Path) -> None:
    asyncio.run(host.tools.run(ToolUse("r", "Read", {"file_path": str(path)})))


def made(project: Path, *answers: Any, **options: Any) -> tuple[ChatHost, Person]:
    person = Person(list(answers))
    return host_of(open_memory(project), person, **options), person


def test_reading_in_the_project_and_writing_memories_needs_no_question(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    host, person = made(project)
    for call in (
        ("Read", {"file_path": "a.py"}),
        ("Read", {"file_path": str(project / "a.py")}),
        ("Grep", {"pattern": "x"}),
        ("Glob", {"pattern": "**/*.py"}),
        ("Glob", {"pattern": f"{project}/*.py"}),
        ("Read", {"file_path": os.path.join(host.memory.place.root, "MEMORY.md")}),
        ("Write", {"file_path": os.path.join(host.memory.place.root, "a.md"), "content": "x"}),
    ):
        assert isinstance(judged(host, call[0], **call[1]), Allow), call
    assert person.asked == []


def test_nothing_outside_the_project_is_touched_without_asking(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("x\n", encoding="utf-8")
    (project / "link.txt").symlink_to(outside)
    (project / "folder").symlink_to(tmp_path)
    host, person = made(project)
    read_first(host, outside)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Read", {"file_path": str(outside)}),
        ("Read", {"file_path": "../outside.txt"}),
        ("Read", {"file_path": "link.txt"}),
        ("Grep", {"pattern": "x", "path": str(tmp_path)}),
        ("Grep", {"pattern": "x", "path": "folder"}),
        ("Glob", {"pattern": "*", "path": ".."}),
        ("Glob", {"pattern": f"{tmp_path}/**/*.txt"}),
        ("Glob", {"pattern": "/*"}),
        ("Edit", {"file_path": str(outside), "old_string": "x", "new_string": "y"}),
        ("Write", {"file_path": str(tmp_path / "new.txt"), "content": "y"}),
        ("Write", {"file_path": "folder/new.txt", "content": "y"}),
        ("Bash", {"command": f"cat {outside}"}),
        ("Bash", {"command": "ls .."}),
        ("Bash", {"command": "ls ~"}),
        ("Bash", {"command": "cat link.txt"}),
        ("Bash", {"command": "grep -f/etc/passwd -r ."}),
    ]
    for at, (tool, arguments) in enumerate(calls, 1):
        verdict = judged(host, tool, **arguments)
        assert isinstance(verdict, Deny) and "said no" in verdict.reason, (tool, arguments)
        assert len(person.asked) == at, (tool, arguments)


@pytest.mark.skipif(bool(why_no_bash()), reason="without the extra every command is asked about")
def test_a_link_is_asked_about_as_what_it_leads_to(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("x\n", encoding="utf-8")
    (project / "link.txt").symlink_to(outside)
    host, person = made(project)
    judged(host, "Read", file_path="link.txt")
    judged(host, "Read", file_path=str(outside))
    link, plain = person.asked
    assert link.title == plain.title == f"Read outside the project: {os.path.realpath(outside)}"
    assert str(project / "link.txt") in link.detail and plain.detail == ""


@pytest.mark.parametrize("answer", ["once", "session"])
@pytest.mark.parametrize("tool", ["Write", "Edit", "Read"])
async def test_a_yes_is_none_to_what_was_put_in_its_place_meanwhile(
    project: Path, tmp_path: Path, tool: str, answer: Consent
) -> None:
    """H1: a link that is swapped, or a file that is changed, while the question is open."""
    theirs, other = tmp_path / "theirs.txt", tmp_path / "other.txt"
    for path in (theirs, other):
        path.write_text("one\n", encoding="utf-8")
    link = project / "link.txt"
    link.symlink_to(theirs)

    async def swaps(question: Permission) -> Consent:
        assert str(theirs) in question.title
        link.unlink()
        link.symlink_to(other)
        return answer if answer in question.choices else "once"

    host = ChatHost(open_memory(project), ask=swaps)
    await host.tools.run(ToolUse("r", "Read", {"file_path": str(link)}))
    words = {"Write": {"content": "two\n"}, "Edit": {"old_string": "one", "new_string": "two"}, "Read": {}}[tool]
    verdict = await host.gate(ToolUse("1", tool, {"file_path": str(link), **words}))
    assert isinstance(verdict, Deny) and "changed since" in verdict.reason
    assert not [one for one in host.gate.allowed if "other" in one]


def test_links_that_a_repository_brings_are_followed_by_no_command_unasked(project: Path, tmp_path: Path) -> None:
    """By no pattern, no braces and no option: what the shell and the programs make of the words counts."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret").write_text("s", encoding="utf-8")
    (project / "sub").mkdir()
    (project / "a.txt").write_text("x", encoding="utf-8")
    for place in ("link", ".hidden", "sub/deep", "x-y"):
        (project / place).symlink_to(tmp_path / "elsewhere/secret")
    (project / "folder").symlink_to(tmp_path / "elsewhere")
    host, person = made(project)
    patterns = "cat *; cat l*; cat ?ink; cat [l]ink; cat .h*; cat sub/*; cat */deep; cat f*/secret; head -c5 *; wc -l *"
    braces = "ls {/etc,/}; cat {a.txt,link}; cat {a..z}; ls -d */"
    options = (
        "grep -R x .; grep -nRi x; grep --dereference-recursive x .; rg -L x; rg -uL x; rg x --follow; find -L .; "
        "find . -follow; find -H folder; ls -LR; ls -H; du -L; du -aD .; tree -l; diff -r sub .; diff --recursive a b; "
        "cat a.txt | grep -R x .; /usr/bin/grep -R x; grep x tree -R .; grep -flink a.txt; grep -nflink a.txt"
    )
    glued = (
        "cat link|cat; cat link&&true; cat link||true; cat a.txt;cat ./link;true; cat l*|cat; true;grep -R '' .; "
        "true;rg -L x .; true;find -L .; true;ls -RL .; true;tree -l .; cat a.txt\ncat link\ntrue; ls|&cat link|cat"
    )
    quoted = "cat x[k'-'m]y; cat x[\"!\"-]y; cat x[\\!-]y"
    piped = (
        "find . -type l | xargs cat; find . | xargs grep x; find . -maxdepth 1|xargs ls; find . -print0 | xargs -0 cat"
    )
    asked_about = f"{patterns}; {braces}; {options}; {glued}; {quoted}; {piped}"
    for at, command in enumerate(asked_about.split("; "), 1):
        assert isinstance(judged(host, "Bash", command=command), Deny), command
        assert len(person.asked) == at, command
    asked = len(person.asked)
    free = "cat a*; grep -rn x .; grep --recursive x .; find . -name '*.py'; tree -L 2; ls -lR; rg -l x; true;ls -l|cat"
    for command in free.split("; "):
        assert isinstance(judged(host, "Bash", command=command), Allow), command
    assert len(person.asked) == asked


def test_the_name_of_a_file_adds_no_line_to_a_question(project: Path) -> None:
    host, person = made(project)
    for name in ("a\n  1  no, never\n+++ b/harmless.py", "b\x1b[2J\x1b[1A.py", "\u202eyp.c"):
        judged(host, "Write", file_path=name, content="new\n")
        judged(host, "Write", file_path=f"../{name}", content="new\n")
        judged(host, "Read", file_path=f"../{name}")
    assert len(person.asked) == 9
    for question in person.asked:
        assert question.title.isprintable() and (question.detail.count("\n+++ b/") == 1 or not question.is_diff)
        assert not question.is_diff or all(line.isprintable() for line in question.detail.splitlines())


def test_an_edit_is_shown_as_a_diff_and_one_yes_can_hold_for_the_session(project: Path) -> None:
    path = project / "a.py"
    path.write_text("x = 1\ny = 2\n", encoding="utf-8")
    host, person = made(project, "once", "session")
    change = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 3"}
    unread = judged(host, "Edit", **change)
    assert isinstance(unread, Deny) and "Read it first" in unread.reason and person.asked == []
    read_first(host, path)
    assert isinstance(judged(host, "Edit", **change), Allow)
    assert person.asked[0].title == "Change a.py" and "-x = 1\n+x = 3\n y = 2" in person.asked[0].detail
    assert isinstance(judged(host, "Write", file_path="b.py", content="new\n"), Allow)
    assert person.asked[1].title == "Create b.py" and "+new" in person.asked[1].detail
    assert isinstance(judged(host, "Write", file_path="c.py", content="new\n"), Allow)
    assert len(person.asked) == 2, "the second yes was for the session"
    assert isinstance(judged(host, "Write", file_path="../d.py", content="new\n"), Deny), "and for this project only"


APART = (".git/hooks/pre-commit", ".memdir/agent-memory/rev/a.md", ".memdir/agents/x.md", ".memdir/settings.json")
APART += ("sub/.git/config", ".GIT/hooks/post-checkout", ".claude/settings.json", "src/../.git/config", "way/hooks/x")
APART += (
    ".windsurfrules",
    ".clinerules/a.md",
    ".cursorrules",
    ".cursor/rules/a.mdc",
    ".devcontainer/devcontainer.json",
)
APART += (
    ".aider.conf.yml",
    ".roo/rules/a.md",
    "Agents.md",
    "docs/CLAUDE.local.md",
    "plugin/commands/ship.md",
    ".npmrc",
)


@pytest.mark.parametrize("path", APART)
def test_a_yes_to_all_edits_is_none_to_what_git_or_memdir_obeys(project: Path, path: str) -> None:
    """S2, S15: a hook that git runs, a sub-agent's memory past its store. Asked each time, refused without a person."""
    (project / ".git").mkdir(exist_ok=True)
    (project / "way").symlink_to(project / ".git")
    host, person = made(project, "session", "once", "session")
    assert isinstance(judged(host, "Write", file_path="a.py", content="x"), Allow), "all edits here"
    assert isinstance(judged(host, "Write", file_path=path, content="x"), Allow)
    assert person.asked[1].choices == ("once", "no") and "+x" in person.asked[1].detail
    assert isinstance(judged(host, "Write", file_path=str(project / path), content="x"), Deny), "each time"
    for plain in ("git/b.memdir", "src/commands/run.py", "docs/rules.rst", ".gitignore", "src/.dockerignore"):
        assert isinstance(judged(host, "Write", file_path=plain, content="x"), Allow) and len(person.asked) == 3
    nobody, _ = made(project, allow=frozenset({"edits"}))
    nobody._ask = None
    assert isinstance(judged(nobody, "Write", file_path=path, content="x"), Deny)


@pytest.mark.parametrize(
    ("link", "to"),
    [("AGENTS.md", "docs/guide.md"), (".github/copilot-instructions.md", "../docs/guide.md"), (".cursor", "docs")],
)
def test_what_agents_obey_by_a_link_is_asked_about_under_both_names(project: Path, link: str, to: str) -> None:
    """S15: a link makes a plain file of the project one that they obey."""
    (project / "docs").mkdir()
    (project / "docs" / "guide.md").write_text("Be nice.\n", encoding="utf-8")
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(to)
    host, person = made(project, "once", "once", allow=frozenset({"edits"}))
    read_first(host, project / "docs" / "guide.md")
    for path in ("docs/guide.md", link if link.endswith(".md") else f"{link}/guide.md"):
        assert isinstance(judged(host, "Edit", file_path=path, old_string="nice", new_string="bad"), Allow)
    assert [one.choices for one in person.asked] == [("once", "no")] * 2
    assert isinstance(judged(host, "Write", file_path="plain.md", content="x"), Allow) and len(person.asked) == 2


def test_what_would_allow_a_command_is_told_so_that_a_shell_runs_none_of_it(project: Path) -> None:
    """S2: the words are the model's, and the person pastes them."""
    host, _ = made(project)
    host.gate.ask = None
    command = "grep -c \"a b\" $(touch ran) `touch ran`; echo 'x'"
    told = judged(host, "Bash", command=command)
    assert isinstance(told, Deny)
    [pasted] = re.findall(r"`--allow (.*)`\)$", told.reason, re.DOTALL)
    assert shlex.split(pasted) == [command]


async def test_an_edit_beside_its_own_read_is_never_let_through_unasked(project: Path) -> None:
    """Calls of one reply run at the same time: what is at fault when it is judged may be none when it runs."""
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    person = Person()
    change = {"file_path": "a.py", "old_string": "x", "new_string": "z"}
    model = ScriptedModel([calls(("Read", {"file_path": "a.py"}), ("Edit", change)), says("Done.")])
    async with host_of(open_memory(project, model=model), person, is_learning=False) as host:
        await host.say("Rename it.")
    assert (project / "a.py").read_text() == "x = 1\n"


def test_commands_that_surely_read_run_others_are_asked_word_for_word(project: Path) -> None:
    host, person = made(project, "session", "always")
    if not why_no_bash():
        assert isinstance(judged(host, "Bash", command="ls -la"), Allow)
        assert isinstance(judged(host, "Bash", command="grep -rn x . | wc -l"), Allow)
        assert person.asked == []
    assert isinstance(judged(host, "Bash", command="make test"), Allow)
    assert person.asked[0].detail == "make test" and "always" in person.asked[0].choices
    assert isinstance(judged(host, "Bash", command="make test"), Allow)
    assert isinstance(judged(host, "Bash", command="make all"), Allow)
    for near in ("make test; rm -rf .", "make  test", "make", "make all extra", "make test\nrm x"):
        assert isinstance(judged(host, "Bash", command=near), Deny), near
    later, other = made(project)
    assert isinstance(judged(later, "Bash", command="make all"), Allow), "always: in this project, for good"
    assert isinstance(judged(later, "Bash", command="make test"), Deny), "for one session only"
    assert len(other.asked) == 1


@pytest.mark.skipif(bool(why_no_bash()), reason=f"no judge of commands: {why_no_bash()}")
def test_a_command_that_may_read_elsewhere_is_asked_as_that_and_never_allowed_for_always(project: Path) -> None:
    """H1."""
    host, person = made(project, "session")
    for _ in range(2):
        assert isinstance(judged(host, "Bash", command="cat /etc/hostname"), Allow)
    [asked] = person.asked
    assert "may read outside the project" in asked.title and asked.choices == ("once", "session", "no")


@pytest.mark.skipif(bool(why_no_bash()), reason=f"no judge of commands: {why_no_bash()}")
async def test_what_was_let_through_as_reading_runs_nothing_outside_the_sandbox(project: Path, tmp_path: Path) -> None:
    """S15: also where it was judged by files that are others when its turn comes, and where the person was asked."""
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    script.chmod(0o755)
    (project / "f.x").write_text("one\n", encoding="utf-8")
    for words in (("init", "-q"), ("add", "f.x"), ("config", "core.fsmonitor", str(script))):
        subprocess.run(["git", *words], cwd=project, check=True)
    commands = ("git diff a f.x", f"git diff b f.x; ls {tmp_path}")
    model = ScriptedModel([calls(*(("Bash", {"command": one}) for one in commands)), says("Done.")])
    host, person = made(project, "once")

    async def late(call: ToolUse) -> Allow | Deny:
        verdict = await host.gate(call)
        (project / str(call.input["command"]).split()[2]).write_text("x\n", encoding="utf-8")
        return verdict

    run = await run_agent(Request("m", (), host.tools.specs, ()), model, host.tools, late, max_turns=2)
    assert run.refusals == 0 and [one.title for one in person.asked] == [
        "Run a command that may read outside the project"
    ]
    assert not (tmp_path / "ran").exists()


def test_a_repository_cannot_allow_itself_anything(project: Path, tmp_path: Path) -> None:
    for folder in (".memdir", ".claude"):
        (project / folder).mkdir()
        (project / folder / "allowed.json").write_text('{"commands": ["make pwn"]}', encoding="utf-8")
        (project / folder / "settings.json").write_text('{"permissions": {"allow": ["Bash"]}}', encoding="utf-8")
    host, person = made(project)
    assert isinstance(judged(host, "Bash", command="make pwn"), Deny) and len(person.asked) == 1


def test_without_anybody_to_ask_only_what_was_allowed_beforehand_happens(project: Path) -> None:
    memory = open_memory(project)
    nobody = ChatHost(memory)
    for call in (("Write", {"file_path": "a", "content": "x"}), ("Bash", {"command": "make"})):
        verdict = judged(nobody, call[0], **call[1])
        assert isinstance(verdict, Deny) and "--allow" in verdict.reason
    from memdir.chat.host import HostOptions

    some = ChatHost(memory, options=HostOptions(allow=frozenset(allowed_beforehand(["edits", "make"]))))
    assert isinstance(judged(some, "Write", file_path="a", content="x"), Allow)
    assert isinstance(judged(some, "Bash", command="make"), Allow)
    assert isinstance(judged(some, "Bash", command="make install"), Deny)
    assert isinstance(judged(some, "Write", file_path="../a", content="x"), Deny)


def test_a_guard_refuses_and_a_warning_is_put_to_the_person(project: Path, memdir: Callable[..., Any]) -> None:
    """Q1."""
    memdir("remember", "Never push with force: it threw away a week of work", "--type", "feedback")
    memdir("remember", "Leave the lock file alone, it is made by the tool", "--type", "feedback")
    assert memdir("guard", "add", "push", "block shell(git push --force)").code == 0
    assert memdir("guard", "add", "lock", "warn write(*.lock)").code == 0
    host, person = made(project, "once", allow=frozenset(("edits", "commands")))
    blocked = judged(host, "Bash", command="git push --force origin")
    assert isinstance(blocked, Deny) and "threw away a week" in blocked.reason and person.asked == []
    assert isinstance(judged(host, "Write", file_path="uv.lock", content="x"), Allow)
    assert "made by the tool" in person.asked[0].rule and person.asked[0].choices == ("once", "no")


async def test_what_needs_no_question_waits_for_none(project: Path) -> None:
    """H1: a side question reads on while something is asked."""
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    person, asked, answered = Person(), asyncio.Event(), asyncio.Event()

    async def slowly(question: Permission) -> Consent:
        asked.set()
        await answered.wait()
        return "session"

    host = ChatHost(open_memory(project), ask=slowly, listen=person.told.append)
    waiting = asyncio.create_task(host.gate(ToolUse("1", "Write", {"file_path": "b.py", "content": "y"})))
    await asyncio.wait_for(asked.wait(), 30)
    read = await asyncio.wait_for(host.gate(ToolUse("2", "Read", {"file_path": "a.py"})), 30)
    gone = await asyncio.wait_for(host.gate(ToolUse("3", "Write", {"file_path": "\0", "content": "y"})), 30)
    assert isinstance(read, Allow) and isinstance(gone, Deny) and not waiting.done()
    later = asyncio.create_task(host.gate(ToolUse("4", "Write", {"file_path": "c.py", "content": "y"})))
    answered.set()
    assert isinstance(await waiting, Allow) and isinstance(await later, Allow), "one yes holds for both"


def test_two_questions_never_stand_beside_each_other(project: Path) -> None:
    open_questions: list[int] = []
    most: list[int] = []

    class Slow(Person):
        async def answer(self, question: Any) -> Any:
            open_questions.append(1)
            most.append(len(open_questions))
            await asyncio.sleep(0)
            open_questions.pop()
            return await super().answer(question)

    person = Slow(["session"])
    host = host_of(open_memory(project), person)
    gate = host.gate

    async def both() -> list[Any]:
        writes = (ToolUse(str(n), "Write", {"file_path": f"{n}.txt", "content": "x"}) for n in range(3))
        return await asyncio.gather(*(gate(write) for write in writes))

    assert all(isinstance(verdict, Allow) for verdict in asyncio.run(both()))
    assert (max(most), len(person.asked)) == (1, 1), "the first yes was for all of them"


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_a_path_that_is_none_is_refused(project: Path, path: str) -> None:
    host, _ = made(project)
    assert isinstance(judged(host, "Write", file_path=path, content="x"), Deny)


def test_with_no_learning_memories_are_read_and_not_written(project: Path) -> None:
    host, person = made(project, is_learning=False)
    place = os.path.join(host.memory.place.root, "a.md")
    assert isinstance(judged(host, "Read", file_path=place), Allow)
    refused = judged(host, "Write", file_path=place, content="x")
    assert isinstance(refused, Deny) and "nothing is kept" in refused.reason and person.asked == []


@pytest.mark.parametrize(
    "command", ["cat $'{}'", "cat $'..'$'/outside.txt'", "cat pw[[:alnum:]]", "cat p[^x]d", 'cat $"{}"']
)
async def test_what_only_a_shell_can_read_is_asked_about(project: Path, command: str) -> None:
    """A name outside the project that is hidden in its quotes or its patterns; a repository brings links."""
    outside = project.parent / "outside.txt"
    outside.write_text("secret\n")
    (project / "pwd").symlink_to(outside)
    memory = open_memory(project, flags={"model.provider": "builtin"})
    host = ChatHost(memory)
    async with host:
        assert isinstance(await host.gate(ToolUse("t", "Bash", {"command": command.format(outside)})), Deny)


def test_a_diff_shows_what_other_signs_than_line_ends_do() -> None:
    assert diff_of("run.sh", b"# never:\x0brm -rf build\n", b"# never:\nrm -rf build\n")
    assert diff_of("a.txt", b"one\r\n", b"one\n")


def test_a_diff_is_all_of_it_however_long_it_is() -> None:
    told = diff_of("long.txt", None, "".join(f"line {number}\n" for number in range(2_000)).encode())
    assert told.endswith("+line 1999")


def test_a_diff_tells_bytes_that_are_no_text_apart() -> None:
    told = diff_of("latin.py", b"Jos\xe9\nport = 1\n", "Jos\ufffd\nport = 2\n".encode())
    assert told.endswith("@@ -1,2 +1,2 @@\n-Jos\\xe9\n-port = 1\n+Jos\ufffd\n+port = 2")
    assert diff_of("a", b"\xe9\n", b"\\xe9\n").endswith("-\\xe9\n+\\xe9"), "nor is their spelling the same"


@pytest.mark.parametrize(
    ("count", "inserted"), [(0, 1), (1, 0), (5, 2), (40, 0), (2_500, 0), (2_500, 3), (3_000, 2_400)]
)
def test_a_diff_leads_from_what_was_to_what_will_be(tmp_path: Path, count: int, inserted: int) -> None:
    old = [f"k{number % 120}\n" for number in range(count)]
    new = [line.replace("k5", "z5") for line in old]
    new[count // 2 : count // 2] = [f"new {number}\n" for number in range(inserted)]
    path = tmp_path / "a"
    for before, after in ((old, new), (new, old)):
        texts = ["".join(lines) for lines in (before, after)]
        path.write_text(texts[0])
        told = diff_of("a", *(text.encode() for text in texts))
        assert bool(told) == (before != after)
        if told:
            subprocess.run(
                ["git", "apply", "--unidiff-zero", "-"], cwd=tmp_path, input=f"{told}\n".encode(), check=True
            )
        assert path.read_text() == texts[1]


def test_a_diff_of_many_lines_that_repeat_is_quick() -> None:
    before = "".join(f'  "k{number % 120}": 0,\n' for number in range(12_000))
    after = before.replace('"k5":', '"z5":')
    told: list[str] = []
    assert cpu_seconds(lambda: told.append(diff_of("a", before.encode(), after.encode())), enough=3) < 3
    assert told[0].count("\n+ ") == told[0].count("\n- ") == 100


async def test_the_chat_goes_on_while_a_diff_is_made(project: Path) -> None:
    """H1: once, and in a thread."""
    before = "".join(f"k{number % 120}\n" for number in range(3_000))
    (project / "a.txt").write_text(before, encoding="utf-8")
    beats: list[int] = []
    seen: list[int] = []

    async def asked(question: Permission) -> Consent:
        seen.append(len(beats))
        return "once"

    async def beat() -> None:
        while True:
            beats.append(1)
            await asyncio.sleep(0)

    host = ChatHost(open_memory(project), ask=asked)
    await host.tools.run(ToolUse("r", "Read", {"file_path": "a.txt"}))
    beating = asyncio.create_task(beat())
    call = {"file_path": "a.txt", "content": before.replace("k5\n", "z5\n")}
    assert isinstance(await host.gate(ToolUse("1", "Write", call)), Allow)
    beating.cancel()
    assert seen[0]  # made in the loop itself it leaves no room for a single beat; how many there are is the machine's


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        (None, "", "would be empty"),
        ("one", "one\n", "-one\n\\ No newline at end of file\n+one"),
        ("one\n", "one", "-one\n+one\n\\ No newline at end of file"),
        ("one\n", "one\n", "Nothing in it would change"),
    ],
)
def test_nobody_is_asked_about_nothing_to_see(project: Path, before: str | None, after: str, seen: str) -> None:
    host, person = made(project)
    if before is not None:
        (project / "a.txt").write_text(before, encoding="utf-8")
        read_first(host, project / "a.txt")
    judged(host, "Write", file_path="a.txt", content=after)
    assert seen in person.asked[0].detail


@pytest.mark.parametrize(
    "arguments",
    [{}, {"command": {"a": 1}}, {"command": " "}, {"command": "make", "timeout_seconds": -1}, {"command": "x", "b": 1}],
)
def test_a_command_that_cannot_run_is_asked_about_by_nobody(project: Path, arguments: dict[str, Any]) -> None:
    host, person = made(project, "always")
    verdict = judged(host, "Bash", **arguments)
    assert isinstance(verdict, Deny) and "said no" not in verdict.reason and person.asked == []


def test_what_is_allowed_at_the_same_moment_is_all_kept(tmp_path: Path) -> None:
    allowed = AllowedCommands(str(tmp_path / "allowed.json"))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(allowed.add, [f"make {number}" for number in range(8)]))
    assert all(f"make {number}" in allowed for number in range(8))
