"""Drafts: invisible until the whole run has succeeded, then one change set that overwrites nobody (S13, D7, X4)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.agent.workspace import Workspace
from memdir.errors import BadMemoryFile, EditConflict, MemoryNotFound, PathEscape
from memdir.layout import Place
from memdir.store.history import Origin
from memdir.store.store import MemoryStore
from memdir.transcript.message import ToolUse
from tests.agent.boxes import box

ORIGIN = Origin("extract", session="s1")


def topic(name: str, body: str = "text") -> bytes:
    return f"---\nname: {name}\ndescription: about {name}\ntype: project\n---\n\n{body}\n".encode()


@pytest.fixture
def root(store: MemoryStore) -> Path:
    store.ensure()
    return Path(store.root)


@pytest.fixture
def workspace(store: MemoryStore, root: Path) -> Workspace:
    return Workspace([store])


def index(root: Path) -> str:
    return (root / "MEMORY.md").read_text(encoding="utf-8")


def test_a_draft_is_seen_by_its_writer_and_nobody_else(workspace: Workspace, root: Path) -> None:
    workspace.write(str(root / "a.md"), topic("A"))
    assert workspace.read(str(root / "a.md")) == topic("A")
    assert workspace.is_draft(str(root / "a.md"))
    assert list(workspace.walk(str(root))) == [str(root / "a.md")]
    assert list(root.iterdir()) == []
    with pytest.raises(MemoryNotFound):
        workspace.read(str(root / "b.md"))


def test_a_run_is_one_change_set_with_its_lines_in_the_index(
    workspace: Workspace, store: MemoryStore, root: Path
) -> None:
    """S14: one commit, one command undoes it."""
    (root / "old.md").write_bytes(topic("Old"))
    store.record_outside_changes()
    for name in ("a", "b", "c"):
        workspace.write(str(root / f"{name}.md"), topic(name.upper()))
    workspace.write(str(root / "old.md"), topic("Old", "newer"))
    before = len(store.history.log())
    written = workspace.commit(ORIGIN, "extract a, b, c")
    assert {draft.key for draft in written} == {"a.md", "b.md", "c.md", "old.md"}
    [commit, *_] = log = store.history.log()
    assert len(log) == before + 1
    assert {file.path for file in commit.files} == {"a.md", "b.md", "c.md", "old.md", "MEMORY.md"}
    assert commit.trailers["Session"] == "s1"
    for name in ("a.md", "b.md", "c.md", "old.md"):
        assert index(root).count(f"({name})") == 1
    assert not workspace.drafts


def test_a_run_that_fails_leaves_nothing(workspace: Workspace, root: Path) -> None:
    workspace.write(str(root / "a.md"), topic("A"))
    del workspace
    assert list(root.iterdir()) == []


def test_the_fork_s_own_index_line_stays_as_it_was_worded(workspace: Workspace, root: Path) -> None:
    """Whatever it writes first, the file or the line: there is one line, and it is its own."""
    (root / "MEMORY.md").write_bytes(b"- [Old](old.md) \xe2\x80\x94 old\n")
    (root / "old.md").write_bytes(topic("Old"))
    workspace.write(str(root / "a.md"), topic("A"))
    workspace.write(str(root / "MEMORY.md"), index(root).encode() + b"- [Mine](a.md) \xe2\x80\x94 in my words\n")
    workspace.commit(ORIGIN, "x")
    assert index(root).count("(a.md)") == 1
    assert "- [Mine](a.md) — in my words" in index(root)
    assert "(old.md)" in index(root)


def test_what_others_changed_meanwhile_is_merged(workspace: Workspace, root: Path) -> None:
    """S13."""
    lines = [f"line {number}" for number in range(12)]
    (root / "a.md").write_bytes(topic("A", "\n".join(lines)))
    (root / "MEMORY.md").write_bytes(b"- [A](a.md) \xe2\x80\x94 about A\n")
    workspace.write(str(root / "a.md"), topic("A", "\n".join(["OURS", *lines[1:]])))
    workspace.write(str(root / "b.md"), topic("B"))
    (root / "a.md").write_bytes(topic("A", "\n".join([*lines[:-1], "THEIRS"])))
    (root / "c.md").write_bytes(topic("C"))
    (root / "MEMORY.md").write_bytes(b"- [A](a.md) \xe2\x80\x94 about A\n- [C](c.md) \xe2\x80\x94 theirs\n")
    workspace.commit(ORIGIN, "x")
    text = (root / "a.md").read_text(encoding="utf-8")
    assert "OURS" in text and "THEIRS" in text
    assert all(f"({name}.md)" in index(root) for name in "abc")


@pytest.mark.parametrize("what", ["same lines", "deleted", "made by both", "we delete what they changed"])
def test_a_clash_is_refused_as_a_whole_and_theirs_stays(
    workspace: Workspace, store: MemoryStore, root: Path, what: str
) -> None:
    """S13, D7: never overwritten, never brought back, never deleted behind somebody's back."""
    path = root / "a.md"
    if what != "made by both":
        path.write_bytes(topic("A", "one"))
    ours = b"<!-- delete: outdated -->" if what == "we delete what they changed" else topic("A", "ours")
    workspace.write(str(root / "fine.md"), topic("Fine"))
    workspace.write(str(path), ours)
    if what == "deleted":
        path.unlink()
    else:
        path.write_bytes(topic("A", "theirs"))
    with pytest.raises(EditConflict):
        workspace.commit(ORIGIN, "x")
    assert path.exists() == (what != "deleted")
    if path.exists():
        assert path.read_bytes() == topic("A", "theirs")
    assert not (root / "fine.md").exists(), "the change set is written as a whole or not at all"


