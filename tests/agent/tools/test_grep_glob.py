"""Grep gives the same answer with ripgrep and without; Glob knows the patterns that models use."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from memdir.agent.file_access import DiskFiles
from memdir.agent.tools import search_tools
from memdir.agent.tools.search_tools import GlobTool, GrepTool, glob_pattern
from memdir.agent.tools.tool import ToolContext
from memdir.disk.programs import find_program
from memdir.errors import BadMemoryFile
from memdir.transcript.message import Json, ToolUse
from tests.agent.boxes import box
from tests.leaks import nothing_left_behind
from tests.timing import cpu_seconds

RIPGREP = find_program("rg")
needs_ripgrep = pytest.mark.skipif(not RIPGREP, reason="ripgrep is not installed: both ways cannot be compared")

ODD_FILES: dict[str, bytes] = {
    "plain.md": b"alpha\nbeta\ngamma alpha\n",
    "no_newline.md": b"alpha at the very end",
    "empty.md": b"",
    "only_newlines.md": b"\n\n\n",
    "windows.md": b"alpha\r\nbeta\r\n",
    "old_mac.md": b"alpha\rbeta\rgamma",
    "latin1.md": "caf\xe9 alpha na\xefve\n".encode("latin-1"),
    "utf8.md": "café ALPHA Straße ÄÖÜ 東京 \U0001f600\n".encode(),
    "bom.md": b"\xef\xbb\xbfalpha with a mark\n",
    "utf16.md": b"\xff\xfe" + "alpha\n".encode("utf-16-le"),
    "binary_early.bin": b"alpha\0beta\nalpha\n",
    "binary_late.bin": b"alpha\n" * 20_000 + b"\0" + b"alpha\n",
    "separators.md": "alpha\x0bbeta\x0calpha\x1cx\x85y\u2028alpha\u2029z\nalpha\n".encode(),
    "controls.md": b"\x1b[31malpha\x1b[0m\x07\n",
    "long_line.md": b"x" * 5000 + b"alpha" + b"y" * 5000 + b"\n",
    "tabs.md": b"\talpha\t\n   alpha   \n",
    "regex.md": b"a.c a+c a[c (alpha) $5 ^x {1} \\d | ? *\n",
    "numbers.md": b"12 345 6\n\xd9\xa3\xd9\xa4 arabic digits\n",
    "with space.md": b"alpha\n",
    "co:lon:7:x.md": b"alpha\n",
    "new\nline.md": b"alpha\n",
    "-dash.md": b"alpha\n",
    "--pre=evil.md": b"alpha\n",
    "bä.md": b"alpha\n",
    "sub/inner.md": b"alpha in a folder\n",
    "sub.md": b"alpha beside the folder\n",
    "sub/deeper/most.txt": b"alpha deep down\n",
    ".hidden.md": b"alpha hidden\n",
    ".git/config": b"alpha in git\n",
    "node/.cache/x.md": b"alpha cached\n",
}
QUERIES: list[dict[str, Json]] = [
    {"pattern": "alpha"},
    {"pattern": "alpha", "ignore_case": True},
    {"pattern": "^alpha$"},
    {"pattern": "alpha$"},
    {"pattern": "^$"},
    {"pattern": "^"},
    {"pattern": "caf."},
    {"pattern": "na.ve"},
    {"pattern": r"\w+ße", "ignore_case": True},
    {"pattern": "äöü", "ignore_case": True},
    {"pattern": r"\d+"},
    {"pattern": r"\bbeta\b"},
    {"pattern": r"\s+alpha\s*$"},
    {"pattern": "(alpha|gamma) (alpha|at)"},
    {"pattern": "[^a-z]alpha"},
    {"pattern": r"a\.c"},
    {"pattern": "東."},
    {"pattern": "x{5000}alpha"},
    {"pattern": "alpha", "glob": "*.md"},
    {"pattern": "alpha", "glob": "*.{md,txt}"},
    {"pattern": "alpha", "glob": "sub/*"},
    {"pattern": "alpha", "glob": "sub/**"},
    {"pattern": "alpha", "glob": "[pw]*.md"},
    {"pattern": "alpha", "glob": "!plain.md"},
    {"pattern": "alpha", "output_mode": "files"},
    {"pattern": "alpha", "output_mode": "count"},
    {"pattern": "^", "output_mode": "count"},
    {"pattern": "alpha", "path": "sub"},
    {"pattern": "alpha", "path": "plain.md"},
    {"pattern": "alpha", "path": "binary_early.bin"},
    {"pattern": "alpha", "path": ".hidden.md"},
    {"pattern": "nowhere to be found"},
    {"pattern": r"alpha(?= with)"},
    {"pattern": r"(?<!gamma )alpha$"},
    {"pattern": r"(al)pha.*\1"},
    {"pattern": "alpha\\nbeta"},
    {"pattern": "-alpha"},
    {"pattern": "--regexp"},
]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus")
    for name, data in ODD_FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    Path(os.fsdecode(os.fsencode(root) + b"/bad\xffname.md")).write_bytes(b"alpha\n")
    (root / "link.md").symlink_to(root / "plain.md")
    (root / "link_folder").symlink_to(root / "sub")
    (root / "dangling.md").symlink_to(root / "none")
    os.mkfifo(root / "pipe.md")
    (root / "locked.md").write_bytes(b"alpha\n")
    (root / "locked.md").chmod(0)
    return root


async def search(folder: Path, program: str, **arguments: Json) -> str:
    outcome = await GrepTool(program=program).run(arguments, ToolContext(str(folder), DiskFiles()))
    return outcome.content.replace(str(folder), "")


@needs_ripgrep
@pytest.mark.parametrize("query", QUERIES, ids=repr)
async def test_ripgrep_and_our_own_give_the_same_output(corpus: Path, query: dict[str, Json]) -> None:
    assert await search(corpus, RIPGREP, **query) == await search(corpus, "", **query)


@needs_ripgrep
async def test_the_user_s_own_settings_of_ripgrep_change_nothing(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ripgreprc").write_text("--invert-match\n", encoding="utf-8")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "ripgreprc"))
    assert await search(corpus, RIPGREP, pattern="alpha") == await search(corpus, "", pattern="alpha")


async def test_lines_come_with_path_and_number_in_order_of_paths(corpus: Path) -> None:
    lines = (await search(corpus, "", pattern="^alpha")).splitlines()
    assert "/plain.md:1:alpha" in lines
    assert lines.index("/sub/inner.md:1:alpha in a folder") < lines.index("/sub.md:1:alpha beside the folder")
    names = [line.split(":")[0] for line in lines]
    assert not [name for name in names if "hidden" in name or "git" in name or "link" in name or "bin" in name]


async def test_what_was_not_found_is_said(corpus: Path) -> None:
    context = ToolContext(str(corpus), DiskFiles())
    assert (await GrepTool().run({"pattern": "zzz"}, context)).content == "Nothing matches."


@pytest.mark.parametrize("pattern", ["(", "[", "a**", "(?P<x", r"\p{L}", "[[:alpha:]]", "a\0b", "\ud800"])
async def test_a_pattern_that_is_none_is_told(corpus: Path, pattern: str) -> None:
    with pytest.raises(BadMemoryFile, match="no regular expression"):
        await search(corpus, "", pattern=pattern)


async def test_a_pattern_that_takes_minutes_to_read_is_refused(corpus: Path) -> None:
    with pytest.raises(BadMemoryFile, match="more than 1,000 characters"):
        await search(corpus, "", pattern="(?i)" + "".join(f"[{chr(200 + n)}-\uffff]" for n in range(9_000)))


async def test_a_place_that_is_none_is_told(corpus: Path) -> None:
    for name in ("none", "pipe.md"):
        with pytest.raises(Exception, match="no file|no plain file"):
            await search(corpus, "", pattern="x", path=name)


@pytest.mark.parametrize("program", ["", pytest.param(RIPGREP, marks=needs_ripgrep)], ids=["ours", "ripgrep"])
async def test_too_many_matches_are_cut_and_said(tmp_path: Path, program: str) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.md").write_text("match\n" * 100, encoding="utf-8")
    lines = (await search(tmp_path, program, pattern="match")).splitlines()
    assert len(lines) == search_tools.MAX_MATCHES + 1
    assert lines[0] == "/00.md:1:match"
    assert lines[-2] == "/04.md:100:match"
    assert "narrow the pattern" in lines[-1]


@pytest.mark.parametrize("program", ["", pytest.param(RIPGREP, marks=needs_ripgrep)], ids=["ours", "ripgrep"])
async def test_giant_files_without_text_do_not_hide_the_rest(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of megabytes that is no text uses up the room of a run: the files behind it are searched all the same."""
    monkeypatch.setattr(search_tools, "MAX_OUTPUT_BYTES", 1 << 20)
    for number in range(3):
        (tmp_path / f"{number}.bin").write_bytes(b"alpha" + b"x" * (1 << 20) + b"\0\n")
    (tmp_path / "z.md").write_bytes(b"alpha\n")
    assert await search(tmp_path, program, pattern="alpha") == "/z.md:1:alpha"


