"""The settings: shown, asked for, changed in one of the files, or opened in an editor."""

from __future__ import annotations

import os

from memdir.cli.terminal import clean
from memdir.errors import SettingsError, UsageError
from memdir.settings import OPTIONS, checked_value, option_named, settings_files
from memdir.settings_file import found_in, put_setting, write_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.settings import Layer, Settings

WRITABLE = ("user", "local", "project")


def _files(context: Context) -> dict[Layer, str]:
    return settings_files(context.environment, context.memory.layout)


def _add_layer(parser: argparse.ArgumentParser) -> None:
    text = "which file: user (default: all your projects), local (this machine, this project) or project (committed)"
    parser.add_argument("--layer", choices=WRITABLE, default="user", help=text)


def _plain_value(settings: Settings, name: str) -> dict[str, object]:
    return {"value": settings.value(option_named(name)), "from": settings.origins.get(name, "default")}


class ListSettings:
    """Show every setting, its value, the layer it comes from, and which values were refused and why.

    Layers, strongest first: managed policy, flags (--set NAME=VALUE), local (this machine, this project), user, project
    (committed to the repository, never trusted with where we write, whom we talk to or what we run)."""

    EXAMPLES = ("memdir config", "memdir config list --json", "memdir config list --set skipIndex=true")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        pass

    def run(self, options: argparse.Namespace, context: Context) -> int:
        context.tolerate_settings()
        memory = context.memory
        settings, files = memory.settings, _files(context)
        if options.json:
            found = {option.name: _plain_value(settings, option.name) for option in OPTIONS}
            left = [{"name": r.name, "layer": r.layer, "file": r.path, "reason": r.reason} for r in settings.refused]
            told: dict[str, object] = {"enabled": settings.enabled, "offBecause": settings.off_because or None}
            told |= {"directory": memory.place.root, "files": files, "settings": found, "refused": left}
            return context.print_json(told)
        terminal = context.terminal
        state = ("on", "green") if settings.enabled else (f"off: {settings.off_because}", "red")
        terminal.line(f"memory is {terminal.style(*state)}, in {clean(memory.place.root)}")
        terminal.line()
        rows = [[o.name, _shown(settings.value(o)), settings.origins.get(o.name, "default"), o.doc] for o in OPTIONS]
        terminal.table(rows, headers=("setting", "value", "from", "what it does"), styles=("bold", "cyan", "", "dim"))
        terminal.line()
        for layer, path in files.items():  # whole: somebody may take it as it is
            terminal.line(f"{terminal.bold(layer.ljust(8))} {clean(path)}")
        for refusal in settings.refused:
            what = f"{refusal.name or 'the whole file'} from the {refusal.layer} layer ({refusal.path})"
            terminal.line(terminal.style(clean(f"refused: {what}: {refusal.reason}"), "yellow"))
        return 0


def _shown(value: object) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


class Get:
    """Print the value of a setting that is in force, and nothing else."""

    EXAMPLES = ("memdir config get recall.selector", "memdir config get model.name --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="a setting, as `memdir config list` shows it")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        option = option_named(options.name)
        context.tolerate_settings()
        settings = context.memory.settings
        for refusal in settings.refused:
            if refusal.name in ("", option.name):
                context.note(f"what {refusal.path} says does not count: {refusal.reason}")
        if options.json:
            return context.print_json({"name": option.name, **_plain_value(settings, option.name)})
        value = settings.value(option)
        context.terminal.verbatim("" if value is None else clean(_shown(value)))
        return 0


class Set:
    """Change a setting, in your own settings for all projects unless --layer names another file. --unset takes it out
    of the file again. The value is checked before anything is written; what else is in the file stays as it is."""

    EXAMPLES = (
        "memdir config set recall.selector local",
        "memdir config set memoryEnabled false --layer local",
        "memdir config set model.name --unset",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="a setting, as `memdir config list` shows it")
        parser.add_argument("value", metavar="VALUE", nargs="?", help="true, false, a number, or text")
        parser.add_argument("--unset", action="store_true", help="take it out of the file")
        _add_layer(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        if (options.value is None) != options.unset:
            raise UsageError("there is either a value or --unset", remedy="memdir config set recall.selector local")
        context.tolerate_settings()
        name, layer, path = option_named(options.name).name, options.layer, _files(context)[options.layer]
        put_setting(path, name, None if options.unset else checked_value(name, options.value, layer))
        settings = context.reopened().settings
        origin = settings.origins.get(name, "default")
        if options.json:
            return context.print_json({"name": name, "file": path, **_plain_value(settings, name)})
        told = f"{name} is {_shown(settings.value(option_named(name)))}"
        told_by = next((file for one, file in _files(context).items() if one == origin), f"({origin})")
        context.terminal.line(f"{context.terminal.bold(clean(told))}  {context.terminal.dim(clean(told_by))}")
        if origin not in (layer, "default"):
            more = f"; `memdir config set {name} --unset --layer {origin}` takes it out" if origin in WRITABLE else ""
            is_told = f"the {origin} settings {'still say so' if options.unset else 'go before what you set'}"
            context.note(is_told + more)
        return 0


class EditSettings:
    """Open a settings file in your editor ($VISUAL or $EDITOR): yours for all projects unless --layer names another.
    It is checked when you are done, and what cannot be used is told."""

    EXAMPLES = ("memdir config edit", "memdir config edit --layer local")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        _add_layer(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.cli.memories import run_editor

        context.tolerate_settings()
        path = _files(context)[options.layer]
        if is_new := not os.path.lexists(path):
            write_settings(path, {})
        try:
            run_editor(path, context)
        finally:
            if is_new and not found_in(path):
                os.unlink(path)
        refused = [r for r in context.reopened().settings.refused if r.path == path]
        if refused:
            told = "; ".join(f"{r.name}: {r.reason}" for r in refused)
            raise SettingsError(f"saved, but {told}", remedy=f"`memdir config edit --layer {options.layer}` opens it")
        if options.json:
            return context.print_json({"file": path})
        context.terminal.line(f"{context.terminal.bold('Saved')} {clean(path)}")
        return 0