def test_both_wrote_the_same_is_no_clash(workspace: Workspace, root: Path) -> None:
    workspace.write(str(root / "a.md"), topic("A"))
    (root / "a.md").write_bytes(topic("A"))
    workspace.commit(ORIGIN, "x")
    assert (root / "a.md").read_bytes() == topic("A")


def test_a_tombstone_deletes_with_its_reason(workspace: Workspace, store: MemoryStore, root: Path) -> None:
    """G1: a fork keeps its parent's tools, and those have none to delete."""
    (root / "a.md").write_bytes(topic("A"))
    (root / "MEMORY.md").write_bytes(b"- [A](a.md) \xe2\x80\x94 about A\n")
    workspace.write(str(root / "a.md"), b"<!-- delete: the freeze is over -->\n")
    assert list(workspace.walk(str(root))) == [str(root / "MEMORY.md")]
    with pytest.raises(MemoryNotFound, match="you deleted it"):
        workspace.read(str(root / "a.md"))
    assert (root / "a.md").exists()
    workspace.commit(ORIGIN, "x")
    assert not (root / "a.md").exists()
    assert "(a.md)" not in index(root)
    assert store.history.log()[0].trailers["Deleted"] == "a.md: the freeze is over"


def test_the_index_cannot_be_deleted(workspace: Workspace, root: Path) -> None:
    (root / "MEMORY.md").write_bytes(b"- [A](a.md)\n")
    with pytest.raises(BadMemoryFile):
        workspace.write(str(root / "MEMORY.md"), b"<!-- delete: too long -->")


def test_what_was_written_and_taken_back_is_no_change(workspace: Workspace, store: MemoryStore, root: Path) -> None:
    (root / "a.md").write_bytes(topic("A"))
    store.record_outside_changes()
    workspace.write(str(root / "a.md"), topic("A", "other"))
    workspace.write(str(root / "a.md"), topic("A"))
    before = len(store.history.log())
    assert workspace.commit(ORIGIN, "x") == []
    assert len(store.history.log()) == before


@pytest.mark.parametrize(
    "path",
    ["a.md", "./a.md", "a", "ROOT/a", "memory/a.md", "`ROOT/a.md`", "ROOT/a.MD", "ROOT/a.markdown", "file://ROOT/a.md"],
)
def test_a_path_that_comes_near_a_memory_means_it(workspace: Workspace, root: Path, project: Path, path: str) -> None:
    assert workspace.meant(path.replace("ROOT", str(root)), str(project)) == str(root / "a.md")


def test_signs_that_no_name_may_hold_are_left_out_of_it(workspace: Workspace, root: Path, project: Path) -> None:
    assert workspace.meant("feedback:no mocks?.md", str(project)) == str(root / "feedback-no mocks.md")
    (root / "a:b.md").write_text("x")
    assert workspace.meant("a:b.md", str(project)) == str(root / "a:b.md"), "where there is one, it is meant"