async def test_files_too_large_for_text_are_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or an agent says that nothing is in a log that nobody searched."""
    monkeypatch.setattr(search_tools, "MAX_FILE_BYTES", 10)
    (tmp_path / "large.md").write_bytes(b"alpha and more\n")
    (tmp_path / "small.md").write_bytes(b"alpha\n")
    unsearched = "… not searched, since too large: /large.md"
    assert await search(tmp_path, "", pattern="alpha", output_mode="files") == f"/small.md\n{unsearched}"
    assert await search(tmp_path, "", pattern="more", path="large.md") == f"Nothing matches.\n{unsearched}"


async def test_a_search_that_did_not_look_at_all_files_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_tools, "MAX_LOOKED_AT", 1)
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_bytes(b"alpha\n")
    assert "there are too many files" in await search(tmp_path, "", pattern="beta")


def test_a_pattern_that_never_ends_is_stopped_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model may write it, or be talked into it: the host's process must not stand still for it."""
    monkeypatch.setattr(search_tools, "TIMEOUT_SECONDS", 0.5)
    (tmp_path / "a.md").write_text("a" * 40 + "!\n", encoding="utf-8")

    async def scenario() -> None:
        searching = asyncio.create_task(search(tmp_path, "", pattern=r"^(a+)+$"))
        started = time.monotonic()
        await asyncio.sleep(0.01)
        assert time.monotonic() - started < 0.4, "the loop goes on meanwhile"
        with pytest.raises(BadMemoryFile, match="took too long"):
            await searching

    with nothing_left_behind():
        asyncio.run(scenario())


