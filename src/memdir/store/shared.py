"""What may lie in the team's directory (E1, E2), and what is known of the memories there: who saved which text when.

The note is written by a sync and read wherever a memory of the team is shown. It may be deleted: the next sync makes it
again, and until then nobody knows who wrote what.
"""

from __future__ import annotations

from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode, encode
from memdir.errors import BadMemoryFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memdir.layout import Place

MAX_KNOWN_BYTES = 128 << 20  # a few hundred bytes a memory, and four times what long names may make of it
MAX_MEMBER = 64  # characters of a member's name
SOMEBODY = "somebody"  # whose name cannot be told
TURN_ON = "`memdir join` a team, or `memdir config set team.enabled true --layer local` for this project without one"
_MAX_NOTE_BYTES = 1 << 20
_OFFLINE_SECONDS = 86_400.0  # a day without a network is a usual one
STAYS_PRIVATE = (
    "Keep it in the scope user or project; what the team should know is of type feedback, project or reference"
)
_FENCE, _HEAD = "---", r"---(?s:.*?)\n---[ \t\r]*(?:\n|$)"
_SHARED_TYPES = frozenset(("feedback", "project", "reference"))
# A line, or a part of one in braces, that gives a type, quoted, tagged or nested; and a key that only YAML can read.
_TELLS_TYPE = r"""(?:^(?:---)?[\s\-?{]*|[{,]\s*)(?:[!&]\S*\s+)*["']?type["']?\s*(?::|$)([^,}]*)"""
_ESCAPED_KEY = r"""[\s\-?{]*"[^"]*\\[^"]*"\s*:"""
_SIGNS = frozenset(" ._-+@'")  # beside letters and digits


def refuse_private(key: str, data: bytes, *, has_team: bool) -> None:
    """An error where a file may not be written into the team's directory: it is off, or the memory is about a person,
    and stays with that person whoever writes it (E2, T1)."""
    from memdir.disk.safe_path import is_index

    if not has_team:
        raise BadMemoryFile(f"{key} is the team's, and team memory is off", remedy=TURN_ON)
    if not is_index(key) and (why := why_private(data)):
        raise BadMemoryFile(f"{key} cannot be the team's: {why}", remedy=STAYS_PRIVATE)


def why_private(data: bytes) -> str:
    """Why a memory never leaves its person: it says that it is about one, or says so in a way that others might read
    and we do not: what is doubtful stays at home. Empty for one that says nothing of its type, or one plain type."""
    import re
    from unicodedata import category, normalize

    from memdir.store.topic import MemoryType, Topic

    text = data.lstrip(b"\xef\xbb\xbf \t\r\n").decode("utf-8", "replace")
    text = text if "\n" in text else text.replace("\r", "\n")
    text = head[0] if (head := re.match(_HEAD, text)) else text  # the rest is long, and tells nothing
    if not text.isascii():
        text = "".join(c for c in normalize("NFKC", text) if category(c) not in ("Cf", "Mn")).lstrip()
    lines = text.casefold().splitlines() if text.startswith(_FENCE) else []
    told = {value for line in lines if "type" in line for value in re.findall(_TELLS_TYPE, line)}
    types = {value.partition(" #")[0].strip().strip("\"'").strip() for value in told}
    if types == {"user"} or Topic(data).kind is MemoryType.USER:
        return "it is about a person, and those are always private"
    if not told and not any(re.match(_ESCAPED_KEY, line) for line in lines):
        return ""
    is_plain = len(types) == 1 and types < _SHARED_TYPES
    return "" if is_plain else "its type is not plainly one that is shared, and what is doubtful is always private"


def fault_of_member(name: str) -> str:
    """Why a text is no name that teammates and their models may be shown; empty for one that is (L3, E5)."""
    from memdir.disk.safe_path import can_pass_for_another
    from memdir.layout import nfc
    from memdir.store.secrets import find_secrets

    if not name or nfc(name) != safe_member(name):
        return f"a name is up to {MAX_MEMBER} letters, digits and any of . _ - + @ '"
    if can_pass_for_another(name.translate(dict.fromkeys(map(ord, "@'"), " "))):
        return "that name can pass for another: a word in it mixes alphabets, or has letters in another dress"
    return "that name reads like a secret" if find_secrets(name) else ""


def safe_member(name: str) -> str:
    """What somebody calls themselves, as a name and nothing else: what no name has in it is left out."""
    from unicodedata import category

    from memdir.layout import nfc

    plain = "".join(c for c in nfc(name) if c in _SIGNS or c.isalnum() or category(c) in ("Mn", "Mc"))
    first = next((at for at, c in enumerate(plain) if c.isalnum()), len(plain))
    return plain[first:][:MAX_MEMBER].strip()


def told_member(name: str) -> str:
    """The same of a name that came from others: one that holds a secret is not told either."""
    from memdir.store.secrets import find_secrets

    return safe_member(name) if not find_secrets(name) and not find_secrets(safe_member(name)) else SOMEBODY


def remote_of_note(place: Place) -> str:
    """The remote whose memories lie in `team/`, as its last sync or join noted it; empty where there was none."""
    remote = note_of_team(place).get("remote")
    return remote if isinstance(remote, str) else ""


