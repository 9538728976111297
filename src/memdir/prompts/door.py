"""The one door for text that others wrote into what a model reads (S15): a file, a page, a project, a tool, a name.

Unprintable signs are dropped, tags of hosts told in words, lines quoted that look like ours or like another speaker.
What nobody here vouched for is quoted whole, line by line (L3). Our own prose needs no door; a conversation that the
host's model has seen is sent as it was (G1).
"""

from __future__ import annotations

import re

from memdir.text.lookalikes import defused
from memdir.text.printable import one_line, printable

MAX_NAME = 200  # characters of a name or path in a sentence; longer ones are no names

# Line beginnings with which we, or a chat format, introduce what follows: a text that has one must not speak for us.
_FORGED = (
    r"^(?=[ \t]*(?:"
    r"(?:#{1,6} ?|\*\*)?(?:Human|HUMAN|Assistant|ASSISTANT|System|SYSTEM|User|USER|Developer)(?:\*\*)? ?:"
    r"|#{1,6} ?(?:Instructions?|Response|Input|System|Conversation|Tools)\b ?:?[ \t]*$"
    r"|Memory(?: \(saved [^)\n]*\))?: |Contents of [^\n]*:[ \t]*$|\[memdir job"
    r"|This memory (?:is \d|names \d)|Named in it and not|\(This (?:came from|is from) "
    r"|(?:Private |Team )?[Mm]emories(?:, newest first| that are there already):|Sessions since the last"
    r"))"
)
# Every such line holds one of these: a text without needs no look line by line, which costs a hook more than all else.
_MAY_BE_FORGED = (
    *("uman", "HUMAN", "ssistant", "ASSISTANT", "ystem", "SYSTEM", "User", "USER", "Developer", "nstruction"),
    *("Response", "Input", "Conversation", "Tools", "Memory", "Contents of", "[memdir job", "This memory"),
    *("Named in it", "(This ", "emories", "Sessions since"),
)


def shown(text: str) -> str:
    """A text of several lines as a model may read it; what is harmless in it comes through as it is."""
    safe = defused(printable(text))
    if not any(words in safe for words in _MAY_BE_FORGED):
        return safe
    return re.sub(_FORGED, "> ", safe, flags=re.MULTILINE)


def shown_line(text: str, *, room: int = 0) -> str:
    """The same for a name, a path or a description: one line, cut where it is longer than `room`."""
    line = one_line(text)
    return defused(f"{line[:room].rstrip()}…" if 0 < room < len(line) else line)


def quoted_line(text: str, *, room: int = 0) -> str:
    """The same between quotation marks that it cannot end: a name that somebody else chose is no word of ours (L3)."""
    line = shown_line(text, room=room).replace('"', "'")
    return f'"{line}"'


def quoted(text: str) -> str:
    """The same as a quotation: material to weigh, not words to obey (L3)."""
    return "\n".join([f"> {line}" for line in defused(printable(text)).split("\n")])