def test_a_search_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a" * 40 + "!\n", encoding="utf-8")

    async def scenario() -> None:
        searching = asyncio.create_task(search(tmp_path, "", pattern=r"^(a+)+$"))
        while not _has_children():
            await asyncio.sleep(0.001)
        searching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searching

    with nothing_left_behind():
        asyncio.run(scenario())


def _has_children() -> bool:
    return any(Path(f"/proc/self/task/{task}/children").read_text() for task in os.listdir("/proc/self/task"))


# Glob ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("*.md", ["a.md", ".md"], ["a/b.md", "a.mdx"]),
        ("**/*.md", ["a.md", "a/b.md", "a/b/c.md"], ["a.txt"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "other/src/a"]),
        ("src/**/test_*.py", ["src/test_a.py", "src/a/b/test_x.py"], ["src/a/x.py"]),
        ("?.md", ["a.md"], ["ab.md", "/.md"]),
        ("*.{js,ts}", ["a.js", "b.ts"], ["a.py", "a.{js,ts}"]),
        ("{a,b{c,d}}.md", ["a.md", "bc.md", "bd.md"], ["b.md"]),
        ("[ab]*.md", ["a.md", "bx.md"], ["c.md"]),
        ("[!ab].md", ["c.md"], ["a.md", "/.md"]),
        ("[a-c][0-9].md", ["b7.md"], ["d7.md", "b-.md"]),
        ("a+b(c).md", ["a+b(c).md"], ["aab.md"]),
        ("[.md", ["[.md"], ["a.md"]),
        ("./a.md", ["a.md"], ["b.md"]),
        ("a\nb.md", ["a\nb.md"], ["ab.md"]),
        ("**.md", ["a.md", "a/b.md"], ["a.txt", "a.md/b"]),
        ("**", ["a", "a/b/c"], []),
        ("**/**/a/**", ["a/b", "x/a/b/c"], ["a", "x/a"]),
        ("**/a/b/**/c", ["a/b/c", "a/a/b/c", "a/b/a/b/x/c"], ["a/c", "a/x/b/c", "a/b/c/d"]),
        ("a/**/b/*/c", ["a/b/x/c", "a/b/b/x/c", "a/b/b/c"], ["a/b/c", "a/b/x/y/c"]),
        ("*ab*ab", ["abab", "aabxab", "ababab"], ["ab", "aba", "abab/x"]),
        ("*a*b*c*", ["abc", "xaybzc1"], ["acb", "ab/c"]),
        ("a***b", ["ab", "axxb"], ["a/b"]),
        ("a[.-0]b", ["a.b", "a0b"], ["a/b"]),
    ],
)
def test_patterns(pattern: str, fitting: list[str], other: list[str]) -> None:
    fits = glob_pattern(pattern)
    assert [name for name in fitting if not fits(name)] == []
    assert [name for name in other if fits(name)] == []


