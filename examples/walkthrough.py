"""`make try`: a walk through the main job in a temporary home. Every command is real, and so is what it prints."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

IN_COLOUR = sys.stdout.isatty() or "FORCE_COLOR" in os.environ


class Walk:
    """Runs commands in a project and a home of its own and shows them as a person would type them."""

    def __init__(self, place: Path) -> None:
        self.project = place / "shop"
        self.project.mkdir()
        program = str(Path(sys.executable).with_name("memdir"))
        self._program = program
        # The walk is the same for everyone and costs nothing: no provider is asked, whatever keys there are.
        keyless = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self._environment = {
            **keyless,
            "MEMDIR_HOME": str(place / "home"),
            "FORCE_COLOR": "1" if IN_COLOUR else "",
            "COLUMNS": "110",
        }

    def say(self, text: str) -> None:
        print(f"\n\x1b[1;35m# {text}\x1b[0m" if IN_COLOUR else f"\n# {text}")

    def memdir(self, *words: str) -> str:
        """Run one command; a command that fails ends the walk."""
        print(f"\x1b[1;36m$ memdir {shlex.join(words)}\x1b[0m" if IN_COLOUR else f"$ memdir {shlex.join(words)}")
        done = subprocess.run(
            [self._program, *words],
            cwd=self.project,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        print(done.stdout.rstrip("\n") or done.stderr.rstrip("\n"))
        if done.returncode:
            raise SystemExit(f"memdir {words[0]} ended with status {done.returncode}: {done.stderr}")
        return done.stdout

    def talk(self, session: str, text: str) -> None:
        """One turn of a conversation with the built-in model, by the example host."""
        script = Path(__file__).with_name("session.py")
        shown = f"$ python examples/{script.name} . {session} {shlex.quote(text)}"
        print(f"\x1b[1;36m{shown}\x1b[0m" if IN_COLOUR else shown)
        done = subprocess.run(
            [sys.executable, str(script), ".", session, text],
            cwd=self.project,
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
        )
        print(done.stdout.rstrip("\n"))

    def show_file(self, path: Path) -> None:
        print(f"\x1b[1;36m$ cat {path.name}\x1b[0m" if IN_COLOUR else f"$ cat {path.name}")
        print(path.read_text(encoding="utf-8").rstrip("\n"))


def keep_and_find(walk: Walk) -> Path:
    walk.say("Keep three things. Each becomes a small Markdown file and a line in the index.")
    walk.memdir(
        "remember", "Never mock the database: mocks passed while the migration broke production", "--type", "feedback"
    )
    walk.memdir("remember", "Deploys are frozen until 2026-12-01: the auditors are in the house")
    walk.memdir("remember", "I have run databases for ten years; React is new to me", "--scope", "user")
    walk.memdir("list")
    folder = Path(walk.memdir("path").strip().splitlines()[-1])
    walk.show_file(folder / "MEMORY.md")
    walk.memdir("show", "database")
    walk.say("Find one again by any words in it.")
    walk.memdir("search", "auditors")
    return folder


def edit_and_go_back(walk: Walk, folder: Path) -> None:
    walk.say("Edit a file by hand, in any editor. memdir notices and records it as a change of its own.")
    path = folder / "feedback_never_mock_the_database.md"
    path.write_text(
        path.read_text(encoding="utf-8") + "\n**How to apply:** every test that touches storage.\n", encoding="utf-8"
    )
    walk.memdir("log")
    walk.memdir("diff")
    walk.memdir("why", "database")
    walk.say("Changed your mind? Take it back; the bytes are those of before.")
    walk.memdir("undo")
    walk.memdir("show", "database")
    walk.say("Forget something, then think better of it.")
    walk.memdir("forget", "deploys")
    walk.memdir("undo")
    walk.memdir("list")


def converse(walk: Walk) -> None:
    walk.say(
        "A conversation is written down as it goes, and what matters in it is remembered. No key: a built-in model."
    )
    walk.talk("monday", "From now on, release notes go to the docs team first: last time legal had to recall them.")
    walk.talk("monday", "Good. What do we know about deploys?")
    walk.memdir("sessions")
    walk.say("Why does it believe that? The memory leads back to the words it came from.")
    walk.memdir("why", "release")
    walk.say("Find the place again, go on from it, keep it as a page.")
    walk.memdir("search", "--sessions", "release notes")
    walk.memdir("fork", "monday")
    walk.memdir("sessions", "export", "monday", "--to", "talk.html")


def recall(walk: Walk) -> None:
    walk.say("What would an agent be given for this message? The few that clearly help, and why.")
    walk.memdir("recall", "write an integration test for the orders table", "--explain")
    walk.say("And for this one: nothing, which is as important.")
    walk.memdir("recall", "rename the loop variable")


DUPLICATE = """---
name: Never mock the database
description: "Never mock the database: mocks passed while the migration broke production"
type: feedback
---

Ask Marek for access to the test server.
"""


def dream(walk: Walk, folder: Path) -> None:
    walk.say("Somebody wrote the same thing twice. A dream puts memories in order: look first, then let it write.")
    path = folder / "no_mocked_database.md"
    path.write_text(DUPLICATE, encoding="utf-8")
    path.chmod(0o600)
    walk.memdir("dream", "--dry-run")
    walk.memdir("dream", "--yes")
    walk.say("Nothing is lost: it knows what it was made from, and one command would take it back.")
    walk.memdir("why", "database")


def look_after(walk: Walk) -> None:
    walk.say("Is the store in order?")
    walk.memdir("doctor")


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        walk = Walk(Path(place).resolve())
        folder = keep_and_find(walk)
        edit_and_go_back(walk, folder)
        recall(walk)
        converse(walk)
        dream(walk, folder)
        look_after(walk)
    walk.say("That was all in a temporary folder, which is gone now. `memdir --help` lists every command.")


if __name__ == "__main__":
    main()
