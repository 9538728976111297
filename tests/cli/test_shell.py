"""The command line as a shell starts it: real processes, closed streams, odd encodings, a person at the keyboard."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import timeit
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memdir.memdir import open_memory
from tests.conftest import Clock
from tests.in_process import run_here


class Shell:
    """Runs `memdir` in the project's folder: as a shell starts it where something is said about its process (streams,
    encoding, environment), and else in this one."""

    def __init__(self, command: str, project: Path) -> None:
        self.command = command
        self.project = project

    def __call__(
        self, *words: str | bytes, stdin: bytes | None = None, **more: Any
    ) -> subprocess.CompletedProcess[bytes]:
        cwd = more.pop("cwd", self.project)
        texts = [word for word in words if isinstance(word, str)]
        if more or len(texts) < len(words):
            more["env"] = {**os.environ, **more.get("env", {})}
            more |= {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
            more.setdefault("capture_output", "stdout" not in more)
            done = subprocess.run([self.command, *words], cwd=cwd, **more)
        else:
            done = run_here(self.command, texts, cwd=cwd, stdin=stdin or b"")
        assert b"Traceback" not in (done.stderr or b"") and done.returncode != 70, done.stderr
        return done

    def json(self, *words: str, **more: Any) -> Any:
        return json.loads(self(*words, "--json", **more).stdout)


@pytest.fixture
def sh(memdir_command: str, project: Path) -> Shell:
    return Shell(memdir_command, project)


def folder(project: Path) -> Path:
    return Path(open_memory(project).place.root)


# Options, errors, JSON


def test_what_is_no_text_is_refused_at_the_door(sh: Shell, project: Path) -> None:
    assert sh("remember", "-", stdin=b"half of it\0is missing").returncode == 5
    assert sh("list", "--json").stdout.count(b'"file"') == 0


def test_a_text_without_spaces_gets_a_title_that_fits_its_line(sh: Shell, project: Path) -> None:
    for text in ("x" * 300, "这个项目每周五下午不许部署" * 20, "https://wiki.example.org/" + "a" * 200):
        assert sh("remember", text, "--anyway").returncode == 0
    sh("remember", "Named by hand", "--name", "A name as long as a paragraph, " * 6)
    lines = (folder(project) / "MEMORY.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= 150
    assert b"longer than" not in sh("doctor").stdout


def test_an_import_of_nothing_is_an_error(sh: Shell, project: Path, tmp_path: Path) -> None:
    (tmp_path / "no memories").mkdir()
    done = sh("import", str(tmp_path / "no memories"))
    assert done.returncode == 8 and b"there is no memory in" in done.stderr
    sh("remember", "Kept")
    sh("export", str(tmp_path / "all.zip"))
    assert sh("import", str(tmp_path / "all.zip")).returncode == 0, "what is there already is no error"


def test_a_setting_is_not_set_to_nothing(sh: Shell) -> None:
    done = sh("config", "set", "model.name", "")
    assert done.returncode == 3 and b"--unset" in done.stderr
    assert sh.json("config", "get", "model.name")["from"] == "default"


def test_options_of_every_command_stand_before_or_after_it(sh: Shell, project: Path, tmp_path: Path) -> None:
    sh("remember", "Deploys are frozen")
    after = sh("list", "--project", str(project), "--json", cwd=tmp_path).stdout
    assert json.loads(after)["total"] == 1
    assert sh("--project", str(project), "--json", "list", cwd=tmp_path).stdout == after
    assert sh(f"--project={project}", "--json", "sessions", "prune", cwd=tmp_path).returncode == 0
    assert json.loads(sh("--set", "skipIndex=true", "--json", "config", "get", "skipIndex").stdout)["value"] is True


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lst"], "Did you mean `memdir list`?"),
        (["list", "--limt", "3"], "has no option --limt"),
        (["list", "--limit", "x"], "--limit: 'x' is not a number"),
        (["list", "--type", "opinion"], "--type: invalid choice: 'opinion'"),
        (["show"], "MEMORY is missing"),
        (["--project"], "--project has no value"),
        (["--home"], "--home has no value"),
        (["--bare"], "--bare stands alone: there is no command"),
        (["--no-color", "--project", "."], "there is no command"),
        (["--home", "", "list"], "--home or --project is empty"),
        (["list", "--project="], "--home or --project is empty"),
        (["completion"], "SHELL is missing"),
        (["show", "a", "b"], "'b'"),
        (["--colour", "list"], "--colour is no option"),
        (["list", "--scope", "galaxy"], "there is no scope 'galaxy'"),
        (["budget", "--days", "0"], "--days 0"),
        (["dream", "--since", "someday", "--dry-run"], "--since someday is no date"),
        (["dream"], "nobody to ask"),
        (["recall", "x", "--expect", "y"], "nothing is pinned"),
        (["config", "get", "recall.selektor"], "did you mean recall.selector?"),
        (["search"], "nothing to search"),
        (["search", ""], "nothing to search"),
        (["recall", " "], "nothing to recall"),
        (["remember"], "nothing to remember"),
    ],
)
def test_a_usage_error_is_told_in_one_style_with_status_2_and_as_json(sh: Shell, words: list[str], told: str) -> None:
    ran = sh(*words)
    assert ran.returncode == 2 and ran.stdout == b""
    lines = ran.stderr.decode().splitlines()
    assert lines[0].startswith("memdir: ") and lines[1].startswith("  ") and "usage:" not in ran.stderr.decode()
    assert told in ran.stderr.decode()
    for asked in (["--json", *words], [*words, "--json"]):
        ran = sh(*asked)
        assert ran.returncode == 2
        answer = json.loads(ran.stdout)
        assert answer["ok"] is False and answer["error"]["exitCode"] == 2 and answer["error"]["remedy"]


def test_every_answer_is_one_object_that_says_ok(sh: Shell) -> None:
    assert sh.json("remember", "Deploys are frozen")["ok"] is True
    for words in (["list"], ["log"], ["diff"], ["recall", "--log"], ["adopt"], ["sessions"], ["config"], ["version"]):
        answer = sh.json(*words)
        assert isinstance(answer, dict) and answer["ok"] is True, words
    assert sh.json("search", "unicorns") == {"ok": False, "query": "unicorns", "matches": []}
    assert sh.json("doctor", "--fix")["ok"] is True


@pytest.mark.parametrize("words", [["--version"], ["list", "--help"], ["lst"]])
def test_the_module_is_the_command(sh: Shell, words: list[str]) -> None:
    module = subprocess.run([sys.executable, "-m", "memdir", *words], capture_output=True, check=False)
    ran = sh(*words)
    assert (module.returncode, module.stdout, module.stderr) == (ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.parametrize("words", [["add", "Kept"], ["remember", "Kept"]])
def test_words_of_other_tools_are_answered(sh: Shell, words: list[str]) -> None:
    assert sh(*words).returncode == 0
    assert b"project_kept.md" in sh("ls").stdout
    assert sh("rm", "kept").stdout.startswith(b"Forgot project_kept.md")
    assert sh("version").stdout == sh("--version").stdout
    assert b"memoryEnabled" in sh("settings").stdout
    for word, command in (("get", b"show"), ("find", b"search"), ("save", b"remember"), ("prune", b"dream")):
        assert b"Did you mean `memdir %s`?" % command in sh(word, "kept").stderr


# Words, lists, going back


def test_words_need_no_quotes_and_may_come_by_standard_input(sh: Shell) -> None:
    assert sh("remember", "Deploys", "are", "--type", "project", "frozen", "until", "2026-12-01").returncode == 0
    assert b"deploys_are_frozen" in sh("recall", "are", "deploys", "frozen").stdout
    assert b"deploys_are_frozen" in sh("recall", "-", stdin=b"are deploys frozen?\n").stdout
    assert b"deploys_are_frozen" in sh("search", stdin=b"deploys\n").stdout
    assert sh("remember", stdin="Käse ist aus".encode()).returncode == 0
    assert sh("remember", "--", "-v", "is", "no", "option").returncode == 0
    assert b"-v is no option" in sh("list").stdout


def test_recall_tells_what_a_memory_is_about(sh: Shell) -> None:
    sh("remember", "Deploys are frozen until 2026-12-01: the auditors are in the house", "--name", "Freeze")
    assert b"project_freeze.md  Deploys are frozen until" in sh("recall", "can we deploy on Friday?").stdout


def test_lists_are_limited_and_cover_every_scope_when_asked(sh: Shell) -> None:
    for word in ("one", "two", "three"):
        sh("remember", f"Number {word}")
    sh("remember", "I know databases", "--scope", "user")
    listed = sh.json("list", "--limit", "2")
    assert (listed["total"], len(listed["memories"])) == (3, 2)
    assert {(m["scope"], m["name"]) for m in sh.json("list", "--scope", "all")["memories"]} == {
        *(("project", f"Number {word}") for word in ("one", "two", "three")),
        ("user", "I know databases"),
    }
    assert [m["scope"] for m in sh.json("search", "databases")["matches"]] == ["user"]
    assert sh.json("search", "databases", "--scope", "project")["matches"] == []


def test_several_memories_are_forgotten_as_one_change_or_not_at_all(sh: Shell) -> None:
    sh("remember", "First thing")
    sh("remember", "Second thing")
    assert sh("forget", "first", "nonsense").returncode == 6
    assert sh.json("list")["total"] == 2
    assert len(sh.json("forget", "first", "second")["files"]) == 2
    assert sh.json("list")["total"] == 0
    assert sh("undo", "--dry-run").stdout.startswith(b"Would take back")
    assert sh.json("list")["total"] == 0
    sh("undo")
    assert sh.json("list")["total"] == 2


def test_what_is_gone_is_found_by_part_of_its_name(sh: Shell) -> None:
    sh("remember", "The auditors are in the house")
    sh("remember", "The auditors want coffee")
    sh("forget", "house", "coffee")
    assert b"fits 2 files that are gone" in sh("restore", "auditors").stderr
    assert b"forget project" in sh("log", "house").stdout
    assert sh("restore", "in_the_house").returncode == 0
    assert sh.json("list")["total"] == 1


def test_settings_are_asked_for_changed_and_taken_out_again(sh: Shell, tmp_path: Path) -> None:
    path = tmp_path / "home" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"recall": {"encoder": "words"}, "ours": 1}')
    assert sh("config", "get", "recall.selector").stdout == b"auto\n"
    assert sh("config", "set", "recall.selector", "never").returncode == 3
    assert sh("config", "set", "recall.selector", "local").returncode == 0
    assert json.loads(path.read_text()) == {"recall": {"encoder": "words", "selector": "local"}, "ours": 1}
    assert sh.json("config", "get", "recall.selector")["from"] == "user"
    assert sh("config", "set", "dream.hours", "48", "--layer", "local").returncode == 0
    assert sh.json("config", "get", "dream.hours")["from"] == "local"
    assert sh("config", "set", "model.name", "x", "--layer", "project").returncode == 3
    assert sh("config", "set", "recall.selector", "--unset").returncode == 0
    assert sh("config", "get", "recall.selector").stdout == b"auto\n"
    path.write_text("{broken")
    asked = sh("config", "get", "recall.selector")
    assert (asked.returncode, asked.stdout) == (0, b"auto\n") and str(path) in asked.stderr.decode()
    broken = sh("config", "set", "recall.selector", "local")
    assert broken.returncode == 3 and str(path) in broken.stderr.decode()
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho \'{"dreamEnabled": false}\' > "$1"\n')
    editor.chmod(0o755)
    assert sh("config", "edit", env={"EDITOR": str(editor)}).returncode == 0
    assert sh("config", "get", "dreamEnabled").stdout == b"false\n"


@pytest.mark.parametrize("editor", ["false", "no-such-editor"])
def test_an_editor_that_fails_leaves_no_settings_file_behind(sh: Shell, project: Path, editor: str) -> None:
    ran = sh("config", "edit", "--layer", "project", env={"EDITOR": editor})
    assert ran.returncode == 1 and b"the editor" in ran.stderr
    assert not (project / ".memdir" / "settings.json").exists()


def test_who_takes_a_setting_out_is_told_which_file_still_has_the_last_word(sh: Shell, tmp_path: Path) -> None:
    own = str(tmp_path / "home" / "settings.json").encode()
    sh("config", "set", "dailyLog", "true", "--layer", "local")
    taken_out = sh("config", "set", "dailyLog", "--unset")
    assert taken_out.stdout.startswith(b"dailyLog is true") and own not in taken_out.stdout
    assert b"`memdir config set dailyLog --unset --layer local`" in taken_out.stderr
    sh("config", "set", "memoryEnabled", "false")
    assert own in sh("config", "set", "memoryEnabled", "--unset", "--layer", "local").stdout
    off = sh("list").stderr
    assert b"`memdir config set memoryEnabled --unset` takes it out" in off and b"true --layer local" in off
    assert sh("config", "set", "memoryEnabled", "--unset").stdout == b"memoryEnabled is true  (default)\n"
    assert sh("config", "set", "dailyLog", "--unset", "--layer", "local").stderr == b""


# What is remembered is seen as extraction sees it


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Bugs are tracked in Linear project INGEST", "reference"),
        ("ich bin Datenbankentwickler", "user"),
        ("Never mock the database", "feedback"),
        ("Keep answers short", "feedback"),
        ("The release is on Friday", "project"),
    ],
)
def test_remember_tells_the_kind(sh: Shell, text: str, kind: str) -> None:
    assert sh.json("remember", text)["type"] == kind


def test_who_keeps_something_of_himself_in_one_project_is_told_how_it_holds_in_all(sh: Shell) -> None:
    told = sh("remember", "I have run databases for ten years; React is new to me")
    assert b"`memdir move user_i_have_run_databases_for_ten_years.md --scope user`" in b" ".join(told.stderr.split())
    for words in (("I speak Polish", "--type", "user", "--scope", "user"), ("Deploys are frozen",)):
        assert b"move" not in sh("remember", *words).stderr


def test_dates_are_made_absolute_the_sign_stays_and_the_first_line_is_the_title(
    project: Path, clock: Clock, sh: Shell
) -> None:
    memory = open_memory(project, clock=clock)
    assert "2026-09-22" in memory.add("The freeze starts tomorrow").memory.topic.body
    assert "Fridays" in memory.add("Never deploy on Fridays").memory.topic.body
    cold = memory.add("-5 degrees is the freezer's limit").memory.topic
    assert cold.description.startswith("-5 degrees") and cold.name.startswith("-5 degrees")
    noted = memory.add("# Release rules\n\nTwo people sign. Nobody else.").memory.topic
    assert (noted.name, noted.description) == ("Release rules", "Two people sign")


def test_what_the_code_tells_is_answered_with_the_better_question(sh: Shell, project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "parser.py").write_text("def parse(arguments):\n    return read(arguments)\n")
    for text in (
        "The parser lives in src/parser.py",
        "The function parse() in src/parser.py reads arguments",
        "git log shows who wrote the parser",
    ):
        ran = sh("remember", text)
        assert ran.returncode == 5 and b"surprising" in ran.stderr
    assert sh.json("list")["total"] == 0
    assert sh("remember", "The parser lives in src/parser.py", "--anyway").returncode == 0
    for text in ("Never edit src/parser.py by hand", "Ann owns src/parser.py", "Deploys use scripts/ship.sh"):
        assert sh("remember", text).returncode == 0


def test_limits_say_no_at_the_door(sh: Shell, project: Path) -> None:
    assert sh("remember", "-", stdin=b"word " * 2_000_000).returncode == 5
    assert sh("remember", "x", "--name", "n" * 5000).returncode == 5
    assert sh("remember", "x", "--description", "n" * 5000).returncode == 5
    assert sh.json("list")["total"] == 0


def test_search_covers_the_sessions_of_other_agents(sh: Shell, project: Path, tmp_path: Path) -> None:
    root = os.path.realpath(project)
    claude = tmp_path / "claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", root)
    claude.mkdir(parents=True)
    said = {"type": "user", "uuid": "u1", "sessionId": "c1", "timestamp": "2026-11-01T10:00:00Z", "cwd": root}
    line = {**said, "message": {"role": "user", "content": "why is the flamingo migration stuck?"}}
    (claude / "c1.jsonl").write_text(json.dumps(line) + "\n")
    codex = tmp_path / "codex" / "sessions" / "2026" / "11" / "01"
    codex.mkdir(parents=True)
    spoken = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "the pelican job is late"}]}
    lines = [
        {"type": "session_meta", "payload": {"cwd": root}},
        {"type": "response_item", "timestamp": "2026-11-01T10:00:00Z", "payload": spoken},
    ]
    (codex / "rollout-x.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    for word, agent in (("flamingo", "claude-code"), ("pelican", "codex")):
        for _ in range(2):  # the second time from the index
            found = sh.json("search", "--sessions", word, env=env)["matches"]
            assert [(hit["agent"], word in hit["snippet"]) for hit in found] == [(agent, True)]


# Streams, encodings, places


def test_closed_streams_are_no_error(sh: Shell) -> None:
    sh("remember", "Deploys are frozen")
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        for words in ("list", "remember again", "log"):
            script = f'"{sh.command}" {words} {closed}'
            done = subprocess.run(["bash", "-c", script], cwd=sh.project, capture_output=True, check=True)
            assert b"Traceback" not in done.stderr and b"Bad file" not in done.stderr
    assert "Deploys are frozen" in (folder(sh.project) / "project_deploys_are_frozen.md").read_text()


@pytest.mark.parametrize("words", ["--help", "--json help remember", "list --help", "--json nonsense", "version"])
def test_a_reader_that_went_away_is_no_error(sh: Shell, words: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sh.command, *words.split()], cwd=sh.project, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_any_encoding_shows_any_text(sh: Shell, encoding: str) -> None:
    sh("remember", "Müsli → ✓ 你好 😀")
    for words in (["list"], ["show", "ü"], ["list", "--json"], ["nonsense→"], ["log"]):
        sh(*words, env={"PYTHONIOENCODING": encoding})


def test_a_folder_that_is_gone_is_told(sh: Shell, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    for words in ("list", "--home here list", "config"):
        script = f'cd "{gone}" && rmdir "{gone}"; "{sh.command}" {words}; code=$?; mkdir "{gone}"; exit $code'
        done = subprocess.run(["bash", "-c", script], capture_output=True)
        assert done.returncode == 1 and b"is gone" in done.stderr and b"Traceback" not in done.stderr
    script = f'cd "{gone}" && rmdir "{gone}"; "{sh.command}" list --project "{sh.project}"'
    assert subprocess.run(["bash", "-c", script], capture_output=True).returncode == 0


@pytest.mark.parametrize("year", ["2312", "9999"])
def test_a_far_year_is_no_trouble(sh: Shell, project: Path, year: str) -> None:
    sh("remember", f"The vault opens on {year}-05-01")
    path = next(path for path in folder(project).glob("*.md") if path.name != "MEMORY.md")
    stamp = (int(year) - 1970) * 31_556_952
    os.utime(path, (stamp, stamp))
    commands = ("list", "show vault", "search vault", "recall vault", "recall --render vault", "doctor", "log", "diff")
    for words in (*commands, "dream --dry-run", f"dream --dry-run --since {year}-01-01", "list --json", "undo"):
        sh(*words.split())


def test_half_characters_are_no_trouble(sh: Shell) -> None:
    sh("remember", "Kept")
    for word in (b"bad \xff byte", b"\xed\xa0\x80"):
        for command in ("remember", "search", "recall", "show", "forget", "log", "restore", "list"):
            sh(command, word)
        for option in ("--name", "--project", "--home", "--scope", "--set", "--type"):
            sh("remember", "x", option, word)
        sh("config", "set", "model.name", word)
        sh(word)
    assert sh("remember", stdin=b"\xff\xfe").returncode == 5


def test_a_lock_that_somebody_holds_delays_no_answer(sh: Shell, project: Path) -> None:
    sh("remember", "Kept")
    (folder(project) / "by_hand.md").write_text("Edited by hand.\n")
    lock = str(folder(project)) + ".state/lock"
    take = f"import fcntl, sys; f = open({lock!r}, 'r+'); fcntl.flock(f, fcntl.LOCK_EX)"
    code = f"{take}; print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"held\n"
        Path(lock).with_name("journal.json").write_text("{}")
        for words in (["path"], ["prompt"], ["log"], ["list"], ["recall", "kept"], ["search", "kept"]):
            tries = timeit.repeat(lambda words=words: sh(*words).check_returncode(), number=1, repeat=2)
            assert min(tries) < 2, words  # the quicker of two: a busy machine is no lock
        assert holder.stdin
        holder.stdin.close()


def test_a_moved_project_is_found_by_whatever_command_comes_first(sh: Shell, repository: Path) -> None:
    for number, words in enumerate(
        (["list"], ["search", "kept"], ["recall", "kept"], ["show", "kept"], ["why", "kept"])
    ):
        if number == 0:
            sh("remember", "Kept", cwd=repository)
        repository = repository.rename(repository.with_name(f"moved{number}"))
        ran = sh(*words, cwd=repository)
        assert b"took it over" in ran.stderr and b"ept" in ran.stdout, words


# Narrow terminals, numbers, completion


def test_help_and_lists_fit_sixty_columns(sh: Shell) -> None:
    sh("remember", "The nightly backup of the warehouse goes to the bucket in Frankfurt", "--name", "Backup " * 6)
    env = {"COLUMNS": "60"}
    names = [line.split()[0] for line in sh().stdout.decode().splitlines() if re.match(r"  [a-z]+ ", line)]
    for words in ([], ["list"], *([name, "--help"] for name in dict.fromkeys(names) if name != "memdir")):
        text = sh(*words, env=env).stdout.decode().partition("\nexamples:")[0].partition("\nTry")[0]
        assert text and max(len(line) for line in text.splitlines()) <= 60, words


def test_no_help_names_a_clause(sh: Shell) -> None:
    for words in (["config", "list"], ["--help"], ["doctor", "--help"], ["recall", "--help"], ["config", "--help"]):
        assert not re.search(rb"\([A-Z]\d", sh(*words).stdout)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["li"], ["list"]),
        (["--json", "li"], ["list"]),
        (["list", "--type", "f"], ["feedback"]),
        (["list", "--scope", "us"], ["user"]),
        (["config", "get", "recall.s"], ["recall.selector"]),
        (["config", "set", "recall.selector", "l"], ["local"]),
        (["config", "set", "skipIndex", ""], ["true", "false"]),
        (["show", "house"], ["project_the_auditors_are_in_the_house.md"]),
        (["rm", "AUDIT"], ["project_the_auditors_are_in_the_house.md"]),
        (["forget", "zeb"], ["project_zebras_cross_here.md"]),
        (["restore", "cof"], ["project_coffee_is_out.md"]),
        (["recall", "--selector", ""], ["auto", "local", "model"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["no-such-command", ""], []),
    ],
)
def test_completion_knows_values_names_and_parts_of_names(sh: Shell, typed: Sequence[str], wanted: list[str]) -> None:
    sh("remember", "The auditors are in the house")
    sh("remember", "Coffee is out")
    sh("remember", "Zebras cross here", "--scope", "user", "--type", "project")
    sh("forget", "coffee")
    assert sh("completion", "bash", "--words", *typed).stdout.decode().split() == wanted


# A person at the keyboard


class Keyboard:
    """A terminal with a person: waits for words on the screen, types, presses Ctrl-C."""

    def __init__(self, command: Sequence[str], cwd: Path, **env: str) -> None:
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # who runs the tests in the background ignores it
            os.chdir(cwd)
            os.execve(command[0], list(command), {**os.environ, **env})
        self.screen = ""

    def wait_for(self, words: str, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while words not in self.screen:
            ready, _, _ = select.select([self._terminal], [], [], max(0, deadline - time.monotonic()))
            assert ready, self.screen
            try:
                self.screen += os.read(self._terminal, 4096).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(self.screen) from None

    def types(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def ended(self) -> int:
        while True:
            try:
                data = os.read(self._terminal, 4096)
            except OSError:
                break
            if not data:
                break
            self.screen += data.decode("utf-8", "replace")
        _, status = os.waitpid(self.pid, 0)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(status)


def test_ctrl_c_at_a_question_ends_with_nothing_written(sh: Shell, project: Path) -> None:
    sh("path")
    rule = "Use the design tokens for colours in components, never hex values"
    for name, more in (("one.md", "Ask Mateus."), ("two.md", "Rejected on 2026-06-28.")):
        head = f"---\nname: Design tokens\ndescription: {rule}\ntype: feedback\n---\n\n"
        (folder(project) / name).write_text(f"{head}{rule}. {more}\n")
    before = {path.name: path.read_bytes() for path in folder(project).iterdir()}
    person = Keyboard([sh.command, "dream"], project)
    person.wait_for("Write this? [y/N]")
    person.types("\x03")
    person.types("y\n")
    assert person.ended() == 130
    assert "Traceback" not in person.screen
    assert {path.name: path.read_bytes() for path in folder(project).iterdir()} == before


@pytest.mark.parametrize(
    "module", ["memdir.disk.shipped", "memdir.cli.entry", "memdir.cli.context", "memdir.cli.archive"]
)
def test_ctrl_c_while_a_command_loads_is_quiet(sh: Shell, tmp_path: Path, module: str) -> None:
    """Whatever is being imported at that moment."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class PressesCtrlC:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, PressesCtrlC())\n"
    )
    done = sh("export", "all.zip", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode in (130, -signal.SIGINT), "a shell says 130 of both"
    assert (done.stdout, done.stderr.strip()) == (b"", b"")


def test_drafts_of_unchanged_edits_are_removed(sh: Shell, project: Path, tmp_path: Path) -> None:
    sh("remember", "Kept")
    drafts = Path(open_memory(project).place.drafts)
    for editor in ("true", "false", "/no/such/editor", "sh -c 'kill -INT $PPID'", "'unclosed"):
        sh("edit", "kept", env={"EDITOR": editor})
        assert not drafts.exists() or list(drafts.iterdir()) == [], editor
    changes = tmp_path / "changes"
    changes.write_text('#!/bin/sh\necho "one more line" >> "$1"\nexit 1\n')
    changes.chmod(0o755)
    ran = sh("edit", "kept", env={"EDITOR": str(changes)})
    assert ran.returncode == 1 and b"Your text is kept in" in ran.stderr and len(list(drafts.iterdir())) == 1
