"""The command line as a person uses it."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdir.memdir import open_memory
from tests.conftest import Ran

Memdir = Callable[..., Ran]


def answer(ran: Ran) -> Any:
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def memory_folder(project: Path) -> Path:
    return Path(open_memory(project).place.root)


def test_remember_list_show_search_forget_undo(memdir: Memdir, project: Path) -> None:
    ran = memdir("remember", "Deploys are frozen until 2026-12-01: the auditors are in the house")
    assert ran.code == 0
    assert ran.out.startswith("Remembered project project_deploys_are_frozen_until_2026_12_01.md")
    assert "Deploys are frozen" in memdir("list").out
    assert "auditors are in the house" in memdir("show", "frozen").out
    assert "project_deploys" in memdir("search", "AUDITORS").out
    assert memdir("search", "unicorn").code == 1
    assert memdir("forget", "frozen").code == 0
    assert "Nothing is remembered" in memdir("list").out
    assert memdir("undo").out.startswith("Took back")
    assert "Deploys are frozen" in memdir("list").out


def test_remember_takes_its_parts_as_given(memdir: Memdir, project: Path) -> None:
    words = ("remember", "text", "--type", "feedback", "--name", "Title", "--description", "A line: with colon")
    answered = answer(memdir(*words, "--json"))
    assert answered["file"] == "feedback_title.md"
    assert (memory_folder(project) / "feedback_title.md").read_text() == (
        '---\nname: Title\ndescription: "A line: with colon"\ntype: feedback\n---\n\ntext\n'
    )
    assert answer(memdir(*words, "--json"))["new"] is False


def test_remember_reads_standard_input_and_refuses_nothing(memdir: Memdir) -> None:
    assert memdir("remember", "-", stdin="from a pipe\n").code == 0
    ran = memdir("remember", "   ")
    assert (ran.code, ran.out) == (2, "")
    assert "nothing to remember" in ran.err


@pytest.mark.parametrize(("typed", "meant"), [("grafna", "Grafana"), ("dashbords", "dashboard")])
def test_search_marks_the_word_that_a_slip_meant(
    memdir: Memdir, project: Path, monkeypatch: pytest.MonkeyPatch, typed: str, meant: str
) -> None:
    memory = open_memory(project)
    memory.start()
    head = "---\nname: Latency\ndescription: Grafana has a dashboard\ntype: reference\n---\n\n"
    Path(memory.place.root, "latency.md").write_text(f"{head}Ask.\nThis Grafana dashboard\n", encoding="utf-8")
    monkeypatch.setenv("FORCE_COLOR", "1")
    described, snippet = memdir("search", typed).out.splitlines()
    assert f"\x1b[31m{meant}\x1b[0m" in described
    assert "This" in snippet and f"\x1b[31m{meant}\x1b[0m" in snippet


def test_search_knows_what_day_it_is(memdir: Memdir, project: Path) -> None:
    """R8: a past day in the query speaks for what was written then."""
    root = memory_folder(project)
    root.mkdir(parents=True)
    for name, days_old in (("then.md", 9), ("since.md", 1)):
        (root / name).write_text("---\nname: Lunch\ndescription: lunch about flour\ntype: project\n---\n\nNice.\n")
        os.utime(root / name, (time.time() - days_old * 86_400,) * 2)
    assert answer(memdir("search", "flour lunch", "--json"))["matches"][0]["file"] == "since.md"
    assert answer(memdir("search", "flour lunch nine days ago", "--json"))["matches"][0]["file"] == "then.md"


def test_scopes_are_kept_apart(memdir: Memdir) -> None:
    memdir("remember", "I know databases", "--scope", "user")
    memdir("remember", "Rule of the team", "--scope", "team", "--set", "team.enabled=true")
    assert [m["name"] for m in answer(memdir("list", "--scope", "user", "--json"))["memories"]] == ["I know databases"]
    assert [m["file"] for m in answer(memdir("list", "--json"))["memories"]] == ["team/project_rule_of_the_team.md"]
    assert memdir("list", "--scope", "galaxy").code == 2


def test_what_is_ones_own_for_all_projects_is_found_by_name_in_each(
    memdir: Memdir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S9: what `list --scope all` names, the other commands know without being told where it lies."""
    monkeypatch.setenv("EDITOR", "true")
    memdir("remember", "zebra stripes on slides", "--scope", "user", "--name", "Zebra")
    memdir("remember", "kestrel is the staging server", "--name", "Kestrel")
    assert "zebra stripes" in memdir("show", "zebra").out
    assert "written by you" in memdir("why", "zebra").out
    assert memdir("edit", "zebra").code == 0
    assert "  scope user" in memdir("forget", "zebra").out and memdir("list", "--scope", "user").out.startswith(
        "Nothing"
    )
    assert "  scope user" in memdir("restore", "zebra").out and "zebra" in memdir("list", "--scope", "user").out
    assert "scope" not in memdir("forget", "kestrel").out
    refused = memdir("show", "zebra", "--scope", "project")
    assert (refused.code, refused.out) == (6, "") and "no memory 'zebra'" in refused.err
    memdir("remember", "zebra crossings are counted here", "--name", "Zebra crossing")
    assert "crossings" in memdir("show", "zebra").out, "the project's own goes first"


