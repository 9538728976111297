"""Prepared homes: built once, copied for every fault, with what each file held before and holds after the operation."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memdir.disk.git import MANY_BLOBS
from memdir.layout import Layout, Place
from memdir.memdir import MemDir, open_memory
from memdir.settings import Environment
from memdir.store.history import LOOSE_LIMIT, Origin
from memdir.store.index import Index
from memdir.store.journal import Journal, Operation, write_journal
from memdir.store.memories import add_memory, save_memory
from memdir.store.topic import MemoryType, Topic

from . import operate

SCRIPT = str(Path(operate.__file__))
PERSON = "\n# By hand\n\nA line that no program understands.\n"
# The parts of file names that differ from run to run: ours, and git's for objects and packs on their way.
RANDOM = re.compile(
    r"(?<=\.memdir-tmp-)[0-9a-f]+|(?<=\.consolidate-lock-)[0-9a-f]+|(?<=tmp_(?:obj|idx|rev)_)\w+|(?<=tmp_pack_)\w+"
    r"|(?<=\.tmp-)\d+|(?<=pack-)[0-9a-f]{40}"
)
Files = dict[str, bytes]


@dataclass(frozen=True)
class Scenario:
    """An operation, the home it starts from, and what the memory directory may hold on the way."""

    name: str
    operation: str
    folder: str
    before: Mapping[str, bytes]  # as the operation finds it
    after: Mapping[str, bytes]  # as it leaves it
    allowed: Mapping[str, frozenset[bytes | None]] = field(repr=False)  # every content a reader may see
    head: str = ""  # the history's last commit before the operation
    source: str = "cli"  # who the history must name for what is new

    @property
    def begins_calm(self) -> bool:
        """Whether nothing waits to be finished before the operation."""
        return not self.name.startswith("recover")

    @property
    def home(self) -> str:
        return os.path.join(self.folder, "home")

    @property
    def project(self) -> str:
        return os.path.join(self.folder, "project")

    @property
    def material(self) -> str:
        return os.path.join(self.folder, "material")

    def place(self, home: str) -> Place:
        return Place(Layout(home, self.project).default_memory)

    def command(self, operation: str = "") -> list[str]:
        return [sys.executable, SCRIPT, operation or self.operation, self.project, self.material]

    def copy(self, target: str) -> str:
        """A home of its own for one fault."""
        shutil.copytree(self.home, target, symlinks=True)
        return target


@dataclass(frozen=True)
class Ended:
    """How an operation's process ended."""

    code: int
    err: str

    @property
    def was_killed(self) -> bool:
        return self.code in (-9, 137)


def run(command: list[str], home: str, *, path: str = "") -> Ended:
    """Run a command on a home, with nothing else of this machine's settings."""
    done = subprocess.run(command, env=variables(home, path), capture_output=True, text=True, check=False, timeout=120)
    return Ended(done.returncode, done.stderr)


def variables(home: str, path: str = "") -> dict[str, str]:
    search = os.environ.get("PATH", os.defpath)
    return {
        "PATH": f"{path}{os.pathsep}{search}" if path else search,
        "HOME": os.path.join(home, "nobody"),
        "MEMDIR_HOME": home,
        "PYTHONDONTWRITEBYTECODE": "1",  # the calls of an operation must not depend on what ran before
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
    }


def files_of(root: str) -> Files:
    """Every file of a memory directory that a scan or a person would see."""
    found: Files = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                path = Path(folder, name)
                found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


def prepare(name: str, folder: str) -> Scenario:
    """Build the home of a scenario and run its operation once without a fault, to know what it leads to."""
    operation, lived_in, change = SCENARIOS[name]
    scenario = Scenario(name, operation, folder, {}, {}, {})
    os.makedirs(scenario.project)
    os.makedirs(scenario.home)
    _write_import(scenario.material)
    memory = _open(scenario)
    if lived_in:
        _live_in(memory)
    earlier = files_of(memory.store.root)
    change(memory)
    before = files_of(memory.store.root)
    head = memory.store.history.log(limit=1)
    calm = scenario.copy(os.path.join(folder, "calm"))
    ended = run(scenario.command(), calm)
    assert ended.code == 0, ended.err
    after = files_of(scenario.place(calm).root)
    shutil.rmtree(calm)
    allowed = {
        path: frozenset((earlier.get(path), before.get(path), after.get(path))) for path in {*earlier, *before, *after}
    }
    source = {"commit": "outside", "many": "outside", "undo": "undo", "dream": "dream"}.get(name, "cli")
    return Scenario(name, operation, folder, before, after, allowed, head[0].id if head else "", source)


def _open(scenario: Scenario) -> MemDir:
    environment = Environment({"MEMDIR_HOME": scenario.home, "HOME": scenario.folder})
    return open_memory(scenario.project, environment=environment, clock=lambda: operate.NOW)


def _live_in(memory: MemDir) -> None:
    """A store as it looks after some weeks: several memories, a folder, a past edit, lines written by hand."""
    memory.start()
    store = memory.store
    body = "Never mock the database: mocks lie.\n"
    add_memory(store, body, kind=MemoryType.FEEDBACK, name="Real database", origin=operate.CLI)
    add_memory(
        store, "The dashboard is at https://example.invalid/d/7\n", kind=MemoryType.REFERENCE, origin=operate.CLI
    )
    add_memory(store, "I have run databases for ten years.\n", kind=MemoryType.USER, origin=operate.CLI)
    staging = Topic.compose(name="Staging", description="Staging is rebuilt at night", kind=None, body="At two.\n")
    with store.changing(operate.CLI, "remember Staging") as change:
        change.write(operate.DELETED, staging.data)
        change.put_entry(operate.DELETED, staging)
        change.edit_index(lambda index: Index(index.data + PERSON.encode()))
    old = store.read(operate.EDITED).topic.data
    save_memory(store, operate.EDITED, old + b"\nSince 2024.\n", origin=operate.CLI, base=old)