@pytest.mark.parametrize("path", ["../a.md", "/etc/a.md", "src/a.md", "ROOT/../a.md", "~/a.md"])
def test_a_path_elsewhere_is_not_taken_for_a_memory(workspace: Workspace, root: Path, project: Path, path: str) -> None:
    path = path.replace("ROOT", str(root))
    assert workspace.meant(path, str(project)) == os.path.join(project, path)


def test_a_file_of_the_project_is_meant_where_there_is_one(workspace: Workspace, root: Path, project: Path) -> None:
    (project / "README.md").write_text("x")
    assert workspace.meant("README.md", str(project)) == str(project / "README.md")
    assert workspace.meant("memory", str(project)) == str(root / "MEMORY.md")


async def test_arguments_under_other_names_are_understood_and_what_is_too_much_is_left_out(
    workspace: Workspace, root: Path
) -> None:
    tools = box(root).forked(workspace)
    text = topic("A").decode()
    for use in (
        ToolUse("1", "Write", {"path": "a.md", "content": text}),
        ToolUse("2", "write_file", {"filePath": "b.md", "text": text, "overwrite": True}),
        ToolUse("4", "create_file", {"path": "c.md", "contents": text}),
        ToolUse(
            "3", "Edit", {"file": "a.md", "old_str": "     7\ttext", "new_str": "     7\twords", "replace_all": "false"}
        ),
    ):
        assert not (await tools.run(use)).is_error
    assert workspace.read(str(root / "a.md")) == topic("A", "words")
    assert workspace.read(str(root / "b.md")) == topic("A")


INDEX = (
    "# Memories of our team\n\n- [Old](old.md) — about Old\nAsk Ann before you change these.\n"
    "- [Two](two.md) — about Two\n"
)


@pytest.mark.parametrize("name", ["MEMORY.md", "sub/MEMORY.md"])
@pytest.mark.parametrize(
    "written",
    [
        topic("Mocks").decode(),
        "- [Old](old.md) — about Old\n\n" + topic("Mocks").decode(),
        "- [Old](old.md) — about Old\n- Tests use a real database, never mocks.\n",
    ],
)
def test_a_memory_that_is_written_into_the_index_is_answered_and_not_lost(
    workspace: Workspace, root: Path, name: str, written: str
) -> None:
    """S6, S7."""
    (root / "old.md").write_bytes(topic("Old"))
    with pytest.raises(BadMemoryFile, match="file of its own"):
        workspace.write(str(root / name), written.encode())


def test_two_memories_for_one_new_file_are_two_files(workspace: Workspace, root: Path) -> None:
    """X6: a model that reuses a name in one reply loses neither."""
    texts = ("Tests use a real database, never mocks.", "Branches begin with the ticket number.")
    files = [b"---\nname: %s\ndescription: %s\ntype: feedback\n---\n\n%s\n" % ((text.encode(),) * 3) for text in texts]
    keeping = Workspace(workspace.stores, keeps_lines=True)
    told = [keeping.write(str(root / "rule.md"), data) for data in files]
    assert "two rules are two memories" in told[1]
    keeping.commit(ORIGIN, "x")
    assert sorted(path.read_bytes() for path in root.glob("*.md") if path.name != "MEMORY.md") == sorted(files)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "- [A](a.md) — about A\n",
        "```markdown\n- [Old](old.md) — about Old\n```\n",
        "Here is the new index:\n\n- [Two](two.md) — about Two\n- [Gone](gone.md) — no file\n",
        "- [A](a.md) — about A\n- [A](a.md) — about A\n- [Old](old.md) — about Old\n",
        f"- [A](a.md) — {'very long ' * 40}\n",
        "* old.md: about Old\n* a.md: about A\n",
    ],
)
def test_the_index_is_the_store_s_whatever_a_fork_makes_of_it(workspace: Workspace, root: Path, written: str) -> None:
    """S7: lines of living files and of people stay; dangling, double and overlong ones go."""
    for name in ("old", "two"):
        (root / f"{name}.md").write_bytes(topic(name.title()))
    (root / "MEMORY.md").write_text(INDEX)
    workspace.write(str(root / "a.md"), topic("A"))
    workspace.write(str(root / "MEMORY.md"), written.encode())
    workspace.commit(ORIGIN, "x")
    lines = index(root).splitlines()
    assert [sum(f"({name}.md)" in line for line in lines) for name in ("a", "old", "two", "gone")] == [1, 1, 1, 0]
    assert max(map(len, lines)) <= 150
    assert {line for line in lines if line and not line.startswith("- [")} == {
        "# Memories of our team",
        "Ask Ann before you change these.",
    }