def test_options_stand_anywhere_among_the_words(memdir: Memdir) -> None:
    ran = memdir("remember", "rule", "--type", "feedback", "--", "-x", "--json", "are flags", "--name", "Flags")
    assert ran.code == 0 and "rule -x --json are flags --name Flags" in memdir("show", "rule").out
    memdir("remember", "--", "-5C is cold", "--name it")
    assert memdir("forget", "rule", "--scope", "project", "cold").code == 0
    assert memdir("list").out.startswith("Nothing")
    assert memdir("config", "set", "recall.selector", "--layer", "local", "local").code == 0
    ran = memdir("remember", "use", "-x")
    assert ran.code == 2 and "no option -x" in ran.err and "behind --" in ran.err


def test_list_filters_by_type_and_reports_what_it_cannot_read(memdir: Memdir, project: Path) -> None:
    memdir("remember", "a", "--type", "user")
    memdir("remember", "b", "--type", "feedback")
    (memory_folder(project) / "plain.md").write_text("no frontmatter")
    (memory_folder(project) / "junk.md").write_bytes(b"\0\1\2")
    assert [m["type"] for m in answer(memdir("list", "--type", "user", "--json"))["memories"]] == ["user"]
    assert [m["file"] for m in answer(memdir("list", "--type", "none", "--json"))["memories"]] == ["plain.md"]
    ran = memdir("list")
    assert "junk.md was left out: it is not a text file" in ran.err


def test_show_raw_is_the_file_byte_for_byte(memdir_command: str, project: Path) -> None:
    import subprocess

    folder = memory_folder(project)
    folder.mkdir(parents=True)
    data = b"\xef\xbb\xbf---\r\nname: x\r\n---\r\n\x1b[31mred\xff"
    (folder / "x.md").write_bytes(data)
    done = subprocess.run([memdir_command, "show", "x", "--raw"], cwd=project, capture_output=True, check=True)
    assert done.stdout == data


def test_the_path_is_the_last_line_and_exists(memdir: Memdir, project: Path) -> None:
    ran = memdir("path")
    assert Path(ran.out.splitlines()[-1]) == memory_folder(project)
    assert memory_folder(project).is_dir()
    assert answer(memdir("path", "--json"))["history"].endswith("history.git")


def test_prompt_prints_the_section_and_the_index(memdir: Memdir, monkeypatch: pytest.MonkeyPatch) -> None:
    memdir("remember", "Something")
    assert memdir("prompt").out.startswith("# Memory\n")
    assert "Contents of" not in memdir("prompt").out
    assert "- [Something]" in memdir("prompt", "--index").out
    monkeypatch.setenv("MEMDIR_DISABLE", "1")
    assert memdir("prompt").out == ""
    assert answer(memdir("prompt", "--json"))["enabled"] is False


