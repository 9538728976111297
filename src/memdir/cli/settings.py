"""Show every setting, its value, the layer it comes from, and which values were refused and why.

Layers, strongest first: managed policy, flags (--set NAME=VALUE), local (this machine, this project), user, project
(committed to the repository, never trusted with where we write, whom we talk to or what we run)."""

from __future__ import annotations

from memdir.cli.context import add_json
from memdir.cli.terminal import clean
from memdir.settings import OPTIONS, managed_settings_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir settings", "memdir settings --json", "memdir settings --set skipIndex=true")


def configure(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    context.tolerate_settings()
    memory = context.memory
    settings, layout = memory.settings, memory.layout
    files = {
        "managed": managed_settings_path(),
        "local": layout.local_settings,
        "user": layout.user_settings,
        "project": layout.project_settings,
    }
    if options.json:
        context.print_json(
            {
                "enabled": settings.enabled,
                "offBecause": settings.off_because or None,
                "directory": memory.place.root,
                "files": files,
                "settings": {
                    o.name: {"value": settings.value(o), "from": settings.origins.get(o.name, "default")}
                    for o in OPTIONS
                },
                "refused": [
                    {"name": r.name, "layer": r.layer, "file": r.path, "reason": r.reason} for r in settings.refused
                ],
            }
        )
        return 0
    terminal = context.terminal
    state = terminal.style("on", "green") if settings.enabled else terminal.style(f"off: {settings.off_because}", "red")
    terminal.line(f"memory is {state}, in {clean(memory.place.root)}")
    terminal.line()
    rows = [[o.name, _shown(settings.value(o)), settings.origins.get(o.name, "default"), o.doc] for o in OPTIONS]
    terminal.table(rows, headers=("setting", "value", "from", "what it does"), styles=("bold", "cyan", "", "dim"))
    terminal.line()
    terminal.table([[layer, path] for layer, path in files.items()], headers=("layer", "file"), styles=("bold", ""))
    for refusal in settings.refused:
        what = f"{refusal.name or 'the whole file'} from the {refusal.layer} layer ({refusal.path})"
        text = f"refused: {what}: {refusal.reason}"
        terminal.line(terminal.style(clean(text), "yellow"))
    return 0


def _shown(value: object) -> str:
    return (
        {True: "true", False: "false", None: "-"}.get(value, str(value))
        if isinstance(value, bool | None)
        else str(value)
    )
