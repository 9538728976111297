"""Edits a settings file of somebody else's as text: comments, order, spaces and what we do not know stay as they are.

JSON as the hosts read it: comments and a comma before a closing bracket are understood, and told, since some hosts
ignore a file that has them. Of a name that stands twice the last holds; the others are kept under names of their own,
and nothing is put into such a file, since hosts may differ there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from memdir.errors import BadMemoryFile

MAX_DEPTH = 200
_SPACE = re.compile(r"[ \t\r\n\ufeff]+")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_BLANK = " \t\r\n"
_LINE_END = re.compile(r"[ \t\r]*\n")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_AGAIN = "\0"  # behind a name that stands once more further on
Path = tuple[str | int, ...]


@dataclass
class JsonNode:
    """A value, where it stands in the text, and what it holds."""

    start: int
    end: int = 0
    key_start: int = -1  # of a member: where its key begins
    value: Any = None
    bracket: str = ""
    known: dict[str | int, JsonNode] | None = None  # its children, once they were looked for

    @property
    def begin(self) -> int:
        return self.key_start if self.key_start >= 0 else self.start


class JsonText:
    """A text and what stands where in it. Each edit gives a new one."""

    def __init__(self, text: str, name: str = "the file") -> None:
        self.text, self.name = text, name
        self.has_comments = self.has_trailing_comma = False
        self._comment_ends: set[int] = set()  # of those that go on to the end of their line
        self.twice = ""  # what stands more than once, and in which line
        self._at = 0
        self._is_plain = _is_plain(text)  # then only what is asked for is read piece by piece
        self._skip()
        if self._at == len(text):
            self.root = JsonNode(self._at, self._at, value=None)
            return
        self.root = self._read(0)
        self._skip()
        if self._at != len(text):
            raise self._fault("something stands behind its end")

    @property
    def value(self) -> Any:
        return self.root.value

    def get(self, *path: str | int) -> Any:
        """What stands at a path; None where nothing does."""
        node = self._node(path)
        return node.value if node else None

    def with_member(self, path: Sequence[str], key: str, value: object) -> JsonText:
        """The same with a member, in the place of one of that name or behind the others; makes what is missing."""
        if not self.text.strip("\ufeff \t\r\n"):
            return JsonText(self.text.rstrip() + "{}\n", self.name).with_member(path, key, value)

        def put(parent: Any) -> None:
            for part in path:
                parent[part] = copy(parent.get(part, {}))
                parent = parent[part]
            parent[key] = value

        for at in range(len(path)):
            if self._node(path[: at + 1]) is None:
                made = value
                for name in reversed([*path[at + 1 :], key]):
                    made = {name: made}
                text = self._appended(self._container(path[:at], "{"), f"{json.dumps(path[at])}: ", made)
                return self._meant(text, (), put)
        parent = self._container(path, "{")
        if key in self._children(parent):
            return self.with_value([*path, key], value)
        text = self._appended(parent, f"{json.dumps(key)}: ", value)
        return self._meant(text, (), put)

    def with_item(self, path: Sequence[str], value: object) -> JsonText:
        """The same with an item behind the others of a list, which is made where there is none."""
        if self._node(path) is None:
            return self.with_member(path[:-1], path[-1], [value])
        text = self._appended(self._container(path, "["), "", value)
        return self._meant(text, path, lambda parent: parent.append(value))

    def with_value(self, path: Sequence[str | int], value: object) -> JsonText:
        """The same with another value in the place of the one at a path."""
        node = self._node(path)
        if node is None:
            return self
        drawn = self._drawn(value, self._indent_of(node.begin))
        text = self.text[: node.start] + drawn + self.text[node.end :]
        return self._meant(text, path[:-1], lambda parent: parent.__setitem__(path[-1], value))

    def without(self, path: Sequence[str | int]) -> JsonText:
        """The same without what stands at a path."""
        parent, node = self._node(path[:-1]), self._node(path)
        if parent is None or node is None:
            return self
        children = list(self._children(parent).values())
        at = next(place for place, child in enumerate(children) if child is node)
        start, end = len(self.text[: node.begin].rstrip(_BLANK)), node.end
        cut = [(start, end)]
        after = self._comma_after(node)
        if at < len(children) - 1:
            following = children[at + 1].begin
            cut = [(node.begin, after + 1 if self.text[after + 1 : following].strip() else following)]
        elif after >= 0:  # with the comma that its owner writes behind the last, too
            cut = [(start, after + 1)]
        elif at > 0:
            comma = self._comma_after(children[at - 1])
            cut = [(comma, comma + 1), (start, end)]
        is_behind_comment = cut[-1][0] in self._comment_ends
        if is_behind_comment and not _LINE_END.match(self.text, cut[-1][1]):
            cut[-1] = (node.begin, cut[-1][1])  # else what follows would become part of the comment
        elif not is_behind_comment and len(children) == 1 and not self.text[cut[-1][1] : parent.end - 1].strip():
            cut[-1] = (cut[-1][0], parent.end - 1)
        text = self.text
        for first, last in sorted(cut, reverse=True):
            text = text[:first] + text[last:]
        return self._meant(text, path[:-1], lambda parent: parent.__delitem__(path[-1]))

    def paths(self, is_wanted: Callable[[Path, Any], bool], under: str = "") -> list[Path]:
        """The paths at which something wanted stands, the last first, so that cutting one moves no other; of all, or of
        what stands under a name, each time that it does."""
        found = reversed(list(self._walk((), self.root, under)))
        return [path for path, node in found if is_wanted(path, node.value)]

    def _walk(self, path: Path, node: JsonNode, under: str = "") -> Iterator[tuple[Path, JsonNode]]:
        yield path, node
        for key, child in self._children(node).items():
            if not under or plain_name(key) == under:
                yield from self._walk((*path, key), child)

    # Reading

    def _node(self, path: Sequence[str | int]) -> JsonNode | None:
        node: JsonNode | None = self.root
        for part in path:
            node = self._children(node).get(part) if node else None
        return node

    def _children(self, node: JsonNode) -> dict[str | int, JsonNode]:
        if node.known is None and node.bracket:
            self._at = node.start
            self._read_children(node, 0)
        return node.known or {}

    def _container(self, path: Sequence[str | int], bracket: str) -> JsonNode:
        node = self._node(path)
        if node is None or node.bracket != bracket:
            what = "an object" if bracket == "{" else "a list"
            where = ".".join(map(str, path)) or "the whole"
            raise BadMemoryFile(f"{self.name}: {where} is not {what}", remedy="Repair it by hand, then try again")
        return node

    def _read(self, depth: int) -> JsonNode:
        if depth > MAX_DEPTH:
            raise self._fault("it is nested too deeply")
        node = JsonNode(self._at)
        sign = self.text[self._at : self._at + 1]
        node.bracket = sign if sign in ("{", "[") else ""
        if self._is_plain:
            try:
                node.value, self._at = _PLAIN.raw_decode(self.text, self._at)
            except RecursionError:  # from further down in the program than before
                raise self._fault("it is nested too deeply") from None
        elif node.bracket:
            self._read_children(node, depth)
        else:
            found = _STRING.match(self.text, self._at) or _SCALAR.match(self.text, self._at)
            if not found:
                raise self._fault(f"{sign!r} is unexpected" if sign else "it ends too early")
            node.value = self._scalar(found.group())
            self._at = found.end()
        node.end = self._at
        return node

    def _read_children(self, node: JsonNode, depth: int) -> None:
        closing = "}" if node.bracket == "{" else "]"
        found: list[tuple[str | int, JsonNode]] = []
        self._at += 1
        self._skip()
        while self.text[self._at : self._at + 1] != closing:
            key: str | int = len(found)
            key_start = -1
            if closing == "}":
                name = _STRING.match(self.text, self._at)
                if not name:
                    raise self._fault("a name is missing")
                key, key_start, self._at = self._scalar(name.group()), self._at, name.end()
                self._skip()
                self._expect(":")
            child = self._read(depth + 1)
            child.key_start = key_start
            found.append((key, child))
            self._skip()
            if self.text[self._at : self._at + 1] == closing:
                break
            self._expect(",")
            self.has_trailing_comma |= self.text[self._at : self._at + 1] == closing
        self._at += 1
        node.known = self._named(found)
        values = {key: child.value for key, child in node.known.items()}
        node.value = values if closing == "}" else list(values.values())

    def _named(self, found: Sequence[tuple[str | int, JsonNode]]) -> dict[str | int, JsonNode]:
        """Children by their names, in their order."""
        times = Counter(key for key, _ in found)
        named: dict[str | int, JsonNode] = {}
        for key, child in found:
            times[key] -= 1
            if times[key]:
                self.twice = self.twice or f"{key!r} stands twice, once in line {self._line(child.begin)}"
            named[f"{key}{_AGAIN}{times[key]}" if times[key] else key] = child
        return named

    def _scalar(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise self._fault("a text in it is broken") from None

    def _expect(self, sign: str) -> None:
        if self.text[self._at : self._at + 1] != sign:
            raise self._fault(f"a {sign!r} is missing")
        self._at += 1
        self._skip()

    def _skip(self) -> None:
        while True:
            space = _SPACE.match(self.text, self._at)
            if space:
                self._at = space.end()
            comment = _COMMENT.match(self.text, self._at)
            if not comment:
                return
            self.has_comments = True
            self._at = comment.end()
            if comment[0].startswith("//"):
                self._comment_ends.add(len(self.text[: self._at].rstrip(" \t\r")))

    def _fault(self, what: str) -> BadMemoryFile:
        told = f"{self.name} is no JSON: {what} in line {self._line(self._at)}"
        return BadMemoryFile(told, remedy="Repair it, then try again")

    def _line(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1

    # Writing

    def _meant(self, text: str, path: Sequence[str | int], change: Callable[[Any], object]) -> JsonText:
        """The text after an edit, if it says what was meant, and nothing else changed: a file has more forms than one
        thinks of, and what a host does not see is no hook."""
        meant = parent = copy(self.value)
        for part in path:
            parent[part] = copy(parent[part])
            parent = parent[part]
        change(parent)
        try:
            after = JsonText(text, self.name)
            is_meant = bool(after.value == meant)
        except (BadMemoryFile, RecursionError):
            is_meant = False
        if not is_meant:
            told = f"{self.name}: {'.'.join(map(str, path)) or 'the whole'} cannot be changed without harm to the rest"
            raise BadMemoryFile(told, remedy="Write each entry on lines of its own, then try again")
        return after

    def require_once(self) -> None:
        """Not to be written into: what says two things by one name."""
        if self.twice:
            told = f"{self.name}: {self.twice}, and programs differ in which they take"
            raise BadMemoryFile(told, remedy="Delete one of the two there, then try again")

    def _appended(self, parent: JsonNode, label: str, value: object) -> str:
        self.require_once()
        children = list(self._children(parent).values())
        closing = parent.end - 1
        if not children:
            outer = self._indent_of(parent.start)
            inner = outer + self._unit()
            drawn = f"{self._newline()}{inner}{label}{self._drawn(value, inner)}{self._newline()}{outer}"
            inside = self.text[parent.start + 1 : closing]
            keep = inside.rstrip() if inside.strip() else ""
            return self.text[: parent.start + 1] + keep + drawn + self.text[closing:]
        last = children[-1]
        is_one_line = "\n" not in self.text[parent.start : children[0].begin]
        comma = self._comma_after(last)
        place = len(self.text[:closing].rstrip(_BLANK))
        if is_one_line and place not in self._comment_ends:
            new = f" {label}{json.dumps(value, ensure_ascii=False)}"
        else:
            indent = self._indent_of(children[0].begin) + (self._unit() if is_one_line else "")
            new = f"{self._newline()}{indent}{label}{self._drawn(value, indent)}"
        text = self.text[:place] + new + ("," if comma >= 0 else "") + self.text[place:]
        if comma < 0:
            text = text[: last.end] + "," + text[last.end :]
        return text

    def _drawn(self, value: object, indent: str) -> str:
        text = json.dumps(value, indent=self._unit(), ensure_ascii=False)
        return text.replace("\n", self._newline() + indent)

    def _unit(self) -> str:
        first = re.search(r"\n([ \t]+)\S", self.text)
        return first.group(1) if first else "  "

    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _indent_of(self, place: int) -> str:
        line = self.text[self.text.rfind("\n", 0, place) + 1 : place]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _comma_after(self, node: JsonNode) -> int:
        """Where the comma behind a value stands; -1 where there is none."""
        at = node.end
        while True:
            trivia = _SPACE.match(self.text, at) or _COMMENT.match(self.text, at)
            if not trivia:
                return at if self.text[at : at + 1] == "," else -1
            at = trivia.end()


def plain_name(key: str | int) -> str:
    """A name as it stands in the text, also where it does so twice."""
    return str(key).partition(_AGAIN)[0]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


_PLAIN = json.JSONDecoder(object_pairs_hook=_once, parse_constant=int)  # which takes no `NaN`


def _is_plain(text: str) -> bool:
    """Whether a text is JSON and no more than that."""
    try:
        _PLAIN.decode(text)
    except (ValueError, RecursionError):
        return False
    return True