def test_off_is_said_with_its_reason(memdir: Memdir) -> None:
    assert "memory is off" in memdir("dream", "--set", "memoryEnabled=false").err
    for words in (("remember", "x", "--bare"), ("list", "--set", "memoryEnabled=false")):
        ran = memdir(*words)
        assert ran.code == 1
        assert "memory is off" in ran.err


def test_log_diff_restore_and_why(memdir: Memdir, project: Path) -> None:
    memdir("remember", "First words", "--name", "note")
    path = memory_folder(project) / "project_note.md"
    path.write_text(path.read_text().replace("First words", "Other words"))
    log = answer(memdir("log", "--json"))["changes"]
    assert [entry["source"] for entry in log] == ["outside", "cli"]
    diff = memdir("diff")
    assert "-First words" in diff.out and "+Other words" in diff.out
    assert "+First words" in memdir("diff", log[1]["id"][:8]).out
    assert "outside memdir" in memdir("why", "note").out
    assert memdir("restore", "note").code == 0
    assert "First words" in path.read_text()
    path.unlink()
    assert memdir("restore", "project_note.md", "--at", log[0]["id"][:8]).code == 0
    assert "Other words" in path.read_text()
    assert "project_note.md" in memdir("log", "project_note.md").out
    assert memdir("diff", "nothing-like-it").code == 6


def test_what_cannot_be_taken_back_names_the_way_in_its_scope(memdir: Memdir, tmp_path: Path) -> None:
    memdir("remember", "I work in the mornings", "--scope", "user", "--name", "note")
    [path] = [one for one in (tmp_path / "home/memory").glob("*.md") if one.name != "MEMORY.md"]
    for words in ("evenings", "nights"):
        path.write_text(path.read_text().replace("mornings", words).replace("evenings", words))
        memdir("log", "--scope", "user")
    second = answer(memdir("log", "--scope", "user", "--json"))["changes"][1]["id"]
    refused = memdir("undo", second, "--scope", "user")
    assert refused.code != 0 and "--scope user` brings back" in " ".join(refused.err.split())


def test_undo_takes_back_the_newest_change_in_whichever_scope(memdir: Memdir) -> None:
    """S14: what was just saved for all projects is the last thing that was done here."""
    memdir("remember", "The blue door is locked at night")
    memdir("remember", "I like tea", "--scope", "user")
    for words in (("log",), ("log", "--scope", "all")):
        log = answer(memdir(*words, "--json"))["changes"]
        assert [(one["subject"], one["scope"]) for one in log] == [
            ("remember I like tea", "user"),
            ("remember The blue door is locked at night", "project"),
        ]
    assert "+I like tea" in memdir("diff").out and "+I like tea" in memdir("diff", log[0]["id"][:8]).out
    assert answer(memdir("undo", "--scope", "project", "--dry-run", "--json"))["subject"].endswith("at night")
    assert "I like tea  scope user" in memdir("undo").out
    listed = answer(memdir("list", "--scope", "all", "--json"))["memories"]
    assert [one["file"] for one in listed] == ["project_the_blue_door_is_locked_at_night.md"]
    assert "at night" in memdir("undo", "--scope", "all").out
    assert memdir("undo").code == 6
    assert answer(memdir("undo", log[0]["id"][:8], "--dry-run", "--json"))["scope"] == "user"
    assert "tea" in memdir("log", "tea").out and memdir("log", "nonsense").code == 6


def test_what_is_nearest_among_ones_own_memories_is_found_beside_all_that_is_near_in_the_project(
    memdir: Memdir,
) -> None:
    """R8: a limit leaves out what is less near, in whichever scope."""
    for name in ("alpha", "beta", "gamma", "delta"):
        memdir("remember", f"The deploy of {name} runs at night")
    memdir("remember", "I approve each deploy budget myself", "--scope", "user")
    found = answer(memdir("search", "deploy", "budget", "review", "--limit", "3", "--json"))["matches"]
    assert len(found) == 3 and "user" in [one["scope"] for one in found]