def test_a_fork_may_put_the_lines_of_an_index_in_another_order_and_under_headings(
    workspace: Workspace, root: Path
) -> None:
    for name in ("old", "two"):
        (root / f"{name}.md").write_bytes(topic(name.title()))
    (root / "MEMORY.md").write_text("- [Old](old.md) — about Old\n- [Two](two.md) — about Two\n")
    wanted = "## First\n\n- [Two](two.md) — about Two\n\n## Then\n\n- [Old](old.md) — about Old\n"
    workspace.write(str(root / "MEMORY.md"), wanted.encode())
    workspace.commit(ORIGIN, "x")
    assert index(root) == wanted


@pytest.mark.parametrize("text", ["", "  \n", "DELETED", "<!-- delete: x -->\n\nBut keep this."])
def test_a_near_miss_of_a_deletion_is_answered_and_the_file_stays(workspace: Workspace, root: Path, text: str) -> None:
    (root / "a.md").write_bytes(topic("A"))
    with pytest.raises(BadMemoryFile):
        workspace.write(str(root / "a.md"), text.encode())
    assert workspace.changed() == []


def test_what_is_not_there_cannot_be_deleted(workspace: Workspace, root: Path) -> None:
    with pytest.raises(MemoryNotFound):
        workspace.write(str(root / "a.md"), b"<!-- delete: over -->")


@pytest.mark.parametrize(
    "name", ["../outside.md", "/etc/passwd", "a.txt", ".hidden.md", "CLAUDE.md", "sub/../../x.md", "con.md", "a\\b.md"]
)
def test_nothing_is_drafted_outside_or_under_a_forbidden_name(workspace: Workspace, root: Path, name: str) -> None:
    """E3."""
    with pytest.raises(PathEscape):
        workspace.write(os.path.join(root, name), b"x")
    assert not workspace.drafts


