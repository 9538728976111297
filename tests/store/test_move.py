"""Moving memories between a project and all of one's own: nothing of them is lost on the way, or on the way back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir import MemDir, open_memory
from memdir.errors import EditConflict, MemoryNotFound, UsageError
from memdir.store.history import Origin
from memdir.store.memories import save_memory
from tests.conftest import Ran

BODY = "I am colour-blind: red and green look the same to me."


@pytest.fixture
def memory(project: Path) -> MemDir:
    return open_memory(project)


def put(memory: MemDir, key: str, body: str = BODY, scope: str = "project", kind: str = "user") -> None:
    text = f"---\nname: {key[:-3]}\ndescription: {body[:60]}\ntype: {kind}\n---\n\n{body}\n"
    memory.start()
    origin = Origin("extract", session="s-1", messages=("m-1",), trust="user")
    save_memory(memory.stores.of(scope), key, text.encode(), origin=origin)


def keys(memory: MemDir, scope: str) -> list[str]:
    return sorted(header.key for header in memory.list(scope=scope))


def index(memory: MemDir, scope: str) -> str:
    return Path(memory.places.of(scope).index).read_text(encoding="utf-8")


def state(memory: MemDir) -> dict[str, tuple[bytes, int]]:
    """Every memory and index of both scopes, with its time."""
    roots = [Path(memory.places.of(scope).root) for scope in ("project", "user")]
    files = [path for root in roots for path in sorted(root.rglob("*.md"))]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns // 10**9) for path in files}


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_memory_moves_with_its_time_its_line_and_where_it_comes_from(memory: MemDir, scope: str) -> None:
    source = "project" if scope == "user" else "user"
    put(memory, "eyes.md", scope=source)
    put(memory, "other.md", "The release is on 2026-12-01.", scope=source)
    path = Path(memory.places.of(source).root, "eyes.md")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    data = path.read_bytes()
    line = "- [My eyes](eyes.md) — worded by hand"
    text = index(memory, source)
    own = next(row for row in text.splitlines() if "eyes.md" in row)
    Path(memory.places.of(source).index).write_text(text.replace(own, line))
    [moved] = memory.move("eyes", scope=scope)
    assert (moved.file, keys(memory, source), keys(memory, scope)) == ("eyes.md", ["other.md"], ["eyes.md"])
    there = Path(moved.path)
    assert (there.read_bytes(), there.stat().st_mtime) == (data, 1_700_000_000)
    assert line in index(memory, scope)
    assert "eyes.md" not in index(memory, source)
    found = memory.why("eyes", scope=scope)
    assert [commit.source for commit in found["eyes.md"]] == ["move"]
    assert found["eyes.md"][0].trailers["Session"] == "s-1"
    assert "extract" in [commit.source for commit in found[f"eyes.md ({source})"]]


@pytest.mark.parametrize("asked", ["project", "user"])
def test_undo_takes_a_move_back_in_both_places_and_again(memory: MemDir, asked: str) -> None:
    """S14, byte for byte, whichever side is asked; the undo of the undo moves it again."""
    put(memory, "eyes.md")
    put(memory, "hands.md", "See [eyes](eyes.md).")
    before = state(memory)
    memory.move("eyes.md", scope="user")
    after = state(memory)
    memory.undo(scope=asked)
    index_of_own = str(memory.places.of("user").index)
    left = {path: told for path, told in state(memory).items() if path != index_of_own}
    assert {path: data for path, (data, _) in left.items()} == {path: data for path, (data, _) in before.items()}
    newest = memory.stores.of(asked).history.log(limit=1)[0]
    memory.undo(newest.id, scope=asked)
    assert {path: data for path, (data, _) in state(memory).items()} == {
        path: data for path, (data, _) in after.items()
    }


def test_what_changed_since_it_was_moved_is_not_undone_away(memory: MemDir) -> None:
    put(memory, "eyes.md")
    memory.move("eyes.md", scope="user")
    memory.update("eyes.md", "I am colour-blind, and wear glasses.", scope="user")
    with pytest.raises(EditConflict):
        memory.undo()
    assert (keys(memory, "project"), keys(memory, "user")) == ([], ["eyes.md"])
    memory.move("eyes.md", scope="project")
    assert "glasses" in memory.get("eyes.md").topic.body


def test_a_move_out_of_a_project_that_is_gone_is_not_undone_into_nothing(memory: MemDir, tmp_path: Path) -> None:
    put(memory, "eyes.md")
    memory.move("eyes.md", scope="user")
    Path(memory.layout.project_home).rename(tmp_path / "away")
    (tmp_path / "second").mkdir()
    second = open_memory(tmp_path / "second")
    with pytest.raises(MemoryNotFound):
        second.undo(scope="user")
    assert keys(second, "user") == ["eyes.md"]


def test_a_name_that_is_taken_is_changed_and_both_stay(memory: MemDir) -> None:
    put(memory, "eyes.md", "I wear glasses.", scope="user")
    put(memory, "eyes.md")
    [planned] = memory.move("eyes.md", scope="user", is_dry=True)
    assert (planned.file, keys(memory, "project")) == ("eyes_2.md", ["eyes.md"])
    assert [moved.file for moved in memory.move("eyes.md", scope="user")] == ["eyes_2.md"]
    assert keys(memory, "user") == ["eyes.md", "eyes_2.md"]
    assert "(eyes_2.md)" in index(memory, "user")


def test_links_lead_where_they_led_and_are_plain_again_on_the_way_back(memory: MemDir) -> None:
    put(memory, "eyes.md", "Red is [not green](hands.md#why), see [b](both.md), [web](https://example.org/x.md).")
    put(memory, "both.md", "As [eyes](eyes.md) says.")
    put(memory, "hands.md", "As [eyes](<eyes.md>) and [gone](gone.md) say.")
    before = {key: memory.get(key).topic.data for key in keys(memory, "project")}
    memory.move("eyes.md", "both.md", scope="user")
    moved, stays = memory.get("eyes", scope="user"), memory.get("hands")
    assert "(both.md)" in moved.topic.body and "https://example.org/x.md" in moved.topic.body
    for one in (moved, stays):
        [link] = [word for word in one.topic.body.replace("<", "(").split("(") if word.startswith("../")]
        target = link.split(".md")[0] + ".md"
        assert os.path.isfile(os.path.join(os.path.dirname(one.path), target))
    assert "(gone.md)" in stays.topic.body
    memory.move("eyes.md", "both.md", scope="project")
    assert {key: memory.get(key).topic.data for key in keys(memory, "project")} == before


def test_a_move_that_was_killed_between_leaves_the_memory_in_both_places_and_is_finished_by_the_next(
    memory: MemDir, project: Path, memdir: Callable[..., Ran]
) -> None:
    put(memory, "eyes.md")
    put(memory, "hands.md", "See [eyes](eyes.md).")
    killed = (
        "import os\nfrom memdir import open_memory\nfrom memdir.store.store import ChangeSet\n"
        "ChangeSet.delete = lambda *_: os._exit(9)\n"
        f"open_memory({str(project)!r}).move('eyes.md', 'hands.md', scope='user')\n"
    )
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == 9
    assert keys(memory, "project") == keys(memory, "user") == ["eyes.md", "hands.md"]
    findings = json.loads(memdir("doctor", "--json").out)["findings"]
    assert {finding["file"] for finding in findings if finding["check"] == "twice"} == {"eyes.md", "hands.md"}
    memory.move("eyes.md", "hands.md", scope="user")
    assert (keys(memory, "project"), keys(memory, "user")) == ([], ["eyes.md", "hands.md"])


MEANWHILE = """\
import subprocess, sys
from memdir import open_memory
from memdir.store.store import MemoryStore

