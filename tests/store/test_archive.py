"""Export and import: the same path rules, nothing overwritten (E3)."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest

from memdir.errors import ImportRefused
from memdir.layout import Place
from memdir.store.archive import export_memories, import_memories
from memdir.store.history import Origin
from memdir.store.index import Index
from memdir.store.memories import add_memory
from memdir.store.store import MemoryStore
from memdir.store.undo import undo

CLI = Origin("import")
TOPIC = b"---\nname: N\ndescription: D\ntype: user\n---\n\nbody\n"


def pack(path: Path, members: dict[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return str(path)


@pytest.mark.parametrize("name", ["out.zip", "folder"])
def test_what_was_exported_is_imported_byte_for_byte(store: MemoryStore, tmp_path: Path, name: str) -> None:
    for text in ("One", "Zwei – ü", "三"):
        add_memory(store, text, kind=None, origin=CLI)
    with store.changing(CLI, "x") as change:
        change.write("area/odd.md", b"\xef\xbb\xbf---\r\nname: x\r\n---\r\n\xff")
    target = str(tmp_path / name)
    assert export_memories(store, target).memories == 4
    other = MemoryStore(Place(str(tmp_path / "other" / "memory")))
    result = import_memories(other, target, origin=CLI)
    assert len(result.added) == 4
    for header in store.scan().headers:
        assert other.read_bytes(header.key) == store.read_bytes(header.key)
    assert other.history.log()[0].subject.startswith("import 4 memories")


def test_the_same_memories_give_the_same_archive(store: MemoryStore, tmp_path: Path) -> None:
    add_memory(store, "One", kind=None, origin=CLI)
    export_memories(store, str(tmp_path / "a.zip"))
    os.utime(store.path_of("one.md"), (1, 1))
    export_memories(store, str(tmp_path / "b.zip"))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert stat.S_IMODE((tmp_path / "a.zip").stat().st_mode) == 0o600


def test_an_export_never_writes_into_a_folder_that_holds_something(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("mine")
    with pytest.raises(ImportRefused, match="not empty"):
        export_memories(store, str(tmp_path / "full"))


def test_importing_twice_adds_nothing_and_a_clash_gets_a_new_name(store: MemoryStore, tmp_path: Path) -> None:
    source = pack(tmp_path / "a.zip", {"memory/n.md": TOPIC, "MEMORY.md": b"- [x](x.md)\n"})
    assert import_memories(store, source, origin=CLI).added == ["n.md"]
    assert import_memories(store, source, origin=CLI).same == ["n.md"]
    other = pack(tmp_path / "b.zip", {"n.md": TOPIC + b"more\n"})
    assert import_memories(store, other, origin=CLI).renamed == {"n.md": "n_2.md"}
    assert import_memories(store, other, origin=CLI).same == ["n_2.md"]
    assert store.read_bytes("n.md") == TOPIC
    index = Path(store.place.index).read_text()
    assert index.count("(n.md)") == index.count("(n_2.md)") == 1


def test_hostile_names_are_refused_one_by_one_and_the_rest_is_taken(store: MemoryStore, tmp_path: Path) -> None:
    members = dict.fromkeys(("../up.md", "/etc/a.md", "a\\b.md", "CLAUDE.md", ".git/x.md", "run.sh", "good.md"), TOPIC)
    result = import_memories(store, pack(tmp_path / "a.zip", members), origin=CLI)
    assert result.added == ["good.md"]
    assert len(result.refused) == 6
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "memory", "memory.state"]


def test_links_bombs_and_lies_in_a_zip_are_refused_whole(store: MemoryStore, tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    bomb = pack(tmp_path / "bomb.zip", {"big.md": b"\0" * 30_000_000})
    twice = tmp_path / "twice.zip"
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("a.md", TOPIC)
        archive.writestr("A.md", TOPIC)
    (tmp_path / "junk.zip").write_bytes(b"PK\x03\x04 not a zip")
    for path, reason in (
        (tmp_path / "link.zip", "link"),
        (bomb, "bomb"),
        (twice, "twice"),
        (tmp_path / "junk.zip", "cannot be read"),
    ):
        with pytest.raises(ImportRefused, match=reason):
            import_memories(store, str(path), origin=CLI)
    assert store.scan().headers == []


@pytest.mark.parametrize("way", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_zip_whose_contents_are_damaged_is_refused(store: MemoryStore, tmp_path: Path, way: int) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", way) as archive:
        archive.writestr("a.md", bytes(number * 31 % 251 for number in range(3_000)))
    data = bytearray(path.read_bytes())
    data[60:200] = bytes(255 - byte for byte in data[60:200])
    path.write_bytes(data)
    with pytest.raises(ImportRefused, match="cannot be read as a zip file"):
        import_memories(store, str(path), origin=CLI)


def test_a_zip_that_lies_about_sizes_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    path = Path(pack(tmp_path / "lie.zip", {"a.md": b"x" * 5_000}))
    data = path.read_bytes()
    size = (5_000).to_bytes(4, "little")
    path.write_bytes(data.replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(ImportRefused):
        import_memories(store, str(path), origin=CLI)


def test_links_in_a_folder_and_missing_sources_are_refused(store: MemoryStore, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.md").symlink_to("/etc/passwd")
    with pytest.raises(ImportRefused, match="link"):
        import_memories(store, str(folder), origin=CLI)
    with pytest.raises(ImportRefused, match="neither a folder nor a zip"):
        import_memories(store, str(tmp_path / "nowhere"), origin=CLI)


def test_too_many_files_are_refused(store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memdir.store.archive.MAX_FILES", 2)
    with pytest.raises(ImportRefused, match="limit"):
        import_memories(store, pack(tmp_path / "a.zip", {f"{n}.md": TOPIC for n in range(3)}), origin=CLI)


def test_what_cannot_be_exported_is_named_and_the_rest_is_written(store: MemoryStore, tmp_path: Path) -> None:
    add_memory(store, "One", kind=None, origin=CLI)
    Path(store.root, "link.md").symlink_to("/etc/passwd")
    Path(os.fsdecode(os.fsencode(store.root) + b"/\xff.md")).write_bytes(TOPIC)
    packed = export_memories(store, str(tmp_path / "out.zip"))
    assert packed.memories == 1
    assert sorted(packed.left_out) == ["link.md", "\udcff.md"]
    copied = export_memories(store, str(tmp_path / "folder"))
    assert copied.memories == 2
    assert sorted(copied.left_out) == ["link.md"]
    assert not any(path.is_symlink() for path in (tmp_path / "folder").iterdir())


def test_hundreds_of_memories_go_in_and_out_again_as_one_change(store: MemoryStore, tmp_path: Path) -> None:
    members = {f"note_{number}.md": TOPIC + b"%d\n" % number for number in range(300)}
    result = import_memories(store, pack(tmp_path / "a.zip", members), origin=CLI)
    assert len(result.added) == 300
    assert Index(store.read_bytes("MEMORY.md") or b"").keys() == set(members)
    assert len(store.history.log()) == 1
    assert store.history.check() == []
    undo(store)
    assert store.scan().total == 0
    assert store.read_bytes("MEMORY.md") is None
    undo(store, store.history.log()[0].id)
    assert store.read_bytes("note_77.md") == TOPIC + b"77\n"
    assert store.scan().total == 300
