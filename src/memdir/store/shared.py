"""What may lie in the team's directory (E1, E2), and what is known of the memories there: who saved which text when.

The note is written by a sync and read wherever a memory of the team is shown. It may be deleted: the next sync makes it
again, and until then nobody knows who wrote what.
"""

from __future__ import annotations

from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode
from memdir.errors import BadMemoryFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.layout import Place

MAX_KNOWN_BYTES = 16 << 20  # a few hundred bytes a memory
TURN_ON = "`memdir join` a team, or `memdir config set team.enabled true`"


def refuse_private(key: str, data: bytes, *, has_team: bool) -> None:
    """An error where a file may not be written into the team's directory: it is off, or the memory is about a person,
    and stays with that person whoever writes it (E2, T1)."""
    from memdir.disk.safe_path import is_index

    if not has_team:
        raise BadMemoryFile(f"{key} would be the team's, and team memory is off", remedy=TURN_ON)
    if not is_index(key) and is_private(data):
        raise BadMemoryFile(
            f"{key} is about a person, and such memories are always private",
            remedy="Keep it in the scope user or project; what the whole team should know has another type",
        )


def is_private(data: bytes) -> bool:
    """Whether a memory is of the type that never leaves its person."""
    from memdir.store.taxonomy import MemoryType, parse_type
    from memdir.store.topic import Topic

    fields = Topic(data).fields.items()  # however it is spelled: what is doubtful stays at home
    told = (value.partition(" #")[0].strip().strip("\"'") for name, value in fields if name.strip().lower() == "type")
    return any(parse_type(value) is MemoryType.USER for value in told)


def known_of_team(place: Place) -> dict[str, dict[str, object]]:
    """The note as it stands: by key, what was last seen of a memory; empty where there is none that can be read."""
    found = decode(read_if_plain(place.known_of_team, MAX_KNOWN_BYTES) or b"")
    told = found.get("memories") if isinstance(found, dict) else None
    return {key: one for key, one in told.items() if isinstance(one, dict)} if isinstance(told, dict) else {}


def author_of(place: Place, key: str) -> str:
    """Who of the team saved a memory last, by its key below `team/`; empty where nobody knows."""
    author = known_of_team(place).get(key, {}).get("author")
    return author if isinstance(author, str) else ""


def proposals_noted(place: Place) -> int:
    """How many changes of the team's nightly dream waited for a yes or no when the remote was last asked."""
    told = read_if_plain(place.proposals_of_team, 20) or b""
    return int(told) if told.isdigit() else 0


def proposals_told(count: int) -> str:
    """That some wait, and where one says it; empty where none does."""
    waiting = f"{count} change{'s' * (count > 1)} of the team's nightly dream"
    return f"{waiting}: `memdir review` shows and asks" if count else ""