def note_of_team(place: Place) -> dict[str, object]:
    """The note as it stands; empty where there is none that can be read."""
    found = decode(read_if_plain(place.known_of_team, MAX_KNOWN_BYTES) or b"")
    return found if isinstance(found, dict) else {}


class Failure:
    """Why nothing gets through to the team, and since when: noted until a sync succeeds."""

    def __init__(self, since: float, reason: str, problem: str, *, is_told: bool = False) -> None:
        self.since = since  # seconds since the epoch
        self.reason = reason  # offline, not_allowed, rate or broken
        self.problem = problem
        self.is_told = is_told  # whether a session has begun with it

    @staticmethod
    def load(place: Place) -> Failure | None:
        found = _read(place.team_failure)
        since, reason, problem = (found.get(name) for name in ("since", "reason", "problem"))
        if not isinstance(since, int | float) or not isinstance(reason, str) or not isinstance(problem, str):
            return None
        return Failure(since, reason, problem, is_told=found.get("told") is True)

    def is_news(self, now: float) -> bool:
        """Whether a session should begin with it: once, and a short time without a network is nothing to tell."""
        return not self.is_told and (self.reason != "offline" or now - self.since > _OFFLINE_SECONDS)

    def told(self, now: float) -> str:
        """In a line: since when, and why."""
        from memdir.store.scan import age_words
        from memdir.text.printable import one_line

        return f"Syncs with the team fail (first {age_words(self.since, now)}): {one_line(self.problem)}"

    def save(self, place: Place) -> None:
        told = {"since": self.since, "reason": self.reason, "problem": self.problem, "told": self.is_told}
        _write(place.team_failure, told)


def note_outcome(place: Place, reason: str, problem: str, now: float) -> None:
    """Note how a sync ended: what it fails by now, and since when; nothing where it got through."""
    before = Failure.load(place)
    if problem and (before is None or (before.reason, before.problem) != (reason, problem)):
        is_told = before is not None and before.is_told and before.reason == reason
        Failure(before.since if before else now, reason, problem, is_told=is_told).save(place)
    elif not problem and before:
        from memdir.disk.atomic import delete_file

        delete_file(place.team_failure)


def purge_noted(place: Place) -> tuple[list[str], dict[str, str]]:
    """The memories that lost what a purged member wrote, and those that may hold some, with whose: in syncs that nobody
    waited for, until somebody is told."""
    found = _read(place.purges_of_team)
    removed, held = found.get("removed"), found.get("held")
    return removed if isinstance(removed, list) else [], held if isinstance(held, dict) else {}


def note_purge(place: Place, removed: Sequence[str], held: Mapping[str, str]) -> None:
    if removed or held or purge_noted(place) != ([], {}):
        _write(place.purges_of_team, {"removed": removed, "held": held})


def _read(path: str) -> dict[str, object]:
    found = decode(read_if_plain(path, _MAX_NOTE_BYTES) or b"")
    return found if isinstance(found, dict) else {}


def _write(path: str, told: Mapping[str, object]) -> None:
    from memdir.disk.atomic import keep_bytes

    keep_bytes(path, encode(told).encode("utf-8", "replace"), durably=False)


def author_of(place: Place, key: str) -> str:
    """Who of the team saved a memory last, by its key below `team/`; empty where nobody knows."""
    return TeamAuthors(place, "team").by(key) or ""


def proposals_noted(place: Place) -> int:
    """How many changes of the team's nightly dream waited for a yes or no when the remote was last asked."""
    told = read_if_plain(place.proposals_of_team, 20) or b""
    return int(told) if told.isdigit() else 0


def proposals_told(count: int) -> str:
    """That some wait, and where one says it; empty where none does."""
    waiting = f"{count} change{'s' * (count > 1)} of the team's nightly dream"
    return f"{waiting}: `memdir review` shows and asks" if count else ""


class TeamAuthors:
    """Who of the team wrote what, for people and programs that look at the memories of a scope."""

    def __init__(self, place: Place, scope: str) -> None:
        self._place = place
        self._prefix = {"project": "team/", "team": ""}.get(scope)
        self._memories: object = None  # the note, once it was read

    def by(self, key: str) -> str | None:
        """The author of a memory of the team's, empty where nobody knows; None for what is not the team's."""
        if self._prefix is None or not key.startswith(self._prefix):
            return None
        self._memories = note_of_team(self._place).get("memories", {}) if self._memories is None else self._memories
        told = self._memories.get(key.removeprefix(self._prefix)) if isinstance(self._memories, dict) else None
        author = told.get("author") if isinstance(told, dict) else None
        return safe_member(author) if isinstance(author, str) else ""

    def told(self, key: str, form: str = "{}") -> str:
        """In words; empty for what is not the team's."""
        author = self.by(key)
        return form.format(f"from the team, by {author}" if author else "from the team") if author is not None else ""

    def plain(self, key: str) -> dict[str, object]:
        """For programs: whether it is the team's, and by whom."""
        return {"ofTeam": self.by(key) is not None, "by": self.by(key) or None}

    def of(self, keys: Sequence[str]) -> dict[str, str | None]:
        """Of those that are the team's: by whom."""
        return {key: self.by(key) or None for key in keys if self.by(key) is not None}
