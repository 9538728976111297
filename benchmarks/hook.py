"""`make bench-hook`: what the hooks of a coding agent cost beside an empty process, in a project with git."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Row, best_process_seconds, clean_environment, report
from benchmarks.stores import build_store
from memdir.hooks.daemon_client import SCOPES, chosen
from memdir.layout import Layout
from memdir.memdir import open_memory
from memdir.recall.recall import RecallRequest
from memdir.search import has_sentence_model

MEMORIES = 2_000
ROUNDS = 25
MAX_INDEX_SECONDS = 600  # for the sentence model to read them all, on a machine with much else to do
FLOOR = "python -I -c pass"
SHOWN = "kalomi stotra"  # the memory that a question about them brings back
_CALL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": f"git log {'a' * 400}"}}
_RECORD = {"type": "assistant", "uuid": "a", "message": {"role": "assistant", "content": [_CALL]}}
TRANSCRIPT = 400 * f"{json.dumps(_RECORD)}\n"  # a session in which tools were used: its end is read at a prompt
EVENTS = (
    ("prompt, nothing shown", "UserPromptSubmit", 4.0),
    ("prompt, a memory shown", "UserPromptSubmit", 4.5),
    ("session start", "SessionStart", 3.5),
    ("stop", "Stop", 3.5),
    ("compaction", "PreCompact", 3.5),
    ("before a tool, under a guard", "PreToolUse", 3.5),
    ("session end", "SessionEnd", 3.5),
    ("session start, a memory written by hand", "SessionStart", 3.5),
)
BY_HAND = len(EVENTS)  # its place among the commands


def main() -> int:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # a worker may be at work there
        home, project = Path(place) / "home", Path(place) / "project"
        _build(home, project)
        claude = Path(place) / "claude"
        environment = clean_environment(MEMDIR_HOME=str(home), MEMDIR_NO_DAEMON="1", CLAUDE_CONFIG_DIR=str(claude))
        memdir = str(Path(sys.executable).with_name("memdir"))
        commands = [
            [sys.executable, "-I", "-c", "pass"],
            *([memdir, "hook", "claude", event] for _, event, _ in EVENTS),
        ]

        def told(at: int, number: int) -> bytes:
            shown = at == 2
            if at == BY_HAND:
                _write_by_hand(home, project, number)
            asked = f"Why do {SHOWN} belong together in the deploy?" if shown else "Please go on with the next step."
            is_new = at in (2, 3, BY_HAND)  # a memory is shown once a session, and the index
            session = f"{number}-{at}" if is_new else f"same-{at}"
            fields: dict[str, object] = {
                "session_id": session,
                "cwd": str(project),
                "prompt": asked,
                "source": "startup",
            }
            fields |= {"tool_name": "Bash", "tool_input": {"command": "git add -A && git push origin main"}}
            transcript = claude / "projects" / "p" / f"{session}.jsonl"
            if not transcript.exists():
                transcript.parent.mkdir(parents=True, exist_ok=True)
                transcript.write_text(TRANSCRIPT, encoding="utf-8")
            return json.dumps({**fields, "transcript_path": str(transcript)}).encode()

        guard = [memdir, "guard", "add", "push.md", "block shell(git push --force)", "--project", str(project)]
        subprocess.run(guard, env=environment, capture_output=True, check=True)
        force = told(6, -1).replace(b"push origin", b"push --force origin")
        answer = subprocess.run(commands[6], env=environment, input=force, stdout=subprocess.PIPE, check=True)
        assert b'"deny"' in answer.stdout, "there is no guard: the measure would be of something else"
        work = [memdir, "hook", "--work", str(project)]
        subprocess.run(work, env=environment, check=True)  # reads all memories, which no prompt waits for
        for number in range(-1, 2 * ROUNDS):  # as a host does it before the first prompt of a session
            subprocess.run(commands[3], env=environment, input=told(2, number), stdout=subprocess.DEVNULL, check=True)
        answer = subprocess.run(commands[2], env=environment, input=told(2, -1), stdout=subprocess.PIPE, check=True)
        assert b"stotra" in answer.stdout, "nothing is shown: the measure would be of something else"
        floor, *spent = best_process_seconds(commands[:BY_HAND], rounds=ROUNDS, environment=environment, stdin=told)
        spent += best_process_seconds(  # by itself: what changes the memories changes what the others cost
            commands[BY_HAND:], rounds=ROUNDS, environment=environment, stdin=lambda _, number: told(BY_HAND, number)
        )
        rows = [
            Row(f"memdir hook: {name}", one, FLOOR, floor, limit)
            for (name, _, limit), one in zip(EVENTS, spent, strict=True)
        ]
        if has_sentence_model():
            del environment["MEMDIR_NO_DAEMON"]
            subprocess.run(commands[3], env=environment, input=told(3, -2), stdout=subprocess.DEVNULL, check=True)
            with _daemon(memdir, environment, home, project):
                floor, *spent = best_process_seconds(
                    commands[:4],
                    rounds=ROUNDS,
                    environment=environment,
                    stdin=lambda at, number: told(at, ROUNDS + number),
                )
            rows += [
                Row(f"memdir hook: {name}, through the daemon", one, FLOOR, floor, min(limit, 3.0))
                for (name, _, limit), one in zip(EVENTS, spent, strict=False)
            ]
    return report(f"bench-hook: CPU time of a hook at {MEMORIES:,} memories, best of rounds", rows)


@contextmanager
def _daemon(memdir: str, environment: dict[str, str], home: Path, project: Path) -> Iterator[None]:
    """A daemon that has read all memories, which takes a minute the first time."""
    try:
        memory = open_memory(project, home=home)
        until = time.monotonic() + MAX_INDEX_SECONDS
        while len(chosen(memory, RecallRequest("Please go on."))) < len(SCOPES):
            assert time.monotonic() < until, "the daemon does not answer: the measure would be of something else"
            time.sleep(1)
        yield
        log = Path(Layout(str(home), str(project)).event_log).read_text(encoding="utf-8")
        assert '"sentences"' in log, "it was never in time"
    finally:
        words = [memdir, "daemon", "stop", "--project", str(project)]
        subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=True)


def _write_by_hand(home: Path, project: Path, number: int) -> None:
    """What the worker has not read yet; of the round before it has."""
    folder = Path(Layout(str(home), str(project)).default_memory)
    text = f"---\nname: by hand {number}\ndescription: written by hand, {number}\ntype: feedback\n---\n\nx\n"
    (folder / f"by_hand_{number}.md").write_text(text, encoding="utf-8")


def _build(home: Path, project: Path) -> None:
    project.mkdir()
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=project, check=True)
    folder = Path(Layout(str(home), str(project)).default_memory)
    build_store(folder, MEMORIES)
    head = f"---\nname: {SHOWN}\ndescription: why {SHOWN} belong together in the deploy\ntype: project\n---\n"
    text = f"{head}\nThey share a key.\n"
    (folder / "kalomi_stotra.md").write_text(text, encoding="utf-8")
    guarded = "---\nname: push\ndescription: no force\ntype: feedback\n---\n\nx\n"
    (folder / "push.md").write_text(guarded, encoding="utf-8")
    lines = [f"- [memory {number}](memory_{number:06d}.md) — words\n" for number in range(MEMORIES)]
    (folder / "MEMORY.md").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
