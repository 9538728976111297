"""The table of commands: name, module, one line of help. `memdir --help` prints it without loading any of them."""

from __future__ import annotations

GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Keep and read",
        (
            ("remember", "remember", "write a memory"),
            ("list", "list_memories", "show what is remembered"),
            ("show", "show", "print one memory"),
            ("search", "search", "find memories by words"),
            ("recall", "recall", "show what a message would bring back, and why"),
            ("edit", "edit", "change a memory in your editor"),
            ("forget", "forget", "delete a memory (undoable)"),
        ),
    ),
    (
        "Look back",
        (
            ("log", "log", "list changes, newest first"),
            ("diff", "diff", "show what a change did"),
            ("undo", "undo", "take back a change"),
            ("restore", "restore", "bring back an earlier version of a file"),
            ("why", "why", "tell where a memory comes from"),
        ),
    ),
    (
        "Conversations",
        (
            ("sessions", "sessions.list_sessions", "list past conversations"),
            ("sessions show", "sessions.show", "print a conversation"),
            ("sessions search", "sessions.search", "find places in conversations and daily logs"),
            ("sessions export", "sessions.export", "write a conversation as Markdown or HTML"),
            ("sessions files", "sessions.files", "show or restore the files a conversation edited"),
            ("sessions prune", "sessions.prune", "show, or delete, old conversations"),
            ("resume", "resume", "show a conversation as it would go on"),
            ("fork", "fork", "begin a second conversation where one stands"),
        ),
    ),
    (
        "Look after",
        (
            ("check", "check", "replay the recalls you pinned"),
            ("doctor", "doctor", "check the store, mend what is safe to mend"),
            ("dream", "dream", "merge, correct, date and prune memories"),
            ("budget", "budget", "show what background work used, and what it may"),
            ("settings", "settings", "show every setting and where it comes from"),
            ("export", "export_memories", "write all memories to a folder or a zip"),
            ("import", "import_memories", "take in memories from a folder or a zip"),
            ("adopt", "adopt", "find the store of a project that was moved"),
        ),
    ),
    (
        "For programs",
        (
            ("path", "path", "print the memory directory"),
            ("prompt", "prompt", "print the memory section of a system prompt"),
            ("completion", "completion", "print a completion script for bash, zsh or fish"),
        ),
    ),
)

MODULES = {name: module for _, commands in GROUPS for name, module, _ in commands}
HELP = {name: text for _, commands in GROUPS for name, _, text in commands}
