"""References inside pages to memories that are gone: the words stay, the pointer goes (D3)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.memory_page import Page, tokens
from memdir.store.taxonomy import MemoryType
from memdir.text.language import fold, language

LINK = re.compile(r"!?\[([^\]\n]*)\]\(<?([^)<>\n#]+\.md)(?:#[^)\n]*)?>?\)")
_BARE = re.compile(r"(?<![\w/.(\[-])`?([\w][\w.+-]*\.md)`?(?![\w/-])")
_SEE = re.compile(
    r"(?:\bsee|\bsiehe|\bvgl\.?|\bvoir|\bver|\bvéase|\bvedi|\bzie|\bse|참조|参照|见)\s+(?:also\s+|auch\s+|aussi\s+)?`?$",
    re.IGNORECASE,
)
_OWN_PREFIXES = tuple(f"{kind}_" for kind in MemoryType) + tuple(f"{kind}-" for kind in MemoryType)
_GONE_WORDS = {
    "de": "Notiz gelöscht",
    "fr": "note supprimée",
    "es": "nota borrada",
    "pt": "nota apagada",
    "nl": "notitie weg",
}


def repair_pointers(desk: Desk, listed_but_gone: Iterable[str]) -> None:
    """Take dead pointers out of every page. `listed_but_gone`: what an index names and nobody has."""
    known_gone = frozenset(listed_but_gone)
    names = frozenset(key.rsplit("/", 1)[-1] for key in desk.pages) | frozenset(desk.pages)
    for page in desk.open_pages():
        if ".md" not in page.says():
            continue
        found: list[str] = []
        topic = page.topic
        description = _repaired(page, page.description, names, known_gone, found, desk)
        topic = topic.with_field("description", description)
        body = page.body
        for sentence in reversed(page.sentences):
            text = _repaired(page, sentence.text, names, known_gone, found, desk)
            body = body[: sentence.start] + text + body[sentence.end :]
        topic = topic.with_body(body)
        if found and topic.data != page.data:
            # A pointer may be written into a word without a space, such as a link with its text.
            chunks = [chunk for chunk in page.says().split() if any(name in chunk for name in found)]
            gone = frozenset(token for words in (*found, *chunks) for token in tokens(words))
            reason = f"pointers to memories that are gone: {', '.join(sorted(set(found)))}"
            desk.put(PageChange({page.key: topic.data}, reason, (page.key,), gone))


def _repaired(
    page: Page, text: str, names: frozenset[str], known_gone: frozenset[str], found: list[str], desk: Desk
) -> str:
    for match in reversed(list(LINK.finditer(text))):
        target = match[2].strip().removeprefix("./")
        if "/" not in target and target not in names:
            found.append(target)
            text = text[: match.start()] + (match[1] or target[:-3]) + text[match.end() :]
    for match in reversed(list(_BARE.finditer(text))):
        name = match[1]
        if name in names:
            continue
        if not _is_memory(text, match, known_gone):
            desk.doubt([page.key], f"it names {name}, which is no memory; it may be a file of the project")
            continue
        found.append(name)
        text = (
            text[: match.start()]
            + f"{name[:-3]} ({_GONE_WORDS.get(language(fold(text)), 'note gone')})"
            + text[match.end() :]
        )
    return text


def _is_memory(text: str, match: re.Match[str], known_gone: frozenset[str]) -> bool:
    """Whether a missing file was a memory: an index lists it, or it is named like one and pointed to."""
    name = match[1]
    if name in known_gone or name.startswith(_OWN_PREFIXES):
        return True
    pointed = _SEE.search(text, 0, match.start()) is not None
    return pointed and name.islower() and bool(re.search(r"[_-]", name))
