"""A secret does not become a memory: refused by kind, left out of an import, reported when saved by hand (S15, E5)."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.agent.workspace import Workspace
from memdir.errors import BadMemoryFile, SecretRefused
from memdir.layout import Layout
from memdir.store.archive import import_memories
from memdir.store.history import Origin
from memdir.store.memories import add_memory, forget_memories, save_memory
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType
from memdir.store.undo import undo
from tests.conftest import Events, Ran
from tests.security.fakes import drawn, github_token, key_block, password

Memdir = Callable[..., Ran]
USER = Origin("cli", trust="user")
REFUSED = SecretRefused.exit_code


def everything_below(folder: Path) -> bytes:
    """All bytes that a command left, names too; the history's objects are packed, so it is asked as well."""
    found = [os.fsencode(path) + path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return b"".join(found)


@pytest.fixture
def memory_folder(project: Path, tmp_path: Path) -> Path:
    return Path(Layout(str(tmp_path / "home"), str(project)).default_memory)


SECRETS: dict[str, tuple[Callable[[], str], str]] = {
    "a token": (github_token, "github-token"),
    "a private key": (key_block, "private-key"),
    "a password in a sentence": (lambda: f"The database password is {password()}", "password"),
    "a token in pieces": (lambda: f"first half: {github_token()[:20]}\nsecond half: {github_token()[20:]}", "github"),
}


@pytest.mark.parametrize(("secret", "kind"), SECRETS.values(), ids=SECRETS.keys())
@pytest.mark.parametrize("where", ["text", "stdin", "name", "description"])
def test_remember_refuses_a_secret_and_names_its_kind(
    secret: Callable[[], str], kind: str, where: str, memdir: Memdir, tmp_path: Path
) -> None:
    value = secret()
    words = {
        "text": ("remember", f"Use this: {value}"),
        "stdin": ("remember", "-"),
        "name": ("remember", "A harmless text", "--name", value),
        "description": ("remember", "A harmless text", "--description", value),
    }[where]
    if where in ("name", "description") and "\n" in value:
        value = github_token()
        words, kind = (*words[:-1], value), "github-token"
    ran = memdir(*words, stdin=f"Use this: {value}")
    assert ran.code == REFUSED
    assert kind in ran.err and "line" in ran.err and "--allow-secret" in ran.err
    assert value not in ran.err + ran.out
    assert value.encode() not in everything_below(tmp_path / "home")
    assert json.loads(memdir("list", "--json").out)["memories"] == []


def test_a_person_may_insist_for_this_machine_and_never_for_others(memdir: Memdir, tmp_path: Path) -> None:
    text = f"The token is {github_token()}"
    assert memdir("remember", text, "--allow-secret").code == 0
    assert memdir("remember", text, "--allow-secret", "--scope", "user").code == 0
    assert memdir("config", "set", "team.enabled", "true").code == 0
    for scope in ("team", "agent-project:helper"):
        ran = memdir("remember", text, "--allow-secret", "--scope", scope)
        assert ran.code == REFUSED, scope
        assert "--allow-secret" not in ran.err, "what would not help is not offered"


def test_the_error_for_programs_holds_no_value(memdir: Memdir) -> None:
    ran = memdir("remember", f"Token {github_token()}", "--json")
    told = json.loads(ran.out)
    assert told["error"]["kind"] == "SecretRefused"
    assert github_token() not in ran.out


SPELLINGS: dict[str, Callable[[], tuple[str, str]]] = {  # the value, and a text that holds it
    "a setting": lambda: (value := drawn(32).lower(), f"DB_PASSWORD={value}"),
    "a field": lambda: (value := drawn(32).lower(), f"api_key: {value}"),
    "an address": lambda: (value := drawn(16), f"postgres://app:{value}@db.internal/app"),
    "signs within": lambda: (value := f"{drawn(6)}-{drawn(6, seed=2)}-{drawn(6, seed=3)}", f"The password is {value}"),
    "a cloud key": lambda: (value := "AK" + "IA" + drawn(16).upper(), f"{value} is the key"),
    "a very long one": lambda: (value := drawn(90), f"DB_PASSWORD={value}"),
}


def told_of(value: str, words: str) -> list[str]:
    """The pieces of a value, by its letters and digits alone, that somebody could read in these words."""
    letters, said = ("".join(c for c in text.casefold() if c.isalnum()) for text in (value, words))
    return [letters[at : at + 5] for at in range(len(letters) - 4) if letters[at : at + 5] in said]


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize("way", ["text", "name", "json", "import"])
def test_no_file_name_tells_the_secret_that_was_refused(
    spelling: Callable[[], tuple[str, str]], way: str, memdir: Memdir, tmp_path: Path
) -> None:
    """Names are made from the text: in small letters and with underscores a value is known again."""
    value, text = spelling()
    source = tmp_path / "source"
    source.mkdir()
    name = "".join(c if c.isalnum() else "_" for c in text.lower())[:200]
    (source / f"{name}.md").write_text(f"---\nname: n\ndescription: d\n---\n\n{text}\n")
    (source / f"b_{name}.md").write_text(f"---\nname: n\ndescription: d\n---\n\n{text}\n")
    ran = {
        "text": lambda: memdir("remember", text),
        "name": lambda: memdir("remember", "A harmless text", "--name", text),
        "json": lambda: memdir("remember", text, "--json"),
        "import": lambda: memdir("import", str(source), "--json"),
    }[way]()
    assert ran.code in (REFUSED, 1)
    events = tmp_path / "home" / "logs" / "events.jsonl"
    logged = events.read_text() if events.exists() else ""
    assert told_of(value, ran.out + ran.err + logged) == []
    if way == "import":
        assert len(json.loads(ran.out)["refused"]) == 2, "two files that may not be named are still two"


def test_the_library_refuses_as_well_wherever_it_stands(store: MemoryStore) -> None:
    token = github_token()
    for words in (
        {"body": token},
        {"body": "x", "name": token},
        {"body": "x", "description": f"key {token}"},
    ):
        with pytest.raises(SecretRefused) as caught:
            add_memory(store, kind=MemoryType.PROJECT, origin=USER, **words)  # type: ignore[arg-type]
        assert caught.value.kinds == ("github-token",)
        assert token not in str(caught.value)
    for field in (f"extra: {token}", f"extra: '{token}'", f"extra: >\n  {token[:20]}\n  {token[20:]}", f"{token}: 1"):
        data = f"---\nname: n\ndescription: d\ntype: project\n{field}\n---\n\nText.\n".encode()
        with pytest.raises(SecretRefused):
            save_memory(store, "n.md", data, origin=USER)
    with pytest.raises(SecretRefused, match="file name"):
        save_memory(store, f"{token}.md", b"---\nname: n\ndescription: d\n---\n\nText.\n", origin=USER)
    assert store.scan().headers == []


def test_what_stood_there_already_may_be_edited_around_and_brought_back(store: MemoryStore) -> None:
    """A person who insisted is not asked again for every comma; another secret in its place is refused."""
    key = add_memory(store, f"Token {github_token()}", kind=None, origin=USER, allow_secret=True).memory.key
    before = store.read(key).topic.data
    save_memory(store, key, before + b"One more line.\n", origin=USER)
    with pytest.raises(SecretRefused):
        save_memory(store, key, before.replace(github_token().encode(), github_token(9).encode()), origin=USER)
    forget_memories(store, [key], origin=USER)
    undo(store)
    assert github_token().encode() in store.read(key).topic.data


def test_edit_refuses_a_secret_and_keeps_the_text(
    memdir: Memdir, memory_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert memdir("remember", "The token is in the safe", "--name", "token").code == 0
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\necho 'Token: {github_token()}' >> \"$1\"\n")
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    ran = memdir("edit", "token")
    assert ran.code == REFUSED
    assert "github-token" in ran.err and "Your text is kept in" in ran.err
    assert github_token() not in ran.err
    [file] = [path for path in memory_folder.glob("*.md") if path.name != "MEMORY.md"]
    assert github_token() not in file.read_text()
    [draft] = [found for found in json.loads(memdir("doctor", "--json").out)["findings"] if found["check"] == "secret"]
    assert "/drafts/" in draft["file"] and "github-token" in draft["message"]
    assert memdir("edit", "token", "--allow-secret").code == 0
    assert github_token() in file.read_text()


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_an_import_leaves_the_file_out_says_so_and_goes_on(form: str, store: MemoryStore, tmp_path: Path) -> None:
    token = github_token()
    files = {
        "good.md": "---\nname: good\ndescription: fine\n---\n\nFine.\n",
        "bad.md": f"---\nname: bad\ndescription: d\n---\n\nLine.\nToken: {token}\n",
        "named.md": f"---\nname: {token}\ndescription: d\n---\n\nLine.\n",
        f"{token}.md": "---\nname: n\ndescription: d\n---\n\nLine.\n",
    }
    source = tmp_path / "in"
    source.mkdir()
    for name, text in files.items():
        (source / name).write_text(text)
    if form == "zip":
        with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        source = tmp_path / "in.zip"
    result = import_memories(store, str(source), origin=Origin("import"))
    assert result.added == ["good.md"]
    assert result.refused.keys() == {"bad.md", "named.md", "[removed: github-token].md"}
    assert "github-token in line 7" in result.refused["bad.md"]
    assert token not in " ".join(result.refused.values())


def test_a_text_saved_by_hand_is_reported_by_the_next_command_and_by_the_doctor(
    memdir: Memdir, memory_folder: Path, tmp_path: Path
) -> None:
    assert memdir("remember", "A harmless thing").code == 0
    saved = f"---\nname: own\ndescription: by hand\ntype: project\n---\n\nToken: {github_token()}\n"
    (memory_folder / "own.md").write_text(saved)
    ran = memdir("remember", "Another thing")
    assert ran.code == 0
    assert "own.md" in ran.err and "github-token in line 7" in ran.err
    assert "own.md" not in memdir("remember", "A third thing").err, "it is said once"
    told = memdir("doctor").out
    assert "own.md" in told and "github-token" in told
    log = (tmp_path / "home" / "logs" / "events.jsonl").read_text()
    assert '"memory.secret"' in log
    assert github_token() not in ran.err + told + log


def test_a_fork_s_secret_costs_that_draft_and_not_the_run(store: MemoryStore) -> None:
    """It is refused at the write, with its kind and never its value: the other drafts stand."""
    token = github_token()
    hidden = f"extra: >\n  {token[:20]}\n  {token[20:]}"
    workspace = Workspace([store])
    form = "---\nname: n\ndescription: d\ntype: project\n"
    workspace.write(os.path.join(store.root, "fine.md"), f"{form}---\n\nText.\n".encode())
    for key, text in {
        "body.md": f"{form}---\n\n{token}\n",
        f"{token}.md": f"{form}---\n\nText.\n",
        "MEMORY.md": f"- [Tests](fine.md) — {token}\n",
    }.items():
        with pytest.raises(BadMemoryFile, match="github-token") as refused:
            workspace.write(os.path.join(store.root, key), text.encode())
        assert token not in str(refused.value)
    workspace.write(os.path.join(store.root, "field.md"), f"{form}{hidden}\n---\n\nOther text.\n".encode())
    assert token[20:].encode() not in workspace.read(os.path.join(store.root, "field.md")), "no field of a model's own"
    assert len(workspace.refused) == 3
    assert all("github-token" in reason and token not in reason for reason in workspace.refused.values())
    assert [draft.key for draft in workspace.commit(Origin("extract"), "extract")] == ["fine.md", "field.md"]


def test_an_event_says_what_kind_was_saved_where(store: MemoryStore, events: Events) -> None:
    store.ensure()
    Path(store.root, "own.md").write_text(f"Token {github_token()}\n")
    store.record_outside_changes()
    [event] = [event for event in events.events if event.name == "memory.secret"]
    assert event.fields == {"file": "own.md", "found": "github-token in line 1"}
