"""Numbered SQL files, applied once and in order. Whoever applies them holds the database's lock (ADR 0068)."""

from __future__ import annotations

import os
from collections.abc import Iterable

from memdir.disk.shipped import shipped_path, shipped_text
from memdir.errors import MemdirError

MADE = "create table if not exists hub_migrations (number integer primary key, name text not null)"
KNOWN = "select number from hub_migrations order by number"
DONE = "insert into hub_migrations (number, name) values (?, ?)"


def missing(engine: str, done: Iterable[int]) -> list[tuple[int, str, str]]:
    """What is still to be applied: number, name and text of each."""
    folder = f"hub/migrations/{engine}"
    known = {int(name[:4]): name for name in sorted(os.listdir(shipped_path(folder))) if name.endswith(".sql")}
    applied = set(done)
    if strange := applied - known.keys():
        told = f"the hub's database was made by a newer memdir (step {max(strange)} is not known here)"
        raise MemdirError(told, remedy="Install that version, or a newer one")
    return [(number, name, shipped_text(f"{folder}/{name}")) for number, name in known.items() if number not in applied]
