"""The one list of the tags of hosts, for everyone who strips or judges them (L4, S15). Every hook loads it."""

from __future__ import annotations

# Tags in which a host wraps what it puts into a conversation itself: nobody said what stands between them.
HOST_TAGS = (
    "system-reminder",
    "task-notification",
    "subagent_notification",
    "environment_context",
    "hook_context",
    "hook_prompt",
    "user-prompt-submit-hook",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user_instructions",
    "user_shell_command",
    "user_action",
    "collaboration_mode",
    "turn_aborted",
    "permissions",
    "skill",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "session_context",
    "qwen:session-start-context",
    "qwen:user-prompt-submit-context",
)
HOST_PREFIX = "qwen:"  # a host's own namespace: whatever stands behind it is a tag of that host
