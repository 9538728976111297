"""One night: secrets out, dates absolute, duplicates merged, evidence weighed, indexes rebuilt. No disk, no clock."""

from __future__ import annotations

from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_index
from memdir.model.builtin.dream.date_repair import ask_what_ended, repair_dates
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.index_repair import Catalogue
from memdir.model.builtin.dream.night import Night, Plan
from memdir.model.builtin.dream.pointers import repair_pointers
from memdir.model.builtin.dream.settle import Neighbours, Settling
from memdir.model.builtin.dream.testimony import take_statements
from memdir.store.secrets import find_secrets, redact


def plan_night(night: Night) -> Plan:
    """What to change in this memory directory, and what was left alone. The same night gives the same plan."""
    desk = Desk(night)
    redact_secrets(desk)
    repair_dates(desk, night.now.tzinfo)
    indexes = _catalogues(desk, night)
    repair_pointers(desk, [key for index in indexes.values() for key in index.dead()])
    near = Neighbours(desk.open_pages())
    take_statements(desk, night, near)
    Settling(desk, near, night).run()
    ask_what_ended(desk, night.now)
    for index in indexes.values():
        index.unload()
    listed = sorted(key for key, page in desk.pages.items() if page.is_listed)
    nearest = {key: max(filter(key.startswith, indexes), key=len, default=None) for key in listed}
    for folder, index in indexes.items():
        index.rebuild([key for key in listed if nearest[key] == folder])
    return Plan(desk.edits(), tuple(desk.doubts), desk.asked())


def _catalogues(desk: Desk, night: Night) -> dict[str, Catalogue]:
    """The indexes by folder: the main one, the team's own, and any other that is there."""
    folders = {file.key[: -len(INDEX_NAME)] for file in night.files if is_index(file.key)} | {""}
    if any(key.startswith(TEAM_PREFIX) for key in desk.pages):
        folders.add(TEAM_PREFIX)
    found = {}
    for folder in sorted(folders):
        data = desk.now(folder + INDEX_NAME) or b""
        try:
            found[folder] = Catalogue(desk, folder + INDEX_NAME, data.decode())
        except UnicodeDecodeError:
            desk.doubt([folder + INDEX_NAME], "the index is not UTF-8: it was left as it is")
    return found


def redact_secrets(desk: Desk) -> None:
    """Take secrets out of the team's pages, and report which kinds there were."""
    for page in desk.open_pages():
        text = page.data.decode("utf-8")
        if page.folder == TEAM_PREFIX and (found := find_secrets(text)):
            kinds = ", ".join(sorted({match.kind for match in found}))
            reason = f"secrets taken out of a shared memory ({kinds}): revoke them, the history still has them"
            desk.put(PageChange({page.key: redact(text).encode()}, reason, (page.key,)))