def test_links_that_lead_out_are_refused(workspace: Workspace, root: Path, tmp_path: Path) -> None:
    """E3: a file, a folder, a dangling link, a hard link."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("x", encoding="utf-8")
    (root / "file.md").symlink_to(outside / "x.md")
    (root / "folder").symlink_to(outside)
    (root / "dangling.md").symlink_to(outside / "new.md")
    os.link(outside / "x.md", root / "hard.md")
    for name in ("file.md", "folder/x.md", "folder/new.md", "dangling.md", "hard.md"):
        with pytest.raises(PathEscape):
            workspace.write(str(root / name), b"changed")
    assert (outside / "x.md").read_text(encoding="utf-8") == "x"
    assert not (outside / "new.md").exists()


def test_a_directory_reached_by_a_link_is_the_same_directory(store: MemoryStore, root: Path, tmp_path: Path) -> None:
    """A home may be a link: what is written by one name is listed and read by the other, once."""
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    workspace = Workspace([store])
    (root / "a.md").write_bytes(topic("A"))
    workspace.write(str(alias / "a.md"), topic("A", "new"))
    workspace.write(str(root / "b.md"), topic("B"))
    assert list(workspace.walk(str(alias))) == [str(alias / "a.md"), str(alias / "b.md")]
    assert workspace.read(str(alias / "b.md")) == topic("B")
    assert workspace.read(str(root / "a.md")) == topic("A", "new")


def test_the_innermost_store_gets_the_file(store: MemoryStore, root: Path) -> None:
    """E1: the team's directory lies inside the project's; both change together."""
    team = MemoryStore(store.place.team(), scope="team")
    team.ensure()
    workspace = Workspace([store, team])
    workspace.write(str(root / "a.md"), topic("A"))
    workspace.write(str(root / "team" / "b.md"), topic("B"))
    assert [draft.store.scope for draft in workspace.changed()] == ["project", "team"]
    before = len(store.history.log())
    workspace.commit(ORIGIN, "x")
    assert len(store.history.log()) == before + 1
    assert "(b.md)" in (root / "team" / "MEMORY.md").read_text(encoding="utf-8")
    assert "b.md" not in index(root)


def test_an_index_below_is_not_listed_in_the_index_above(workspace: Workspace, root: Path) -> None:
    workspace.write(str(root / "team" / "MEMORY.md"), b"- [B](b.md)\n")
    workspace.commit(ORIGIN, "x")
    assert not (root / "MEMORY.md").exists() or "team/MEMORY.md" not in index(root)


def test_stores_elsewhere_are_kept_apart(store: MemoryStore, root: Path, tmp_path: Path) -> None:
    users = MemoryStore(Place(str(tmp_path / "user-memory")), scope="user")
    users.ensure()
    workspace = Workspace([store, users])
    workspace.write(str(root / "a.md"), topic("A"))
    workspace.write(os.path.join(users.root, "b.md"), topic("B"))
    workspace.commit(ORIGIN, "x")
    assert store.read("a.md").name == "A"
    assert users.read("b.md").name == "B"


def test_where_one_draft_cannot_be_written_none_is(workspace: Workspace, root: Path) -> None:
    """A folder stands where one of the files should go: none is written, and the drafts are still there."""
    for name in ("a.md", "b.md"):
        workspace.write(str(root / name), topic(name))
    (root / "b.md").mkdir()
    with pytest.raises(PathEscape):
        workspace.commit(ORIGIN, "x")
    assert not (root / "a.md").exists()
    assert len(workspace.changed()) == 2


async def test_the_tools_do_not_know_the_difference(workspace: Workspace, root: Path, tmp_path: Path) -> None:
    """Read, Edit, Grep and Glob see drafts as if they were files."""
    (root / "disk.md").write_bytes(topic("Disk", "needle on disk"))
    tools = box(tmp_path, files=workspace)
    path = str(root / "draft.md")

    async def run(tool: str, **arguments: str) -> str:
        return (await tools.run(ToolUse("1", tool, arguments))).content

    await run("Write", file_path=path, content=topic("Draft", "needle in a draft").decode())
    await run("Edit", file_path=path, old_string="a draft", new_string="the draft")
    assert (await run("Read", file_path=path)).endswith("     7\tneedle in the draft")
    found = await run("Grep", pattern="needle", path=str(root))
    assert found.splitlines() == [f"{root}/disk.md:7:needle on disk", f"{path}:7:needle in the draft"]
    assert (await run("Grep", pattern="needle", path=path)).startswith(path)
    assert (await run("Glob", pattern="*.md", path=str(root))).splitlines() == [path, f"{root}/disk.md"]
    await run("Read", file_path=str(root / "disk.md"))
    await run("Write", file_path=str(root / "disk.md"), content="<!-- delete: gone -->")
    assert await run("Grep", pattern="needle", path=str(root), output_mode="files") == path
    assert "you deleted it" in await run("Read", file_path=str(root / "disk.md"))


def test_where_there_is_no_index_a_fork_cannot_write_one(tmp_path: Path) -> None:
    """S12: it is told, and its other files stand."""
    workspace = Workspace([MemoryStore(Place(str(tmp_path / "memory")), skip_index=True)])
    root = Path(workspace.stores[0].root)
    for name in ("MEMORY.md", "team/MEMORY.md"):
        with pytest.raises(BadMemoryFile, match="no index here"):
            workspace.write(str(root / name), b"- [A](a.md) \xe2\x80\x94 about it\n")
    workspace.write(str(root / "a.md"), topic("A"))
    assert [draft.key for draft in workspace.commit(ORIGIN, "one")] == ["a.md"]
    assert os.listdir(root) == ["a.md"]


def test_a_rule_that_is_written_over_another_three_times_is_one_memory_beside_it(
    store: MemoryStore, root: Path
) -> None:
    """ADR 0055."""
    branches = "---\nname: Branches\ndescription: prefixes\ntype: feedback\n---\n\nPrefix branches with feat.\n"
    (root / "feedback_branches.md").write_text(branches)
    store.record_outside_changes()
    drafts = Workspace([store], keeps_lines=True)
    for tag in ("v1", "v1.2", "v1.2.3"):
        text = f"---\nname: Release tags\ndescription: tag form\ntype: feedback\n---\n\nRelease tags look like {tag}.\n"
        drafts.write(str(root / "feedback_branches.md"), text.encode())
    drafts.commit(ORIGIN, "extract")
    assert sorted(path.name for path in root.iterdir()) == [
        "MEMORY.md",
        "feedback_branches.md",
        "feedback_release_tags.md",
    ]
    assert "v1.2.3" in (root / "feedback_release_tags.md").read_text()
    assert (root / "feedback_branches.md").read_text() == branches
