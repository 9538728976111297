"""References inside pages to memories that are gone: the words stay, the pointer goes (D3)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.memory_page import Page
from memdir.store.topic import MemoryType, Topic

_POINTER = re.compile(
    r"!?\[(?P<words>[^\]\n]*)\]\(<?(?:\./)?(?P<linked>[^)<>\n#/]+\.md)(?:#[^)\n]*)?>?\)"
    r"|(?<![\w/.(\[-])`?(?P<named>[\w][\w.+-]*\.md)`?(?![\w/-])"
)
_OWN_PREFIXES = tuple(f"{kind}{mark}" for kind in MemoryType for mark in "_-")


def repair_pointers(desk: Desk, listed_but_gone: Iterable[str]) -> None:
    """Take dead pointers out of every page. `listed_but_gone`: what an index names and nobody has."""
    known_gone = frozenset(listed_but_gone)
    names = frozenset(key.rsplit("/", 1)[-1] for key in desk.pages) | frozenset(desk.pages)
    for page in desk.open_pages():
        topic, gone = _without_dead(page, names, known_gone) if ".md" in page.says() else (page, ())
        if gone:
            reason = f"pointers to memories that are gone: {', '.join(sorted(set(gone)))}"
            desk.put(PageChange({page.key: topic.data}, reason, (page.key,)))


def _without_dead(page: Page, names: Collection[str], known_gone: Collection[str]) -> tuple[Topic, Collection[str]]:
    """A page with the words alone where it pointed to what is gone, and the names of that."""
    gone = list[str]()

    def words(found: re.Match[str]) -> str:
        name = (found["linked"] or found["named"]).strip()
        if name in names or not (found["linked"] or name in known_gone or name.startswith(_OWN_PREFIXES)):
            return found[0]  # it may be a file of the project
        gone.append(name)
        return (found["words"] or name).removesuffix(".md") + (" (note gone)" if found["named"] else "")

    def tell(text: str) -> str:
        return _POINTER.sub(words, text)

    return page.with_field("description", tell(page.description)).with_body(page.retold(tell)), gone