def test_what_is_newest_is_listed_first_whichever_scope_it_is_of(memdir: Memdir) -> None:
    """S9: what a limit leaves out is older, and the word behind it leads to the rest."""
    memdir("remember", "The blue door is locked at night")
    memdir("remember", "The red door is never locked")
    memdir("remember", "I like tea", "--scope", "user")
    listed = answer(memdir("list", "--scope", "all", "--limit", "2", "--json"))["memories"]
    assert [one["scope"] for one in listed] == ["user", "project"]
    told = memdir("list", "--scope", "all", "--limit", "2").out
    assert "tea" in told and "… and 1 older: --all shows them" in told


@pytest.mark.parametrize("text", ["Never use tabs in this repo", "Hier bitte immer auf Deutsch antworten"])
def test_what_holds_here_and_is_kept_for_all_projects_as_asked_is_told_once(memdir: Memdir, text: str) -> None:
    """T1: the person said the scope, so it is done."""
    told = memdir("remember", text, "--scope", "user")
    assert told.code == 0 and told.err.count("--scope project") == 1
    assert answer(memdir("list", "--scope", "user", "--json"))["total"] == 1
    for more in ("I prefer short answers", "Never use tabs, and not only in this repo"):
        assert not memdir("remember", more, "--scope", "user").err


