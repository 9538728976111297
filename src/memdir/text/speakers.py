"""Who said a line: the user, the assistant, a tool, the host, or whoever wrote what was pasted (X12, L4)."""

from __future__ import annotations

# Tags in which a host wraps what it puts into a conversation itself: nobody said what stands between them.
HOST_TAGS = (
    "system-reminder",
    "task-notification",
    "environment_context",
    "hook_context",
    "user-prompt-submit-hook",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "command-name",
    "command-message",
    "command-args",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user_instructions",
    "user_action",
    "turn_aborted",
    "permissions",
    "skill",
    "ide_opened_file",
    "ide_selection",
)
