"""Sessions of the five agents as their clients write them, and what each tells its hooks: recorded, with the words and
the times of a test put in."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HOSTS = ("claude", "codex", "gemini", "qwen", "opencode")
EVENTS = {
    "claude": {"start": "SessionStart", "prompt": "UserPromptSubmit", "stop": "Stop", "compact": "PreCompact"},
    "codex": {"start": "SessionStart", "prompt": "UserPromptSubmit", "stop": "Stop", "compact": "PreCompact"},
    "gemini": {"start": "SessionStart", "prompt": "BeforeAgent", "stop": "AfterAgent", "compact": "PreCompress"},
    "qwen": {"start": "SessionStart", "prompt": "UserPromptSubmit", "stop": "Stop", "compact": "PreCompact"},
    "opencode": {
        "start": "session.created",
        "prompt": "chat.message",
        "stop": "session.idle",
        "compact": "experimental.session.compacting",
    },
}
WAIT_SECONDS = 60.0  # for a worker that runs beside: a busy machine is slow


def stamp(moment: float | None = None) -> str:
    return datetime.fromtimestamp(moment or time.time(), UTC).isoformat().replace("+00:00", "Z")


@dataclass
class Agent:
    """One agent's session in a project: writes its transcript and calls the hooks as the agent does."""

    host: str
    home: Path
    project: Path
    command: str
    session: str = "0b9e4c52-7a11-4c1e-9f10-5d1f0c6f7a01"
    environment: dict[str, str] = field(default_factory=dict)
    asked: float | None = None  # of the prompt that is not written down yet

    @property
    def transcript(self) -> Path:
        name = {"codex": f"rollout-2026-11-16T03-06-17-{self.session}", "gemini": f"session-{self.session[:8]}"}
        folders = {"gemini": ".gemini/tmp/p/chats", "claude": ".claude/projects/p", "codex": ".codex/kept"}
        folder = Path(self.environment["HOME"]) / folders.get(self.host, f".{self.host}/projects/p/chats")
        return folder / f"{name.get(self.host, self.session)}.jsonl"

    @property
    def database(self) -> Path:
        return self.home / "data" / "opencode" / "opencode.db"

    def fields(self, event: str) -> dict[str, Any]:
        """What the host tells, without what belongs to the event."""
        name = EVENTS[self.host].get(event, event)
        if self.host == "opencode":
            return {"session_id": self.session, "cwd": str(self.project), "hook_event_name": name}
        common = {"session_id": self.session, "transcript_path": str(self.transcript), "cwd": str(self.project)}
        more: dict[str, dict[str, Any]] = {
            "claude": {"permission_mode": "default", "prompt_id": "p1"},
            "codex": {"turn_id": "1", "model": "stub", "permission_mode": "default"},
            "gemini": {"timestamp": stamp()},
            "qwen": {"timestamp": stamp(), "permission_mode": "yolo", "prompt_id": "p########0"},
        }
        return {**common, "hook_event_name": name, **more[self.host]}

    def hook(self, event: str, *, told: str = "", **fields: object) -> subprocess.CompletedProcess[str]:
        told = told or json.dumps({**self.fields(event), **fields})
        words = [self.command, "hook", self.host, EVENTS[self.host].get(event, event)]
        return subprocess.run(
            words,
            input=told,
            capture_output=True,
            text=True,
            cwd=self.project,
            env=self.environment or None,
            timeout=60,
        )

    def start(self, source: str = "startup") -> subprocess.CompletedProcess[str]:
        return self.hook("start", source=source)

    def prompt(self, text: str) -> subprocess.CompletedProcess[str]:
        sent = time.time()
        quoted = '"' + text.replace('"', '\\"') + '"' if self.host == "opencode" else text
        done = self.hook("prompt", prompt=quoted)
        # About when the hook noted it: the times tell what belongs together, and no person is as fast as this.
        self.asked = sent + 0.65 * (time.time() - sent)
        return done

    def stop(self) -> subprocess.CompletedProcess[str]:
        return self.hook("stop", stop_hook_active=False, last_assistant_message="Done.")

    def say(self, text: str, reply: str = "Understood.", *, at: float | None = None) -> None:
        """One turn, written down as this agent does: by default as said while its prompt was looked at."""
        at, self.asked = at or self.asked, None
        if self.host == "opencode":
            self._into_database(text, reply, at or time.time())
            return
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        with self.transcript.open("a", encoding="utf-8") as file:
            for record in getattr(self, f"_of_{self.host}")(text, reply, stamp(at)):
                file.write(json.dumps(record) + "\n")

    def _of_claude(self, text: str, reply: str, moment: str) -> list[dict[str, Any]]:
        number = len(self.transcript.read_text().splitlines()) if self.transcript.exists() else 0
        common = {"isSidechain": False, "timestamp": moment, "sessionId": self.session, "cwd": str(self.project)}
        said = {"type": "user", "uuid": f"u{number}", "parentUuid": f"a{number - 2}" if number else None}
        answer = {"type": "assistant", "uuid": f"a{number}", "parentUuid": f"u{number}"}
        blocks = [{"type": "text", "text": reply}]
        return [
            {**common, **said, "message": {"role": "user", "content": text}},
            {**common, **answer, "message": {"id": f"msg_{number}", "role": "assistant", "content": blocks}},
        ]

    def _of_codex(self, text: str, reply: str, moment: str) -> list[dict[str, Any]]:
        def item(role: str, kind: str, words: str) -> dict[str, Any]:
            payload = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
            return {"timestamp": moment, "type": "response_item", "payload": payload}

        meta = {"timestamp": moment, "type": "session_meta", "payload": {"cwd": str(self.project)}}
        begin = [] if self.transcript.exists() and self.transcript.stat().st_size else [meta]
        return [*begin, item("user", "input_text", text), item("assistant", "output_text", reply)]

    def _of_gemini(self, text: str, reply: str, moment: str) -> list[dict[str, Any]]:
        head = {"sessionId": self.session, "startTime": moment, "kind": "main"}
        begin = [] if self.transcript.exists() and self.transcript.stat().st_size else [head]
        said = {"id": f"u{moment}", "timestamp": moment, "type": "user", "content": [{"text": text}]}
        hook = {
            "id": f"h{moment}",
            "timestamp": moment,
            "type": "user",
            "content": [{"text": "<hook_context>x</hook_context>"}],
        }
        answer = {"id": f"g{moment}", "timestamp": moment, "type": "gemini", "content": reply, "thoughts": []}
        return [*begin, {"$set": {"lastUpdated": moment}}, said, hook, answer]

    def _of_qwen(self, text: str, reply: str, moment: str) -> list[dict[str, Any]]:
        common = {"sessionId": self.session, "timestamp": moment, "cwd": str(self.project), "version": "0.24.4"}
        context = {"text": "<qwen:user-prompt-submit-context>Always use tabs.</qwen:user-prompt-submit-context>"}
        said = {"uuid": f"u{moment}", "type": "user", "provenance": "real_user"}
        answer = {"uuid": f"a{moment}", "type": "assistant", "provenance": "assistant_output"}
        return [
            {**common, **said, "message": {"role": "user", "parts": [{"text": text}, context]}},
            {**common, **answer, "message": {"role": "model", "parts": [{"text": reply}]}},
        ]

    def _into_database(self, text: str, reply: str, moment: float) -> None:
        self.database.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self.database)
        for table in (
            "session (id, parent_id, directory, title, time_created, time_updated)",
            "message (id, session_id, time_created, time_updated, data)",
            "part (id, message_id, session_id, time_created, time_updated, data)",
        ):
            database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        now = int(moment * 1000)
        database.execute("DELETE FROM session WHERE id = ?", (self.session,))
        database.execute(
            "INSERT INTO session VALUES (?, NULL, ?, '', ?, ?)", (self.session, str(self.project), now, now)
        )
        quoted = '"' + text.replace('"', '\\"') + '"'
        for number, (role, words) in enumerate((("user", quoted), ("assistant", reply))):
            name, when = f"msg_{now}{number}", now + number
            message = (name, self.session, when, when, json.dumps({"role": role}))
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", message)
            part = (f"prt_{name}", name, self.session, when, when, json.dumps({"type": "text", "text": words}))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", part)
        database.commit()
        database.close()


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a hook answered; every hook exits with 0 and says nothing beside."""
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return found


def context(done: subprocess.CompletedProcess[str]) -> str:
    found = answer(done)
    return str(found.get("context", found.get("hookSpecificOutput", {}).get("additionalContext", "")))


def message(done: subprocess.CompletedProcess[str]) -> str:
    found = answer(done)
    return str(found.get("message", found.get("systemMessage", "")))


def wait_for(condition: Callable[[], object]) -> None:
    """A worker is a process of its own: nothing but what it leaves on disk tells that it is done."""
    until = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < until, "the worker did not come to an end"
        time.sleep(0.05)
