"""What a text names of a project: paths, links to files of a repository, commands, symbols (R6)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MAX_TEXT_CHARACTERS = 200_000  # a memory is a page

_LINK = r"\b[a-z][a-z0-9+]{1,15}://\S+"
# A name may have several dots (`x.test.ts`, `x.d.ts`): what ends at one of them is not the name.
_PATH = r"(?:[\w.-]{1,64}/){1,12}[\w-]{1,64}(?:\.[\w-]{1,32}){0,5}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/]|\.\w)"
_PATTERNS = {  # in the order of what it costs to check
    "path": rf"(?<![\w/.~:@-])({_PATH})",
    "command": r"`((?:make|npm run|pnpm run|yarn run|just) [\w:.-]+)`",
    "symbol": r"`([A-Za-z_][A-Za-z0-9_]*(?:\(\)|(?:[a-z][A-Z]|_[a-z])[A-Za-z0-9_]*))`",
}
_WEB_TEXT = "com org net io dev local internal example app ai de fr uk jp cn"
_WEB_ENDINGS = frozenset(_WEB_TEXT.split())


def references_in(text: str) -> Iterator[tuple[str, str]]:
    """Every path, link, command and symbol that a text names, each once, as kind and name."""
    seen: set[tuple[str, str]] = set()
    for kind, name in _all_named(text[:MAX_TEXT_CHARACTERS]):
        if name and (kind, name) not in seen:
            seen.add((kind, name))
            yield kind, name


def _all_named(text: str) -> Iterator[tuple[str, str]]:
    import re

    for link in re.finditer(_LINK, text):
        yield "link", _file_of_link(link)
    plain = re.sub(_LINK, " ", text)
    for kind, pattern in _PATTERNS.items():
        for match in re.finditer(pattern, plain):
            yield kind, _plain_path(match[1]) if kind == "path" else match[1].rstrip(".")


def _file_of_link(link: re.Match[str]) -> str:
    """A link to a file of a repository names both, as `repository/blob/branch/path`; any other names nothing here."""
    import re

    before, _, after = link[0].partition("/blob/")
    path = re.match(_PATH, after)
    repository = before.removesuffix("/-").rpartition("/")[2]
    return f"{repository}/blob/{path[0]}" if path else ""


def _plain_path(name: str) -> str:
    """The path from the project's root; empty for an address on the web and for what leads out of the project."""
    parts = [part for part in name.split("/") if part != "."]
    host = parts[0]
    is_address = "." in host and host.rpartition(".")[2].lower() in _WEB_ENDINGS
    return "" if is_address or ".." in parts else "/".join(parts)
