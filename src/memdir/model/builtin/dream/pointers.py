"""References inside pages to memories that are gone: the words stay, the pointer goes (D3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.memory_page import Page, tokens
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
        work = _PagePointers(desk, page, names, known_gone)
        topic = page.topic.with_field("description", work.repaired(page.description))
        body = page.body
        for sentence in reversed(page.sentences):
            body = body[: sentence.start] + work.repaired(sentence.text) + body[sentence.end :]
        if work.gone:
            # A pointer may be written into a word without a space, such as a link with its text.
            chunks = [chunk for chunk in page.says().split() if any(name in chunk for name in work.gone)]
            lost = frozenset(token for words in (*work.gone, *chunks) for token in tokens(words))
            reason = f"pointers to memories that are gone: {', '.join(sorted(set(work.gone)))}"
            desk.put(PageChange({page.key: topic.with_body(body).data}, reason, (page.key,), lost))


@dataclass(frozen=True)
class _PagePointers:
    """Goes through the texts of one page."""

    desk: Desk
    page: Page
    names: frozenset[str]
    known_gone: frozenset[str]
    gone: list[str] = field(default_factory=list)

    def repaired(self, text: str) -> str:
        return _BARE.sub(self._unnamed, _LINK.sub(self._unlinked, text))

    def _unlinked(self, match: re.Match[str]) -> str:
        if match[2].strip() in self.names:
            return match[0]
        self.gone.append(match[2].strip())
        return match[1] or match[2].strip()[:-3]

    def _unnamed(self, match: re.Match[str]) -> str:
        name = match[1]
        if name in self.names:
            return match[0]
        if not (name in self.known_gone or name.startswith(_OWN_PREFIXES)):
            self.desk.doubt([self.page.key], f"it names {name}, which is no memory; it may be a file of the project")
            return match[0]
        self.gone.append(name)
        return f"{name[:-3]} (note gone)"
