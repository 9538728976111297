"""The one door for paths from outside: what may name a file below a root, and where it really leads (E3).

`check_key` judges the text alone by a whitelist; `resolve_key` also looks at the disk, so that no link, device or
hard link leads out. Between that look and a write another process may swap a folder for a link: whoever writes, or
reads what others get, does so in `disk/held_folder.py`, which is the opened folder itself and not its name.
"""

from __future__ import annotations

import os
import stat

from memdir.errors import PathEscape

MAX_COMPONENT_BYTES = 255  # the limit of every common file system
MAX_KEY_BYTES = 1024  # macOS's PATH_MAX, the shortest of our platforms
MAX_DEPTH = 16  # a memory ten folders down is a mistake or an attack

INDEX_NAME = "MEMORY.md"
TEAM_PREFIX = "team/"  # of the keys in the team's directory

_PUNCTUATION = frozenset(" ._-+()")
_FINE = _PUNCTUATION.union(chr(code) for code in range(128) if chr(code).isalnum())
_LETTERS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"))
_MARKS = frozenset(("Mn", "Mc"))
_OVERLAY = 1  # Unicode combining class of strokes drawn through a letter: a̸ looks like a slash
_UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f"  # letters and marks that nobody sees
_SELECTORS = (("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))  # nor these, of how a letter is drawn

_PORTS = tuple(f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789")
_DEVICES = frozenset(("con", "prn", "aux", "nul", "clock$", "conin$", "conout$", *_PORTS))
# Other agents load these as instructions wherever they find them: a memory must never become one.
_AGENT_FILES = (
    "claude",
    "claude.local",
    "agents",
    "agents.override",
    "gemini",
    "qwen",
    "skill",
    "copilot-instructions",
)
_INSTRUCTION_FILES = frozenset(f"{name}.md" for name in _AGENT_FILES)
_MAGIC_STEMS = frozenset(("__proto__",))
_PLAIN = frozenset(one for one in _FINE - frozenset(" .()+") if one == one.lower())
_TAKEN = frozenset((*_DEVICES, *_MAGIC_STEMS, *_AGENT_FILES, INDEX_NAME[:-3].lower()))
# Scripts that people mix inside one word; any other mixture is how look-alikes are built.
_EAST_ASIAN = frozenset(("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"))

# Thai and Lao AM: everyday vowels that NFKC splits in two, though they look like nothing else.
_WITHOUT_AM = {0x0E33: None, 0x0EB3: None}


def is_index(path: str) -> bool:
    """Whether a file is the index of its folder."""
    return path.rpartition("/")[2] == INDEX_NAME


def check_key(key: object, *, index_allowed: bool = False) -> str:
    """Return `key` if it may name a memory file ("team/db.md"); PathEscape with the reason if not."""
    if not isinstance(key, str):
        raise _refused(key, "it is not text")
    if reason := _fault_of_key(key, index_allowed=index_allowed):
        raise _refused(key, reason)
    return key


def is_key(key: str, *, index_allowed: bool = False) -> bool:
    """Whether it may name a memory file. What may not is never listed for a model, whatever lies on the disk."""
    return not _fault_of_key(key, index_allowed=index_allowed)


def resolve_key(root: str, key: object, *, index_allowed: bool = False) -> str:
    """The path below `root` that `key` names, links resolved; PathEscape if any part of it leads out.

    >>> resolve_key("/m", "../x.md")
    Traceback (most recent call last):
    memdir.errors.PathEscape: ...
    """
    return _resolved(os.path.realpath(root), check_key(key, index_allowed=index_allowed))


def resolve_found(root: str, key: str, *, is_real: bool = False) -> str:
    """The same for a key that a walk of `root` gave, to be read: people name their files as they like, so any name will
    do, but no part of it may lead out. `is_real` spares whoever reads all of them to resolve the root for each.

    >>> resolve_found("/m", "notes & ideas/../../x.md")
    Traceback (most recent call last):
    memdir.errors.PathEscape: ...
    """
    if not all(component.strip(".") and "\0" not in component for component in key.split("/")):
        raise _refused(key, "a part of it is empty or leads upwards")
    return _resolved(root if is_real else os.path.realpath(root), key)


def _resolved(real_root: str, key: str) -> str:
    current = _resolved_inside(real_root, key, key)
    _check_node(current, real_root, key)
    return current


def _resolved_inside(real_root: str, path: str, key: str) -> str:
    current = real_root
    for component in path.split("/") if path else ():
        current = os.path.join(current, component)
        if os.path.islink(current):
            current = _follow_inside(current, real_root, key)
    return current


def folder_of(root: str, key: str) -> str:
    """The folder that a key's file lies in, below the real root, after the links that stay inside it; for what is the
    team's, inside of the team's."""
    team = TEAM_PREFIX if key.startswith(TEAM_PREFIX) else ""
    real_root = os.path.realpath(os.path.join(root, team))
    found = _resolved_inside(real_root, key[len(team) :].rpartition("/")[0], key)
    inside = "" if found == real_root else os.path.relpath(found, real_root).replace(os.sep, "/")
    return (team + inside).rstrip("/")


def is_inside(path: str, root: str) -> bool:
    """Whether `path`, links resolved, lies strictly below `root`."""
    real_root = os.path.realpath(root)
    return os.path.realpath(path).startswith(real_root.rstrip(os.sep) + os.sep)


def has_link_below(root: str, path: str) -> bool:
    """Whether a part of `path` below `root` is a link: those of a stranger's folder are not followed anywhere."""
    current = root
    for component in os.path.relpath(path, root).split(os.sep):
        current = os.path.join(current, component)
        if os.path.islink(current):
            return True
    return False


def _refused(
    key: object, reason: str, remedy: str = 'Use letters, digits, spaces and . _ - + ( ), ending in ".md"'
) -> PathEscape:
    shown = ascii(key) if len(ascii(key)) <= 80 else ascii(key)[:77] + "..."
    return PathEscape(f"the file name {shown} is refused: {reason}", remedy=remedy)


def _fault_of_key(key: str, *, index_allowed: bool) -> str:
    stem = key[:-3]
    if _PLAIN.issuperset(stem) and key[-3:] == ".md" and 0 < len(stem) < 100 and stem not in _TAKEN and stem[0] != "-":
        return ""  # as most: what is looked at below finds nothing in such a name
    try:
        size = len(key) if key.isascii() else len(key.encode("utf-8"))
    except UnicodeEncodeError:
        return "it holds half a character (a lone surrogate)"
    if size > MAX_KEY_BYTES:
        return f"it is longer than {MAX_KEY_BYTES} bytes"
    components = key.split("/")
    if len(components) > MAX_DEPTH:
        return f"it is more than {MAX_DEPTH} folders deep"
    for component in components:
        if fault := _fault_of_component(component):
            return fault
    return _fault_of_name(components[-1], index_allowed=index_allowed)


def _fault_of_component(component: str) -> str:
    if not component:
        return "it is absolute, or has an empty part"
    if component[0] in ".-":
        return "a part of it starts with a dot or a dash"
    is_ascii = component.isascii()
    if component != component.strip() or component[-1] == ".":
        return "a part of it starts or ends with a space, or ends with a dot"
    if (len(component) if is_ascii else len(component.encode("utf-8"))) > MAX_COMPONENT_BYTES:
        return f"a part of it is longer than {MAX_COMPONENT_BYTES} bytes"
    if not is_ascii and not _is_normal_form(component):
        return "it changes when Unicode is normalised, so it can pass for another name"
    stem = component.partition(".")[0].rstrip().casefold()
    if stem in _DEVICES:
        return "a part of it is a device name on Windows"
    if stem in _MAGIC_STEMS:
        return "a part of it is a magic key in other languages"
    return "" if is_ascii and _FINE.issuperset(component) else _fault_of_characters(component)


def can_pass_for_another(name: str) -> bool:
    """Whether a name looks like one that it is not, by the rule for the parts of a key."""
    return not _is_normal_form(name) or bool(_fault_of_characters(name))


def _is_normal_form(component: str) -> bool:
    import unicodedata

    letters = component.translate(_WITHOUT_AM)
    return unicodedata.normalize("NFKC", letters) == letters and unicodedata.normalize("NFC", component) == component


def _fault_of_characters(component: str) -> str:
    import unicodedata

    scripts: set[str] = set()
    before = " "
    for character in component:
        last, before = before, character
        if character in _PUNCTUATION:
            scripts.clear()  # a new word: "деплой_api.md" is honest, "dеploy.md" with a Cyrillic е is not
        elif character.isascii():
            if not character.isalnum():
                return f"it holds {character!a}"
            if character.isalpha():
                scripts.add("LATIN")
        else:
            category = unicodedata.category(character)
            is_unseen = character in _UNSEEN or any(low <= character <= high for low, high in _SELECTORS)
            is_drawn = unicodedata.combining(character) != _OVERLAY and not is_unseen
            if category in _MARKS and is_drawn and last not in _PUNCTUATION:
                continue  # it belongs to the letter before it
            if category not in _LETTERS or not is_drawn:
                return f"it holds {character!a}"
            if category != "Nd":
                scripts.add(unicodedata.name(character, "UNKNOWN").split(" ", 1)[0])
        if len(scripts) > 1 and not scripts - {"LATIN"} <= _EAST_ASIAN:
            return "a word in it mixes alphabets, so it can pass for another name"
    return ""


def _fault_of_name(name: str, *, index_allowed: bool) -> str:
    if not name.endswith(".md") or name == ".md":
        return 'it does not end in ".md"'
    if index_allowed and name == INDEX_NAME:
        return ""
    plain = name.casefold().replace(" ", "")
    if plain == INDEX_NAME.casefold():
        return "that is the index"
    if plain in _INSTRUCTION_FILES:
        return "other agents load a file of that name as instructions"
    return ""


def _follow_inside(link: str, real_root: str, key: str) -> str:
    try:
        target = os.path.realpath(link, strict=True)
    except OSError:
        raise _refused(key, "a link in it leads nowhere or in a circle", "Remove the link") from None
    if target != real_root and not target.startswith(real_root + os.sep):
        raise _refused(key, "a link in it leads out of the memory directory", "Remove the link")
    return target


def _check_node(path: str, real_root: str, key: str) -> None:
    ancestor = os.path.dirname(path)
    while len(ancestor) > len(real_root):
        if os.path.lexists(ancestor) and not os.path.isdir(ancestor):
            raise _refused(key, "a part of it is a file, not a folder", "Choose another name")
        ancestor = os.path.dirname(ancestor)
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refused(key, os.strerror(error.errno or 0)) from None
    if not stat.S_ISREG(status.st_mode):
        raise _refused(key, "something that is not a plain file stands there", "Move it away, or choose another name")
    if status.st_nlink > 1:
        raise _refused(key, "the file there has a second name (a hard link)", "Put a copy in its place")