def test_a_home_of_another_agent_is_no_place_for_a_move_to_all_projects(
    memdir: Memdir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ADR 0057: its agent reads the project's directory alone."""
    assert "--scope user" in memdir("remember", "I am a data scientist", "--type", "user").err
    (tmp_path / ".claude").mkdir()
    monkeypatch.setenv("MEMDIR_HOME", str(tmp_path / ".claude"))
    told = memdir("remember", "I am a data scientist", "--type", "user")
    assert told.code == 0 and "--scope user" not in told.err


def test_an_unknown_scope_is_answered_with_those_that_the_command_takes(memdir: Memdir) -> None:
    told = memdir("list", "--scope", "agnt")
    assert told.code == 2 and "there is no scope 'agnt'" in told.err
    assert "all, project, user" in told.err and "docs" not in told.err
    assert "docs" in memdir("restore", "x", "--scope", "agnt").err
    assert memdir("forget", "x", "--scope", "all").code == 2


def test_names_that_are_taken_are_told_apart_by_the_words_that_differ(memdir: Memdir) -> None:
    for place in ("cold room", "freezer", "outdoor rack"):
        for _ in ("once", "and again"):
            memdir("remember", f"-5 degrees is the limit of the {place}")
    named = {one["name"] for one in answer(memdir("list", "--json"))["memories"]}
    start = "-5 degrees is the limit of the"
    assert named == {"-5 degrees is the limit", f"{start} freezer", f"{start} outdoor rack"}
    assert "nearly the same" not in memdir("doctor").out, "each has words that the others have not"


def test_before_the_first_change_there_is_nothing_to_show(memdir: Memdir) -> None:
    assert "Nothing has changed yet" in memdir("log").out
    assert memdir("diff").code == 6
    assert memdir("undo").code == 6


def test_edit_opens_the_editor_and_checks_what_comes_back(
    memdir: Memdir, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memdir("remember", "Old text", "--name", "note")
    path = memory_folder(project) / "project_note.md"

    def editor(script: str) -> None:
        (tmp_path / "editor.sh").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "editor.sh").chmod(0o755)
        monkeypatch.setenv("EDITOR", str(tmp_path / "editor.sh"))

    editor('sed -i "s/Old text/New text/" "$1"')
    assert memdir("edit", "note").out.startswith("Saved")
    assert "New text" in path.read_text()
    editor("true")
    assert "Nothing changed" in memdir("edit", "note").out
    editor('echo "no frontmatter any more" > "$1"')
    ran = memdir("edit", "note")
    assert ran.code == 5
    assert "New text" in path.read_text(), "what is no memory is not taken"
    draft = ran.err.split("Your text is kept in ")[1].strip()
    assert Path(draft).read_text() == "no frontmatter any more\n"
    editor("exit 3")
    assert "status 3" in memdir("edit", "note").err
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert "cannot be started" in memdir("edit", "note").err
    editor(f'sed -i "s/New text/Mine/" "$1"; sed -i "s/New text/Theirs/" "{path}"')
    ran = memdir("edit", "note")
    assert ran.code == 7
    assert "Theirs" in path.read_text()
    assert "Mine" in Path(ran.err.split("Your text is kept in ")[1].strip()).read_text()


def test_settings_show_layers_and_refusals(memdir: Memdir, project: Path) -> None:
    (project / ".memdir").mkdir()
    (project / ".memdir" / "settings.json").write_text('{"memoryDirectory": "/etc", "skipIndex": true}')
    answered = answer(memdir("settings", "--json"))
    assert answered["settings"]["skipIndex"] == {"value": True, "from": "project"}
    assert answered["refused"][0]["name"] == "memoryDirectory"
    assert "refused: memoryDirectory" in memdir("settings").out
    assert memdir("settings", "--set", "nonsense=1").code == 3
    assert memdir("settings", "--set", "nonsense").code == 2
    assert "must be a whole number" in memdir("settings", "--set", "dream.hours=²").err


def test_export_and_import(memdir: Memdir, tmp_path: Path) -> None:
    memdir("remember", "One")
    assert "Exported 1 memory to" in memdir("export", str(tmp_path / "out.zip")).out
    packed = (tmp_path / "out.zip").read_bytes()
    refused = memdir("export", str(tmp_path / "out.zip"))
    assert refused.code == 9 and "--force" in refused.err
    assert (tmp_path / "out.zip").read_bytes() == packed
    assert (tmp_path / "out.zip").stat().st_mode & 0o777 == 0o600
    assert memdir("export", str(tmp_path / "out.zip"), "--force").code == 0
    assert answer(memdir("import", str(tmp_path / "out.zip"), "--scope", "user", "--json"))["added"] == [
        "project_one.md"
    ]
    assert "1 already there" in memdir("import", str(tmp_path / "out.zip")).out
    assert memdir("import", str(tmp_path / "nowhere")).code == 8
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("x")
    ran = memdir("import", str(folder))
    assert ran.code == 1
    assert "instructions" in ran.out
    told = json.loads(memdir("import", str(folder), "--json").out)
    assert told["ok"] is False and list(told["refused"]) == ["CLAUDE.md"]


def test_limits_say_no_at_the_door_with_the_remedy(memdir: Memdir) -> None:
    """What no list shows whole is refused, and what a conversation is not shown is told."""
    for option, most in (("--name", 200), ("--description", 400)):
        ran = memdir("remember", "Deploys run on Tuesdays", option, "é" * (most + 1))
        assert ran.code != 0 and f"{most + 1} characters, and at most {most} are kept" in ran.err
        assert "into the text" in ran.err
    assert answer(memdir("list", "--json"))["memories"] == []
    long = memdir("remember", "-", "--name", "n" * 200, "--description", "d" * 400, stdin="A log line. " * 1_000)
    assert long.code == 0 and "8,000 characters" in long.err and "split" in long.err


def test_a_moved_project_says_that_it_found_its_memory(memdir: Memdir, project: Path, git: Callable[..., str]) -> None:
    """I1."""
    git("init", "--quiet", cwd=project)
    git("commit", "--quiet", "--allow-empty", "-m", "first", cwd=project)
    memdir("remember", "Kept")
    away = project.rename(project.with_name("elsewhere"))
    project.mkdir()
    ran = memdir("path", cwd=away)
    assert "took it over" in ran.err, "the old place is no repository any more"
    assert "Kept" in memdir("list", cwd=away).out


READING = (
    ("list",),
    ("list", "--scope", "all", "--json"),
    ("show", "Kept"),
    ("search", "Kept"),
    ("recall", "is it kept?"),
    ("log",),
    ("diff",),
    ("why", "Kept"),
    ("undo", "--dry-run"),
    ("sessions",),
    ("sessions", "search", "Kept"),
    ("check",),
    ("doctor",),
    ("budget",),
    ("config",),
    ("config", "get", "skipIndex"),
    ("adopt",),
    ("path",),
    ("prompt", "--index"),
    ("export", "all.zip"),
    ("dream", "--dry-run"),
)


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_every_command_finds_the_store_of_a_moved_project(
    memdir: Memdir, project: Path, words: tuple[str, ...]
) -> None:
    """I1: reading ones too, and without git."""
    memdir("remember", "Kept where it was")
    away = project.rename(project.with_name("elsewhere"))
    ran = memdir(*words, cwd=away)
    assert f"under its old path {project} and took it over" in ran.err
    assert "Kept where it was" in memdir("list", cwd=away).out


def test_a_store_that_cannot_follow_is_told(memdir: Memdir, project: Path, tmp_path: Path) -> None:
    memdir("remember", "Kept")
    away = project.rename(project.with_name("elsewhere"))
    (tmp_path / "home" / "adopt.lock").mkdir()
    ran = memdir("list", cwd=away)
    assert ran.code == 0 and "its memory could not follow yet" in ran.err
    assert memdir("remember", "Not beside it", cwd=away).code == 9, "nor is a second store begun"


def test_whoever_turned_memory_off_moves_nothing(memdir: Memdir, project: Path) -> None:
    memdir("remember", "Kept")
    away = project.rename(project.with_name("elsewhere"))
    assert memdir("list", "--bare", cwd=away).code == 1
    assert memdir("config", "--bare", cwd=away).err == ""
    assert "took it over" in memdir("list", cwd=away).err


def moved_to_another_disk(project: Path) -> Path:
    away = project.with_name("elsewhere")
    shutil.copytree(project, away)
    shutil.rmtree(project)
    return away


def test_adopt_takes_over_a_store_that_nothing_but_a_person_can_assign(memdir: Memdir, project: Path) -> None:
    """Without git, and with another name on another disk, nothing proves that a folder is the same project."""
    memdir("remember", "Kept")
    away = moved_to_another_disk(project)
    assert memdir("list", cwd=away).out.startswith("Nothing")
    assert "gone" in memdir("adopt", cwd=away).out
    [offered] = answer(memdir("adopt", "--json", cwd=away))["stores"]
    assert offered["root"] == str(project)
    assert memdir("adopt", "/no/such/project", cwd=away).code == 6
    memdir("path", cwd=away)
    assert memdir("adopt", str(project), cwd=away).code == 0
    assert "Kept" in memdir("list", cwd=away).out
    assert "Every store" in memdir("adopt", cwd=away).out


def test_adopt_never_mixes_two_stores(memdir: Memdir, project: Path) -> None:
    memdir("remember", "Kept")
    away = moved_to_another_disk(project)
    memdir("remember", "New here", cwd=away)
    ran = memdir("adopt", str(project), cwd=away)
    assert ran.code == 1
    assert "memdir import" in ran.err


def test_adopt_does_not_offer_what_is_empty(memdir: Memdir, project: Path) -> None:
    memdir("path")
    assert "Every store" in memdir("adopt", cwd=moved_to_another_disk(project)).out


@pytest.mark.parametrize("target", ["all.zip", "folder"])
def test_an_export_of_nothing_is_an_error_and_leaves_nothing(memdir: Memdir, project: Path, target: str) -> None:
    memdir("path")  # there is a directory, and nothing in it
    ran = memdir("export", target)
    assert ran.code == 6
    assert "nothing was exported" in ran.err
    assert not (project / target).exists()


def test_a_wrong_command_or_option_teaches(memdir: Memdir) -> None:
    ran = memdir("serch", "x")
    assert ran.code == 2
    assert "memdir search" in ran.err
    assert memdir("search").code == 2
    assert memdir("list", "--no-such-option").code == 2


def test_errors_are_json_where_json_was_asked_for(memdir: Memdir) -> None:
    ran = memdir("show", "nothing", "--json")
    assert ran.code == 6
    assert json.loads(ran.out)["error"]["kind"] == "MemoryNotFound"


def test_a_bug_is_told_in_one_line_and_kept_in_a_file(memdir: Memdir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memdir.cli.for_programs.Path.run", lambda *_: 1 / 0)
    ran = memdir("path")
    assert ran.code == 70
    assert "ZeroDivisionError" in ran.err and "Traceback" not in ran.err
    home = Path(os.environ["MEMDIR_HOME"])
    assert "ZeroDivisionError" in (home / "logs" / "crash.log").read_text()
    other = home.with_name("other")
    assert str(other) in memdir("path", "--home", str(other)).err and (other / "logs" / "crash.log").exists()


@pytest.mark.parametrize("words", [(), ("--help",), ("help",), ("-h",)])
def test_the_overview_lists_every_command(memdir: Memdir, words: tuple[str, ...]) -> None:
    from memdir.cli.entry import command_places

    out = memdir(*words).out
    assert all(f"  {name} " in out for name in command_places())


def test_every_command_has_help_with_examples(memdir: Memdir) -> None:
    from memdir.cli.entry import command_places

    for name in command_places():
        ran = memdir("help", name)
        assert ran.code == 0
        assert "examples:\n  " in ran.out, name
        assert max(len(line) for line in ran.out.splitlines()) <= 130, name


@pytest.mark.parametrize("number", ["0", "-3", "many"])
@pytest.mark.parametrize("words", [("log",), ("search", "x"), ("sessions", "search", "x")])
def test_a_limit_is_a_number_from_one_up(memdir: Memdir, words: tuple[str, ...], number: str) -> None:
    ran = memdir(*words, f"--limit={number}")
    assert ran.code == 2
    assert "number from 1 up" in ran.err


def test_list_names_what_it_leaves_out_also_where_nothing_is_left(memdir: Memdir, project: Path) -> None:
    folder = memory_folder(project)
    folder.mkdir(parents=True)
    (folder / "picture.md").write_bytes(b"\x89PNG\0\0")
    ran = memdir("list")
    assert "Nothing is remembered" in ran.out and "picture.md was left out" in ran.err


def test_list_tells_that_what_a_team_left_here_joins_nothing_while_it_is_off(memdir: Memdir, project: Path) -> None:
    memdir("remember", "Deploys happen on Tuesdays")
    assert "team" not in memdir("list").err
    folder = memory_folder(project) / "team"
    folder.mkdir()
    (folder / "oven.md").write_text("---\nname: Oven\ndescription: the oven\ntype: project\n---\n\nIt is hot.\n")
    ran = memdir("list")
    assert "team/oven.md" in ran.out and "the team is switched off" in ran.err
    assert "switched off" not in memdir("list", "--set", "team.enabled=true").err


def test_a_locale_without_umlauts_gets_them_escaped(project: Path, memdir: Memdir, memdir_command: str) -> None:
    import os
    import subprocess

    memdir("remember", "Über die Brücke fährt der grüne Zug", "--name", "zug")
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (("search", "zug"), ("list",), ("show", "project_zug.md"), ("show", "überall")):
        done = subprocess.run([memdir_command, *words], cwd=project, capture_output=True, env=plain, check=False)
        assert done.returncode in (0, 6), done.stderr
        assert b"inside memdir" not in done.stderr
        assert (done.stdout + done.stderr).isascii()


def test_a_locale_without_umlauts_takes_no_healthy_file_for_a_sick_one(
    project: Path, memdir: Memdir, memdir_command: str
) -> None:
    import os
    import subprocess

    memdir("remember", "The road to München is closed", "--name", "straße nach münchen")
    index = memdir("show", "MEMORY.md").out
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (("doctor",), ("doctor", "--fix"), ("search", "road"), ("show", "münchen")):
        done = subprocess.run([memdir_command, *words], cwd=project, capture_output=True, env=plain, check=False)
        assert (done.returncode, done.stderr) == (0, b""), done.stdout
    assert memdir("show", "MEMORY.md").out == index


def test_show_says_of_what_has_ended_that_it_has(memdir: Memdir) -> None:
    """T3."""
    memdir("remember", "Merges are frozen until 2020-03-05 for the mobile release", "--name", "freeze")
    memdir("remember", "The office is in Bonn since 2020-03-05", "--name", "office")
    assert re.search(r"\(saved today; names 2020-03-05, \d+ days past\)", memdir("show", "freeze").out)
    assert "(saved today)" in memdir("show", "office").out
