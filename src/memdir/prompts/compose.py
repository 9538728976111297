"""Renders prompt files: declared variables, shared parts included once, a missing or unknown variable is an error (P8).

A prompt file starts with frontmatter: `variables: a, b` names what it needs, `override: user` lets a file of the same
name (or of the one that it is a short form of: `as: other.md`) below `<home>/prompts/` take its place, also where it is
a part of another. `{{a}}` stands for a variable, a line `{{> shared/part.md}}` for a part. Nothing here reads a clock,
a path or the environment: those are variables. Every value goes through the door (S15), and stays in its line.
"""

from __future__ import annotations

import os
import re

from memdir.disk.plain_file import read_plain
from memdir.errors import PromptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = os.path.dirname(os.path.abspath(__file__))
MAX_DEPTH = 8  # parts inside parts; deeper is a circle
MAX_PROMPT_BYTES = 1 << 20  # prose that a model reads every time
WITHOUT_INDEX = {  # parts that stand in for others where there is no index (S12)
    "behaviour/how_to_save.md": "behaviour/how_to_save_without_index.md",
    "hooks/how_to_save.md": "behaviour/how_to_save_without_index.md",
    "dream/index.md": "behaviour/no_index.md",
    "extract/index.md": "behaviour/no_index.md",
}
# where a daily log is kept (K1)
AS_LOG = dict.fromkeys(("behaviour/how_to_save.md", "hooks/how_to_save.md"), "behaviour/how_to_log.md")

_INCLUDE = re.compile(r"^\{\{> *([\w/.-]+) *\}\}\n?", re.MULTILINE)
_VARIABLE = re.compile(r"\{\{ *(\w+) *\}\}")


class Prompt:
    """A text that a model reads, from its file, parts already put in."""

    __slots__ = ("_offered", "hash", "name", "text", "variables")

    def __init__(self, name: str, text: str, variables: frozenset[str], offered: frozenset[str]) -> None:
        import hashlib

        self.name = name  # as it was asked for
        self.text = text  # before anything is filled in
        self.variables = variables  # those that it has
        self._offered = offered  # a version of the user's, or one without the index, need not use them all
        self.hash: str = hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]  # tells one version from another

    def render(self, **values: str) -> str:
        """The text with every variable filled in; the values are not searched for variables again."""
        from memdir.prompts.door import shown, shown_line

        missing, unknown = self.variables - values.keys(), values.keys() - self._offered
        if missing or unknown:
            words = [f"no value for {', '.join(sorted(missing))}"] if missing else []
            words += [f"no such variable: {', '.join(sorted(unknown))}"] if unknown else []
            raise PromptError(f"the prompt {self.name} cannot be rendered: {'; '.join(words)}")

        def filled(match: re.Match[str]) -> str:
            value = values[match[1]]
            if isinstance(value, AsSaid):
                return value
            return shown(value) if _stands_alone(match) else shown_line(value)

        return _VARIABLE.sub(filled, self.text)


class AsSaid(str):
    """A conversation as the host's model has seen it: passed on, not judged. Nothing else may go around the door."""

    __slots__ = ()


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a variable has a line, or lines, for itself."""
    text = match.string
    return text[: match.start()][-1:] in ("", "\n") and text[match.end() :][:1] in ("", "\n")


def load_prompt(
    name: str, *, overrides: str = "", own: str = "", has_index: bool = True, is_log: bool = False
) -> Prompt:
    """Read a prompt by its name among memdir's own, or a host's by its full path; `overrides` is the folder of the
    user's own versions, `own` their version of this one where it has a place of its own (N5). Without an index, and
    where a daily log is kept, other parts stand in it."""
    source = _source(name, overrides, own)
    instead = {**({} if has_index else WITHOUT_INDEX), **(AS_LOG if is_log else {})}
    text, declared = _with_parts(source, overrides, instead, 0)
    used = frozenset(_VARIABLE.findall(text))
    is_ours = not instead and not source.is_overridden
    offered = declared if is_ours else declared | _with_parts(_source(name, ""), "", {}, 0)[1]
    if used - offered or (is_ours and source.declared - used):
        wrong = sorted((used - offered) | (source.declared - used if is_ours else set()))
        raise PromptError(f"the prompt {name} uses a variable it does not declare, or the reverse: {', '.join(wrong)}")
    return Prompt(name, text, used, offered)


class _Source:
    """A prompt file as it is on disk."""

    __slots__ = ("declared", "is_overridden", "name", "text")

    def __init__(self, name: str, text: str, fields: dict[str, str], *, is_overridden: bool) -> None:
        self.name = name
        self.text = text
        self.declared = frozenset(fields.get("variables", "").replace(",", " ").split())
        self.is_overridden = is_overridden


def _source(name: str, overrides: str, own: str = "") -> _Source:
    fields, text = _read(os.path.join(FOLDER, name), name)
    path = own or (os.path.join(overrides, fields.get("as", name)) if overrides else "")
    if path and fields.get("override") == "user" and os.path.isfile(path):
        _, text = _read(path, name)
        return _Source(name, text, fields, is_overridden=True)
    return _Source(name, text, fields, is_overridden=False)


def _read(path: str, name: str) -> tuple[dict[str, str], str]:
    try:
        text = read_plain(path, max_bytes=MAX_PROMPT_BYTES).decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"the prompt {name} cannot be read from {path}: {error}") from error
    head, fence, body = text.removeprefix("---\n").partition("---\n")
    if not text.startswith("---\n") or not fence:
        return {}, text
    pairs = (line.partition(":") for line in head.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}, body.lstrip("\n")


def _with_parts(source: _Source, overrides: str, instead: Mapping[str, str], depth: int) -> tuple[str, frozenset[str]]:
    """The text with its parts put in, and all variables that it and its parts declare."""
    if depth > MAX_DEPTH:
        raise PromptError(f"the prompt {source.name} includes itself")
    declared = set(source.declared)

    def part(match: re.Match[str]) -> str:
        text, inner = _with_parts(_source(instead.get(match[1], match[1]), overrides), overrides, instead, depth + 1)
        declared.update(inner)
        return text

    return _INCLUDE.sub(part, source.text), frozenset(declared)
