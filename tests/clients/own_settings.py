"""Settings as their owners keep them: comments where the client allows them, keys nobody knows, hooks of their own.

Each hook of theirs writes a line into `own-hooks` of the home, so that a test sees that it still runs.
"""

from __future__ import annotations

from pathlib import Path

OWN_HOOKS = "own-hooks"

CLAUDE = """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "cleanupPeriodDays": 20, "somebodysOwnKey": [1, 2.50, {"deep": null}],
  "hooks": {
    "UserPromptSubmit": [ { "hooks": [ { "type": "command", "command": "echo claude >> 'HOME/own-hooks'" } ] } ]
  }
}
"""
CLAUDE_STATE = """{"numStartups": 3,
 "somebodysOwnKey": "kept"}
"""
CODEX_HOOKS = """{ "description": "mine",
  "hooks": {"UserPromptSubmit": [
      {"hooks": [{"type": "command", "command": "echo codex >> 'HOME/own-hooks'", "myNote": "kept"}]}]}}
"""
CODEX_CONFIG = """# the model at home
model_provider = "stub"   # not the real one

[model_providers.stub]
name = "stub"
base_url = "SERVER/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"

[tools_of_mine]  # nobody knows this
answer = 42
"""
GEMINI = """{
  // signed in by key
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "privacy": { "usageStatisticsEnabled": false }, /* no thanks */
  "general": { "enableAutoUpdate": false },
  "somebodysOwnKey": { "a": [1,2 ,3] },
  "hooks": {
    "BeforeAgent": [
      // mine
      { "matcher": "*", "hooks": [ { "type": "command", "command": "echo gemini >> 'HOME/own-hooks'" } ] }
    ]
  }
}
"""
QWEN = """{
  // by key
  "security": { "auth": { "selectedType": "openai" } },
  "privacy": { "usageStatisticsEnabled": false },
  "memory": { "enableManagedAutoMemory": false }, // one memory is enough
  "somebodysOwnKey": { "a": [1,2 ,3] },
  "hooks": {
    "UserPromptSubmit": [ { "hooks": [ { "type": "command", "command": "echo qwen >> 'HOME/own-hooks'" } ] } ]
  }
}
"""
OPENCODE = """{
  // at home
  "provider": {
    "stub": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "stub",
      "options": { "baseURL": "SERVER/v1", "apiKey": "test-key", },
      "models": { "stub-model": {} }
    }
  },
  "autoupdate": false, "share": "disabled",
}
"""
OPENCODE_PLUGIN = """import { appendFileSync } from "node:fs"
export const Own = async () => ({ "chat.message": async () => appendFileSync("HOME/own-hooks", "opencode\\n") })
"""

# What opencode leaves beside its settings when it has installed its plugin library: without it, it asks the network,
# and waits for that whenever there is a plugin.
OPENCODE_LOCK = """{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}}}
"""

FILES = {
    "claude": {".claude/settings.json": CLAUDE, ".claude.json": CLAUDE_STATE},
    "codex": {".codex/hooks.json": CODEX_HOOKS, ".codex/config.toml": CODEX_CONFIG},
    "gemini": {".gemini/settings.json": GEMINI},
    "qwen": {".qwen/settings.json": QWEN},
    "opencode": {
        ".config/opencode/opencode.jsonc": OPENCODE,
        ".config/opencode/plugins/own.js": OPENCODE_PLUGIN,
    },
}


def write_settings(home: Path, url: str) -> None:
    """The settings of all five, as they were before anybody attached anything."""
    opencode = home / ".config" / "opencode"
    (opencode / "node_modules").mkdir(parents=True)
    (opencode / "package-lock.json").write_text(OPENCODE_LOCK, encoding="utf-8")
    for files in FILES.values():
        for name, text in files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            filled = text.replace("HOME", str(home)).replace("SERVER", url)
            path.write_text(filled, encoding="utf-8")


def settings_of(home: Path, name: str) -> dict[str, bytes]:
    """What stands in the files of one client's settings now."""
    return {file: (home / file).read_bytes() for file in FILES[name] if (home / file).exists()}