def test_a_bomb_of_braces_is_refused() -> None:
    with pytest.raises(BadMemoryFile, match="choices"):
        glob_pattern("{a,b}" * 20)


LONG_NAME = "a" * 250
STARS = [
    *("**a**a**a**a**ab", "*a" * 200 + "b", "*" * 200 + "x", "?*" * 120 + "b", "*?a" * 100 + "b", "[ab]*" * 100 + "c"),
    *("**/*a/" * 60 + "b", "**/a*a*a/**/" * 40 + "b", "{" + ",".join(["*a*a*a*a*b"] * 60) + "}", "*{a,b}" * 6 + "c"),
]


@pytest.mark.parametrize("pattern", STARS)
def test_no_pattern_makes_a_name_take_long(pattern: str) -> None:
    fits = glob_pattern(pattern)
    for name in (LONG_NAME, "/".join([LONG_NAME] * 15), "/".join("a" * 2000)):
        assert not fits(name)
        assert cpu_seconds(lambda name=name: fits(name), enough=0.5) < 0.5


@pytest.mark.parametrize("pattern", ["a" * 1001, "[z-a]"])
def test_a_glob_that_is_none_is_told(pattern: str) -> None:
    with pytest.raises(BadMemoryFile, match="the pattern"):
        glob_pattern(pattern)


async def glob(folder: Path, pattern: str, path: str = "") -> list[str]:
    arguments: dict[str, Json] = {"pattern": pattern, **({"path": path} if path else {})}
    outcome = await GlobTool().run(arguments, ToolContext(str(folder), DiskFiles()))
    return outcome.content.replace(str(folder), "").splitlines()


async def test_the_newest_come_first(tmp_path: Path) -> None:
    for age, name in enumerate(("new.md", "sub/older.md", "oldest.md")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
        os.utime(path, (1000 - age, 1000 - age))
    assert await glob(tmp_path, "**/*.md") == ["/new.md", "/sub/older.md", "/oldest.md"]
    assert await glob(tmp_path, "*.md", "sub") == ["/sub/older.md"]
    assert await glob(tmp_path / "sub", f"{tmp_path}/*.md") == [f"{tmp_path}/new.md", f"{tmp_path}/oldest.md"]
    assert await glob(tmp_path, f"{tmp_path}/new.md") == ["/new.md"]
    assert await glob(tmp_path, "*.py") == ["No file fits."]


async def test_links_pipes_and_hidden_files_are_left_out(corpus: Path) -> None:
    found = await glob(corpus, "**/*")
    assert "/plain.md" in found
    assert not [name for name in found if "link" in name or "pipe" in name or "/." in name or "dangling" in name]


async def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    outcome = await GlobTool().run({"pattern": "*", "path": "none"}, ToolContext(str(tmp_path), DiskFiles()))
    assert outcome.is_error and "There is no folder" in outcome.content


async def test_very_many_are_counted_not_listed(tmp_path: Path) -> None:
    for number in range(205):
        (tmp_path / f"{number}.md").touch()
    lines = await glob(tmp_path, "*.md")
    assert len(lines) == 201
    assert lines[-1] == "… 5 more"


async def test_a_name_with_a_line_break_names_one_file(tmp_path: Path) -> None:
    (tmp_path / "a\n").mkdir()
    (tmp_path / "a\n" / "b.md").touch()
    assert await glob(tmp_path, "**/*.md") == ["/a␊/b.md"]


async def test_grep_leaves_credentials_out_and_glob_only_names_them(tmp_path: Path) -> None:
    for name in ("server.pem", "id_rsa", "prod.env", "notes.txt"):
        (tmp_path / name).write_text("needle\n", encoding="utf-8")
    found = await box(tmp_path).run(ToolUse("1", "Grep", {"pattern": "needle"}))
    assert found.content == f"{tmp_path / 'notes.txt'}:1:needle"
    named = await box(tmp_path).run(ToolUse("1", "Grep", {"pattern": "needle", "path": "server.pem"}))
    assert named.is_error
    assert "needle" not in named.content
    listed = await box(tmp_path).run(ToolUse("1", "Glob", {"pattern": "*"}))
    assert "server.pem" in listed.content