real, left = MemoryStore.changing, [1]

def changing(self, *given, **more):
    if left and left.pop():
        subprocess.run([sys.executable, "-m", "memdir.cli.entry", *sys.argv[2:]], check=True)
    return real(self, *given, **more)

MemoryStore.changing = changing
open_memory(sys.argv[1]).move("eyes.md", scope="user")
"""


@pytest.mark.parametrize(("meanwhile", "left"), [("forget", []), ("move --scope user", ["eyes.md"])])
def test_what_another_process_does_with_it_while_it_is_moved_comes_out_once(
    memory: MemDir, project: Path, meanwhile: str, left: list[str]
) -> None:
    """S13: between what a move reads and what it writes."""
    put(memory, "eyes.md")
    command = [sys.executable, "-c", MEANWHILE, str(project), *meanwhile.split(), "eyes.md", "--project", str(project)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (keys(memory, "project"), keys(memory, "user")) == ([], left), ran.stderr
    assert "Nothing was moved" in ran.stderr


def killed_between(project: Path, command: str, at: str) -> None:
    script = f"import os\nfrom memdir import open_memory\nfrom memdir.store.store import ChangeSet\n{at}\n"
    script += f"open_memory({str(project)!r}).{command}\n"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_move_that_was_killed_between_is_undone_to_one_memory(memory: MemDir, project: Path, scope: str) -> None:
    """S14: nothing is lost and nothing is there twice, whichever side is asked."""
    put(memory, "eyes.md")
    killed_between(project, "move('eyes.md', scope='user')", "ChangeSet.delete = lambda *_: os._exit(9)")
    assert keys(memory, "project") == keys(memory, "user") == ["eyes.md"]
    memory.undo(scope=scope)
    assert [key for one in ("project", "user") for key in keys(memory, one)] == ["eyes.md"]


def test_an_undo_of_a_move_that_was_killed_between_is_taken_back_or_done_again(memory: MemDir, project: Path) -> None:
    put(memory, "eyes.md")
    memory.move("eyes.md", scope="user")
    at = (
        "import memdir.store.move as move\nreal, calls = move.undo, []\n"
        "def undo(*given, **more):\n    calls.append(more)\n"
        "    return os._exit(9) if len([one for one in calls if 'more' in one]) == 2 else real(*given, **more)\n"
        "move.undo = undo"
    )
    killed_between(project, "undo()", at)
    assert keys(memory, "project") == keys(memory, "user") == ["eyes.md"]
    memory.undo()
    assert (keys(memory, "project"), keys(memory, "user")) == ([], ["eyes.md"])


def test_doctor_suggests_to_move_what_is_about_the_person(memory: MemDir, memdir: Callable[..., Ran]) -> None:
    """T1: what was learned before, or by hand, stays and is served; it is theirs to move."""
    put(memory, "eyes.md")
    put(memory, "freeze.md", "The release is on 2026-12-01.", kind="project")
    findings = json.loads(memdir("doctor", "--json").out)["findings"]
    [found] = [finding for finding in findings if finding["check"] == "scope"]
    assert (found["file"], found["severity"]) == ("eyes.md", "note")
    assert "memdir move eyes.md --scope user" in found["remedy"]
    memory.move("eyes.md", scope="user")
    for scope in ("project", "user"):
        told = json.loads(memdir("doctor", "--json", "--scope", scope).out)["findings"]
        assert not [finding for finding in told if finding["check"] in ("scope", "twice")]


@pytest.mark.parametrize("name", ["team/rule.md", "MEMORY.md"])
def test_what_is_not_one_s_own_is_not_moved(memory: MemDir, name: str) -> None:
    put(memory, "eyes.md")
    team = Path(memory.place.root, "team")
    team.mkdir()
    (team / "rule.md").write_text("---\nname: r\ndescription: d\ntype: feedback\n---\n\nAlways push to main.\n")
    with pytest.raises((UsageError, MemoryNotFound)):
        memory.move(name, scope="user")
    with pytest.raises(UsageError):
        memory.move("eyes.md", scope="team")
    assert keys(memory, "user") == []


def test_a_low_mark_moves_along(memory: MemDir) -> None:
    """L3."""
    put(memory, "eyes.md")
    path = Path(memory.place.root, "eyes.md")
    path.write_text(path.read_text().replace("type: user", "trust: web"))
    memory.move("eyes.md", scope="user")
    assert memory.get("eyes.md", scope="user").topic.fields["trust"] == "web"
    assert "colour-blind" not in memory.context()


def test_the_command_tells_what_it_did_to_people_and_programs(memory: MemDir, memdir: Callable[..., Ran]) -> None:
    put(memory, "eyes.md")
    assert memdir("move", "eyes.md").code == 2, "where to must be said"
    assert "Would move eyes.md" in memdir("move", "eyes", "--scope", "user", "--dry-run").out
    assert keys(memory, "user") == []
    told = json.loads(memdir("move", "eyes.md", "--scope", "user", "--json").out)
    assert (told["ok"], told["scope"], told["moved"][0]["file"]) == (True, "user", "eyes.md")
    again = memdir("move", "eyes.md", "--scope", "user")
    assert again.code != 0 and "eyes.md is in scope user already" in again.err
    assert "Took back" in memdir("undo").out
    assert (keys(memory, "project"), keys(memory, "user")) == (["eyes.md"], [])
