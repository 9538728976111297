"""`make try`: a walk through the main job in a temporary home. Every command is real, and so is what it prints."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IN_COLOUR = sys.stdout.isatty() or "FORCE_COLOR" in os.environ
# Variables that lead to a person's own memories, agents and repositories: the walk keeps to its folder.
OF_THEIRS = ("MEMDIR_", "CLAUDE", "CODEX_", "GEMINI_", "GIT_", "OPENCODE", "QWEN_", "XDG_")


class Walk:
    """Runs commands in a project and a home of its own and shows them as a person would type them."""

    def __init__(self, place: Path) -> None:
        self.project = place / "shop"
        # The walk is the same for everyone and costs nothing: no provider is asked, whatever keys there are.
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self._environment = {
            **{name: value for name, value in kept.items() if not name.startswith(OF_THEIRS)},
            "HOME": str(place),
            "MEMDIR_HOME": str(place / "home"),
            "FORCE_COLOR": "1" if IN_COLOUR else "",
            "COLUMNS": "110",
        }
        (self.project / "src").mkdir(parents=True)
        (self.project / "src/legacy_import.py").write_text("# the importer of old\n", encoding="utf-8")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=First")
        self._program = str(Path(sys.executable).with_name("memdir"))

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

    def git(self, *words: str) -> None:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.invalid")
        subprocess.run(["git", *identity, *words], cwd=self.project, env=self._environment, check=True)

    def offer_chat(self) -> None:
        """In a terminal: talk with what was just seen."""
        if sys.stdin.isatty() and sys.stdout.isatty():
            self.say("Talk with it yourself? In this same folder, and nothing of yours is touched.")
            if input("$ memdir chat   [y/N] ").strip().lower() in ("y", "yes"):
                subprocess.run([self._program, "chat"], cwd=self.project, env=self._environment, check=False)

    def show_file(self, path: Path) -> None:
        print(f"\x1b[1;36m$ cat {path.name}\x1b[0m" if IN_COLOUR else f"$ cat {path.name}")
        print(path.read_text(encoding="utf-8").rstrip("\n"))


def keep_and_find(walk: Walk) -> None:
    walk.say("You can keep things yourself. Each becomes a small Markdown file and a line in the index.")
    walk.memdir(
        "remember", "Never mock the database: mocks passed while the migration broke production", "--type", "feedback"
    )
    walk.memdir("remember", "Deploys are frozen until 2026-12-01: the auditors are in the house")
    walk.memdir("remember", "I have run databases for ten years; React is new to me", "--scope", "user")
    walk.memdir("show", "feedback_never_mock_the_database")
    walk.say("Find one again by any words in it.")
    walk.memdir("search", "auditors")


def edit_and_go_back(walk: Walk, folder: Path) -> None:
    walk.say("Edit a file by hand, in any editor. memdir notices and records it as a change of its own.")
    path = folder / "feedback_never_mock_the_database.md"
    path.write_text(
        path.read_text(encoding="utf-8") + "\n**How to apply:** every test that touches storage.\n", encoding="utf-8"
    )
    walk.memdir("log")
    walk.memdir("diff")
    walk.say("Changed your mind? Take it back; the bytes are those of before.")
    walk.memdir("undo")
    walk.memdir("show", "feedback_never_mock_the_database")
    walk.say("Forget something, then think better of it.")
    walk.memdir("forget", "deploys")
    walk.memdir("undo")
    walk.memdir("list")


def session_one(walk: Walk) -> None:
    walk.say(
        "Session one: a person corrects, decides, mentions a deadline. No key is needed: a built-in model listens."
    )
    walk.memdir(
        "chat", "-p", "From now on, release notes go to the docs team first: last time legal had to recall them."
    )
    walk.memdir(
        *("chat", "--continue", "-p"),
        "We decided to keep src/legacy_import.py until the audit is over, because the auditors compare its output.",
    )
    walk.memdir("chat", "--continue", "-p", "The new importer is due on 2027-02-12.")
    walk.say("Nobody asked it to, and this was written down:")
    walk.memdir("list", "--scope", "all")
    walk.say("Why does it believe that? The memory leads back to the words it came from.")
    walk.memdir("why", "legacy")
    walk.say("The conversation itself: find a place in it, begin a second one there, keep it as a page.")
    walk.memdir("sessions")
    walk.memdir("search", "--sessions", "auditors")
    walk.memdir("fork")
    walk.memdir("sessions", "export", "--to", "talk.html")


def session_two(walk: Walk, folder: Path) -> None:
    walk.say("Eleven days later, and src/legacy_import.py is gone. Session two never asks for a memory:")
    then = time.time() - 11 * 86_400
    for path in folder.glob("*legacy*.md"):
        os.utime(path, (then, then))
    walk.git("rm", "--quiet", "src/legacy_import.py")
    walk.git("commit", "--quiet", "--message=Take the old importer out")
    question = "What was it that the auditors compare?"
    walk.memdir("chat", "-p", question)
    walk.say("This is what the model was given beside the question: how old it is, and what in it is gone.")
    walk.memdir("recall", question, "--render")


NOTE = """---
name: Staging database
description: The staging database listens on port 5433
type: reference
---

The staging database listens on port 5433. Marek has the password.
"""


def contradiction(walk: Walk, folder: Path) -> None:
    walk.say("The person says how it is now. Then an old note turns up, put there by hand, that says otherwise.")
    walk.memdir("chat", "-p", "The staging database listens on port 6543 now, no longer on 5433.")
    path, then = folder / "staging.md", time.time() - 20 * 86_400
    path.write_text(NOTE, encoding="utf-8")
    path.chmod(0o600)
    os.utime(path, (then, then))
    walk.memdir("search", "staging")
    walk.say("A dream puts memories in order, and shows what it does.")
    walk.memdir("dream", "--yes")
    walk.say("Not what you wanted? One command takes it back, and all is as it was.")
    walk.memdir("undo")
    walk.memdir("search", "staging")


def recall(walk: Walk) -> None:
    walk.say("What would an agent be given for this message? The few that clearly help, and why.")
    walk.memdir("recall", "write an integration test for the orders table", "--explain")
    walk.say("And for this one: nothing, which is as important.")
    walk.memdir("recall", "rename the loop variable")


def look_after(walk: Walk) -> None:
    walk.say("Is the store in order? The note that was put there by hand has no line in the index: that is repaired.")
    walk.memdir("doctor", "--fix")


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        walk = Walk(Path(place).resolve())
        session_one(walk)
        folder = Path(walk.memdir("path").strip().splitlines()[-1])
        session_two(walk, folder)
        contradiction(walk, folder)
        keep_and_find(walk)
        edit_and_go_back(walk, folder)
        recall(walk)
        look_after(walk)
        walk.offer_chat()
    walk.say("That was all in a temporary folder, which is gone now. `memdir --help` lists every command.")


if __name__ == "__main__":
    main()
