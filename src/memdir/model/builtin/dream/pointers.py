"""References inside pages to memories that are gone: the words stay, the pointer goes (D3)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.store.topic import MemoryType

_LINK = re.compile(r"!?\[([^\]\n]*)\]\(<?(?:\./)?([^)<>\n#/]+\.md)(?:#[^)\n]*)?>?\)")
_BARE = re.compile(r"(?<![\w/.(\[-])`?([\w][\w.+-]*\.md)`?(?![\w/-])")
_OWN_PREFIXES = tuple(f"{kind}{mark}" for kind in MemoryType for mark in "_-")


def repair_pointers(desk: Desk, listed_but_gone: Iterable[str]) -> None:
    """Take dead pointers out of every page. `listed_but_gone`: what an index names and nobody has."""
    known_gone = frozenset(listed_but_gone)
    names = frozenset(key.rsplit("/", 1)[-1] for key in desk.pages) | frozenset(desk.pages)
    for page in desk.open_pages():
        if ".md" not in page.says():
            continue
        gone = list[str]()
        topic = page.topic.with_field("description", _repaired(page.description, names, known_gone, gone))
        body = page.body
        for sentence in reversed(page.sentences):
            body = body[: sentence.start] + _repaired(sentence.text, names, known_gone, gone) + body[sentence.end :]
        if gone:
            reason = f"pointers to memories that are gone: {', '.join(sorted(set(gone)))}"
            desk.put(PageChange({page.key: topic.with_body(body).data}, reason, (page.key,)))


def _repaired(text: str, names: Collection[str], known_gone: Collection[str], gone: list[str]) -> str:
    """A text with the words alone where it pointed to what is gone, whose names come to stand in `gone`."""

    def unlinked(link: re.Match[str]) -> str:
        name = link[2].strip()
        if name in names:
            return link[0]
        gone.append(name)
        return link[1] or name[:-3]

    def unnamed(found: re.Match[str]) -> str:
        name = found[1]
        if name in names or not (name in known_gone or name.startswith(_OWN_PREFIXES)):
            return found[0]  # it may be a file of the project
        gone.append(name)
        return f"{name[:-3]} (note gone)"

    return _BARE.sub(unnamed, _LINK.sub(unlinked, text))
