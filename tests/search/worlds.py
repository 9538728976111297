"""Two small memory directories of our own with labelled messages, for tests of ranking and deciding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memdir.search.document import Document, index_documents
from memdir.search.segment import Segment
from memdir.search.segment_writer import pack

if TYPE_CHECKING:
    from memdir.search.vectors import Encoder

NOW_DAY = 739_800  # 2026-07-02


def memory(key: str, kind: str, title: str, description: str, body: str = "") -> Document:
    return Document(key, kind=kind, title=title, description=description, body=body, mtime_ns=1, size=len(body))


BAKERY = [
    memory(
        "real_oven.md",
        "feedback",
        "Tests use the real oven API",
        "Integration tests talk to the staging oven, never to mocks",
    ),
    memory(
        "invoice_tool.md",
        "reference",
        "invo: usage",
        "invo command line: flags, output formats and how to list invoices",
    ),
    memory(
        "invoice_traps.md",
        "feedback",
        "invo: traps",
        "invo warnings: void silently deletes the PDF unless --keep is given",
    ),
    memory(
        "freeze.md", "project", "Easter freeze", "No releases from 2026-07-10 to 2026-07-20 because of the summer sale"
    ),
    memory(
        "colours.md", "user", "Colour-blind", "Ines is red-green colour-blind; charts need markers and a safe palette"
    ),
    memory("dashboard.md", "reference", "Where the numbers are", "Sales dashboards live in Grafana, folder Bakery"),
    memory(
        "money.md",
        "feedback",
        "Money as integers",
        "Prices are integer cents with a currency code; floats are refused in review",
    ),
    memory(
        "suppliers.md",
        "project",
        "Flour supplier",
        "The flour supplier changes to Mulino Rossi; the EDI format is theirs",
    ),
    memory(
        "commits.md",
        "feedback",
        "Commit messages",
        "Commit subjects are imperative and end with the OVEN ticket number",
    ),
    memory("hours.md", "user", "Working hours", "Ines starts at five in the morning and is away after two"),
]


def segment_of(documents: list[Document], encoder: Encoder) -> Segment:
    return Segment(pack(index_documents(documents, encoder), encoder.identity, encoder.dimensions))
