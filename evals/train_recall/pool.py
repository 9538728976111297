"""Gather the unlabelled text that the table is distilled on, as `pool.json`.

    apt-get update -o Dir::State::Lists=LISTS -o Acquire::Languages=en,de,fr,es,it,pt,nl,pl,sv,da,fi,ja,ko,ru,uk,zh_CN
    python -m evals.train_recall.pool --lists LISTS --wordnet /usr/share/wordnet --messages DIR ... --out pool.json

English: descriptions of Debian's packages, the glosses and examples of WordNet (package wordnet-base), docstrings of
Python's own library. Beside it what translators made of descriptions and of the messages (`.mo`) below each DIR. The
file holds `[[english, ...], [[english, language, translation], ...]]`.
"""

from __future__ import annotations

import argparse
import ast
import gettext
import json
import random
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

MIN_WORDS, MAX_WORDS = 4, 60
MAX_MESSAGE = 200  # characters of a program's message
ENGLISH_TEXTS = 250_000
PAIRS_A_LANGUAGE = 6_000  # the large translations must not crowd out the small ones
_LANGUAGES_TEXT = "de fr es it pt pt_BR nl pl sv nb nn da fi tr ru uk cs ja zh_CN zh_Hans ko"
LANGUAGES = frozenset(_LANGUAGES_TEXT.split())
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_QUOTED = re.compile(r'"([^"]+)"')
_MARKUP = re.compile(r"%\(\w+\)[sd]|%[\d.]*l?[sdufx]|\{\w*\}|[_&~](?=\w)|</?\w+[^>]*>")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.train_recall.pool", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--lists", required=True, type=Path)
    parser.add_argument("--wordnet", required=True, type=Path)
    parser.add_argument("--messages", nargs="*", default=[], type=Path)
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args()
    packages = dict(_descriptions(options.lists, "en"))
    english = [piece for text in packages.values() for piece in _pieces(text)]
    english += [*_glosses(options.wordnet), *_docstrings()]
    pairs: dict[str, list[list[str]]] = {}
    for language in sorted(LANGUAGES):
        for name, text in _descriptions(options.lists, language):
            if name in packages:
                pairs.setdefault(language[:2], []).extend(_aligned(packages[name], text, language[:2]))
    for folder in options.messages:
        for language, one, other in _messages(folder):
            pairs.setdefault(language, []).append([one, language, other])
    rng = random.Random(0)
    parallel = [pair for some in pairs.values() for pair in _some(some, rng)]
    unique = list(dict.fromkeys(english))
    chosen = rng.sample(unique, min(ENGLISH_TEXTS, len(unique)))
    options.out.write_text(json.dumps([chosen, parallel], ensure_ascii=False), encoding="utf-8")
    print(f"{len(chosen):,} English texts, {len(parallel):,} translations in {len(pairs)} languages")
    return 0


def _descriptions(lists: Path, language: str) -> Iterator[tuple[str, str]]:
    """What the packages are, by the digest of the English text."""
    for path in sorted(lists.glob(f"*_main_i18n_Translation-{language.replace('_', '%5f')}*")):
        listed = subprocess.run(
            ["/usr/lib/apt/apt-helper", "cat-file", str(path)], capture_output=True, check=True, text=True
        ).stdout
        for entry in listed.split("\n\n"):
            found = re.search(r"Description-md5: (\w+)\nDescription-[\w-]+: (.*)", entry, re.DOTALL)
            if found:
                yield found[1], found[2]


def _pieces(description: str) -> Iterator[str]:
    """The title line, and the sentences of the paragraphs below it."""
    title, _, rest = description.partition("\n")
    for paragraph in [title, *re.split(r"\n \.\n", rest)]:
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            words = sentence.lstrip("*- ").split()
            if MIN_WORDS <= len(words) <= MAX_WORDS:
                yield " ".join(words)


def _aligned(one: str, other: str, language: str) -> Iterator[list[str]]:
    """Title with title; and paragraph with paragraph where there are as many."""
    mine, theirs = ([" ".join(part.split()) for part in re.split(r"\n(?: \.\n)?", text)] for text in (one, other))
    yield [mine[0], language, theirs[0]]
    mine, theirs = (re.split(r"\n \.\n", text.partition("\n")[2]) for text in (one, other))
    if len(mine) == len(theirs):
        for left, right in zip(mine, theirs, strict=True):
            if MIN_WORDS <= len(left.split()) <= MAX_WORDS:
                yield [" ".join(left.split()), language, " ".join(right.split())]


def _glosses(folder: Path) -> Iterator[str]:
    """ "word, word: meaning", and each example by itself."""
    for path in sorted(folder.glob("data.*")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            if line.startswith(" ") or len(fields) < 5:
                continue
            words = [fields[4 + 2 * at].replace("_", " ") for at in range(int(fields[3], 16))]
            meaning = gloss.partition('"')[0].strip(" ;")
            yield f"{', '.join(words)}: {meaning}"
            yield from (example for example in _QUOTED.findall(gloss) if len(example.split()) >= MIN_WORDS)


def _docstrings() -> Iterator[str]:
    """First paragraphs of Python's own library."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"site-packages", "test", "tests", "lib2to3"}.intersection(path.parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                said = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
                if MIN_WORDS <= len(said.split()) <= MAX_WORDS:
                    yield said


def _messages(folder: Path) -> Iterator[tuple[str, str, str]]:
    for path in sorted(folder.rglob("*/LC_MESSAGES/*.mo")):
        language = path.parent.parent.name
        if language not in LANGUAGES or path.name.startswith("iso_"):  # names of languages and places
            continue
        with path.open("rb") as source:
            try:
                catalogue = gettext.GNUTranslations(source)._catalog  # type: ignore[attr-defined]  # there is no public way to list one
            except (OSError, UnicodeDecodeError, ValueError):
                continue
        for key, other in catalogue.items():
            one = key[0] if isinstance(key, tuple) else key
            if one and isinstance(other, str) and len(one) <= MAX_MESSAGE and " " in one and one != other:
                yield language[:2], _plain(one), _plain(other)


def _plain(message: str) -> str:
    return " ".join(_MARKUP.sub(" ", message.rpartition("\x04")[2]).split())


def _some(pairs: list[list[str]], rng: random.Random) -> list[list[str]]:
    unique = [list(pair) for pair in dict.fromkeys(tuple(pair) for pair in pairs)]
    return rng.sample(unique, min(PAIRS_A_LANGUAGE, len(unique)))


if __name__ == "__main__":
    sys.exit(main())
