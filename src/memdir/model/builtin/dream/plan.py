"""One night: secrets out, dates absolute, twins merged, evidence weighed, indexes rebuilt. Pure: no disk, no clock."""

from __future__ import annotations

from memdir.disk.safe_path import INDEX_NAME
from memdir.model.builtin.dream.catalogue import Catalogue
from memdir.model.builtin.dream.cues import Cues
from memdir.model.builtin.dream.dates import Calendar
from memdir.model.builtin.dream.desk import Desk
from memdir.model.builtin.dream.evidence import Reader
from memdir.model.builtin.dream.mend_dates import mend_dates
from memdir.model.builtin.dream.night import Night, NightFile, Plan, SessionText
from memdir.model.builtin.dream.page import TEAM, is_index, log_day
from memdir.model.builtin.dream.phrases import Phrases
from memdir.model.builtin.dream.pointers import mend_pointers
from memdir.model.builtin.dream.said import statements
from memdir.model.builtin.dream.secrets import mend_secrets
from memdir.model.builtin.dream.settle import Settling
from memdir.model.builtin.dream.testimony import Testimony
from memdir.model.builtin.dream.values import Values
from memdir.model.builtin.dream.words import Lexicon


def plan_night(night: Night) -> Plan:
    """What to change in this memory directory, and what was left alone. The same night gives the same plan."""
    desk = Desk(night)
    values, phrases, calendar = Values(), Phrases(), Calendar()
    reader = Reader(Lexicon(), values, Cues(values), phrases, calendar)
    mend_secrets(desk)
    undated = mend_dates(desk, calendar, phrases, night.now.tzinfo)
    indexes = _catalogues(desk, night)
    mend_pointers(desk, [key for index in indexes for key in index.dead()])
    Settling(desk, reader, night.now, undated).run()
    testimony = Testimony(desk, reader, night.now, undated)
    for statement in statements(_sessions(night), _logs(night), phrases, night.now.tzinfo):
        testimony.take(statement)
    Settling(desk, reader, night.now, undated).run()
    for index in indexes:
        index.unload()
    for index in _catalogues(desk, night):
        index.rebuild()
    return Plan(desk.edits(), tuple(desk.doubts))


def _sessions(night: Night) -> tuple[SessionText, ...]:
    since = night.since.timestamp() if night.since else None
    return tuple(item for item in night.sessions if since is None or item.mtime > since)


def _logs(night: Night) -> list[NightFile]:
    since = night.since.timestamp() if night.since else None
    return [file for file in night.files if log_day(file.key) and (since is None or file.mtime > since)]


def _catalogues(desk: Desk, night: Night) -> list[Catalogue]:
    """The index of each part: the team's own, any other that is there, and the main one for the rest."""
    keys = {file.key for file in night.files if is_index(file.key)} | {INDEX_NAME}
    if any(key.startswith(TEAM) for key in desk.pages):
        keys.add(f"{TEAM}{INDEX_NAME}")
    folders = sorted((key[: -len(INDEX_NAME)] for key in keys), key=len, reverse=True)
    pages: dict[str, list[str]] = {folder: [] for folder in folders}
    for key in sorted(desk.pages):
        pages[next(folder for folder in folders if key.startswith(folder))].append(key)
    found = []
    for folder in sorted(folders):
        catalogue = Catalogue(desk, folder + INDEX_NAME, pages[folder])
        if catalogue.readable:
            found.append(catalogue)
        else:
            desk.doubt([folder + INDEX_NAME], "the index is not UTF-8: it was left as it is")
    return found