def _nothing(memory: MemDir) -> None:
    """The home is ready as it is."""


def _lose_a_line(memory: MemDir) -> None:
    with memory.store.changing(Origin("cli"), "lose a line") as change:
        change.edit_index(lambda index: index.without([operate.EDITED]))


def _edit_by_hand(memory: MemDir) -> None:
    root = Path(memory.store.root)
    with (root / operate.EDITED).open("ab") as file:
        file.write(b"\nA person added this.\n")
    (root / "notes").mkdir()
    (root / "notes" / "by_hand.md").write_text("---\nname: By hand\ndescription: By hand\n---\n\nText\n")
    (root / operate.DELETED).unlink()


def _bring_many(memory: MemDir) -> None:
    """So many files by hand that the history takes them as one pack."""
    for number in range(MANY_BLOBS):
        Path(memory.store.root, f"many_{number}.md").write_text(f"---\nname: Many {number}\n---\n\nText {number}\n")


def _neglect(memory: MemDir) -> None:
    """Two memories that say the same, one with a date that only its own day explains, and a line without a file."""
    root = Path(memory.store.root)
    rule = "Use the design tokens for colours in components, never hex values"
    for name, more in (("tokens_rule.md", "Ask Mateus."), ("design_tokens.md", "Rejected on 2026-06-28.")):
        text = f"---\nname: Design tokens\ndescription: {rule}\ntype: feedback\n---\n\n{rule}. {more}\n"
        (root / name).write_text(text)
    freeze = "---\nname: Freeze\ndescription: the release freeze\ntype: project\n---\n\nIt begins tomorrow.\n"
    (root / "freeze.md").write_text(freeze)
    index = root / "MEMORY.md"
    index.write_bytes(index.read_bytes() + b"- [Gone](gone.md) \xe2\x80\x94 a file that is no more\n")
    for number, path in enumerate(sorted(root.glob("*.md"))):
        os.utime(path, (operate.NOW - 86_400 * (20 - number),) * 2)
    memory.store.record_outside_changes()


def _crowd_the_history(memory: MemDir) -> None:
    """So many loose objects in the folder that is looked at that the next commit packs them."""
    made = number = 0
    while made < LOOSE_LIMIT + 2:
        number += 1
        data = f"---\nname: Note {number}\ndescription: Note {number}\n---\n\nText\n".encode()
        if hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest().startswith("17"):
            made += 1
            Path(memory.store.root, f"note_{number}.md").write_bytes(data)
    place = memory.place
    for words in (
        ("add", "--all", "."),
        ("commit", "--quiet", "--message=many notes"),
    ):  # by plain git: it packs nothing
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "gc.auto=0")
        where = (f"--git-dir={place.history}", f"--work-tree={place.root}")
        subprocess.run(["git", *where, *identity, *words], cwd=place.root, check=True)


def _kill_in_the_middle(memory: MemDir) -> None:
    """What a `create` leaves that was killed after its first file."""
    store = memory.store
    topic = Topic.compose(
        name="Release freeze",
        description="Releases are frozen until 2026-12-01",
        kind=MemoryType.PROJECT,
        body=operate.CREATED_BODY,
    )
    with store.changing(operate.CLI, "remember Release freeze") as change:
        change.write(operate.CREATED, topic.data)
        change.put_entry(operate.CREATED, topic)
        operations = [Operation(item.path, item.before, item.after) for item in change.operations()]
        change.__init__(store)  # type: ignore[misc]  # the process "dies" before anything is written
    message = operate.CLI.message("remember Release freeze")
    write_journal(store.place.journal, Journal(message, operations))
    Path(store.root, operate.CREATED).write_bytes(topic.data)
    Path(store.root, ".memdir-tmp-0123456789abcdef").write_bytes(b"- [Rel")


def _kill_then_edit(memory: MemDir) -> None:
    """The same, and then a person edited both files before memdir started again."""
    _kill_in_the_middle(memory)
    root = Path(memory.store.root)
    index = root / "MEMORY.md"
    index.write_bytes(index.read_bytes() + b"\nOne more line by hand.\n")
    created = root / operate.CREATED
    created.write_bytes(created.read_bytes() + b"\nA person knew more.\n")


def _write_import(material: str) -> None:
    folder = Path(material, "import")
    (folder / "sub").mkdir(parents=True)
    for name in ("one.md", "sub/two.md", "three.md", operate.EDITED):
        text = f"---\nname: {name[:-3]}\ndescription: imported {name[:-3]}\ntype: project\n---\n\nText of {name}\n"
        (folder / name).write_text(text)


# name: the operation, whether the home was lived in, what happens to it just before
SCENARIOS: dict[str, tuple[str, bool, Callable[[MemDir], None]]] = {
    "create": ("create", True, _nothing),
    "edit": ("edit", True, _nothing),
    "overwrite": ("overwrite", True, _edit_by_hand),
    "delete": ("delete", True, _nothing),
    "index": ("index", True, _lose_a_line),
    "commit": ("commit", True, _edit_by_hand),
    "import": ("import", True, _nothing),
    "undo": ("undo", True, _nothing),
    "dream": ("dream", True, _neglect),
    "first": ("create", False, _nothing),
    "pack": ("create", True, _crowd_the_history),
    "many": ("commit", True, _bring_many),
    "recover": ("commit", True, _kill_in_the_middle),
    "recover_edited": ("commit", True, _kill_then_edit),
}
