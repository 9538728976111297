"""Magic docs in the chat: read by its agent, brought up to date behind it, told and taken back (M1–M3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.chat.host import ChatHost
from tests.chat.hosts import Person, host_of, opened, script
from tests.chat.in_tmux import NO_TMUX, Tmux
from tests.chat.seen import chat_words
from tests.conftest import Ran
from tests.model.providers import ANTHROPIC, PROVIDERS, Provider
from tests.provider_server import ProviderServer, calls, says
from tests.provider_server.script import Body, Outcome

TEXT = "# Magic doc: Billing\n_Short._\n\nInvoices are made at night.\n"
NEW = f"{TEXT}\nPostgreSQL 17 holds them.\n"


def answer(body: Body) -> Outcome:
    """What runs behind the conversation: one reads the doc, writes it and is done; the others have nothing to do."""
    told = str(body.get("messages") or body.get("input"))
    if "[memdir job: magic-doc]" not in told:
        return says("Nothing to save.")
    if "Replaced" in told:
        return says("Done.")
    if "Invoices are made at night" in told:
        return calls(("Write", {"file_path": "billing.md", "content": NEW}))
    return calls(("Read", {"file_path": "billing.md"}))


@pytest.mark.parametrize("provider", [ANTHROPIC, PROVIDERS[1]], ids=lambda provider: provider.name)
async def test_a_doc_that_the_agent_reads_is_updated_told_with_its_diff_and_taken_back(
    provider: Provider, project: Path
) -> None:
    (project / "billing.md").write_text(TEXT)
    person = Person()
    with ProviderServer() as server:
        server.add(*script(calls(("Read", {"file_path": "billing.md"})), says("I see."), forks=answer))
        memory, _ = opened(project, provider, server, magicDocs="true")
        async with host_of(memory, person) as host:
            await host.say("Look at billing.md. The invoices are in PostgreSQL 17 from today on.")
            await _settled(host)
            assert (project / "billing.md").read_text() == NEW
            memory.undo(scope="docs")
    assert (project / "billing.md").read_text() == TEXT
    (told,) = person.heard("updated")
    assert told["file"] == str(project / "billing.md") and "+PostgreSQL 17 holds them." in told["diff"]
    assert not person.asked, "the setting is the permission"


@pytest.mark.parametrize("provider", [ANTHROPIC, PROVIDERS[1]], ids=lambda provider: provider.name)
async def test_following_the_hint_in_another_window_is_enough(provider: Provider, project: Path) -> None:
    """M2: a chat that is open takes the setting up, and gives no hint any more."""
    (project / "billing.md").write_text(TEXT)
    person = Person()
    reads = calls(("Read", {"file_path": "billing.md"}))
    with ProviderServer() as server:
        server.add(*script(reads, says("I see."), forks=answer))
        memory, _ = opened(project, provider, server)
        async with host_of(memory, person) as host:
            settings = Path(memory.layout.local_settings)
            settings.parent.mkdir(parents=True, exist_ok=True)
            settings.write_text('{"magicDocs": true}')
            await host.say("Look at billing.md. The invoices are in PostgreSQL 17 from today on.")
            await _settled(host)
            assert (project / "billing.md").read_text() == NEW
    assert not [one for one in person.heard("notice") if "magicDocs" in str(one)]


async def _settled(host: ChatHost) -> None:
    docs = host.session.magic_docs
    if docs.running is not None:
        await docs.running


def test_a_script_is_told_too_and_keeps_nothing_that_it_shall_not(memdir: Callable[..., Ran], project: Path) -> None:
    """With the built-in model, which reads the documents that a message names."""
    doc = project / "billing.md"
    doc.write_text(TEXT)
    said = "Look at @billing.md. We decided to use PostgreSQL 17 for the billing service because of the audit rules."
    for words in (("--no-learning", "--set", "magicDocs=true"), ()):
        quiet = memdir("chat", "-p", said, *words)
        assert doc.read_text() == TEXT
        assert ("is a magic doc" in quiet.err) == ("config set magicDocs true" in quiet.err) == (not words)
    refused = memdir("chat", "-p", said, "--set", "magicDocs=true")
    assert doc.read_text() == TEXT and "`--allow edits` has it kept up to date" in refused.err
    lines = memdir("chat", "-p", said, "--json", "--set", "magicDocs=true", "--allow", "edits").out.splitlines()
    (updated,) = [one for one in map(json.loads, lines) if one["type"] == "updated"]
    assert updated["file"] == str(doc) and "+- We decided to use PostgreSQL 17" in updated["diff"]
    assert "PostgreSQL 17" in doc.read_text()
    assert memdir("undo", "--scope", "docs").code == 0 and doc.read_text() == TEXT


@pytest.mark.slow("openai")  # the screen is the same, whoever answers
@pytest.mark.parametrize("provider", [ANTHROPIC, PROVIDERS[1]], ids=lambda provider: provider.name)
@pytest.mark.skipif(bool(NO_TMUX), reason=NO_TMUX)
def test_a_person_sees_the_update_its_diff_and_takes_it_back_on_keys(provider: Provider, project: Path) -> None:
    """X9."""
    doc = project / "billing.md"
    doc.write_text(TEXT)
    server = ProviderServer(script(calls(("Read", {"file_path": "billing.md"})), says("I see."), forks=answer))
    with server, Tmux(chat_words(server, "--set", "magicDocs=true", provider=provider), cwd=project) as tmux:
        tmux.wait_for("/help")
        tmux.say("Look at billing.md. The invoices are in PostgreSQL 17 from today on.")
        tmux.wait_for("Doc updated: billing.md", "F5 undo")
        assert doc.read_text() == NEW
        tmux.keys("F4")
        tmux.wait_for("update billing.md (docs)", "+PostgreSQL 17 holds them.")
        tmux.keys("F5")
        tmux.wait_for("Taken back: update billing.md")
    assert doc.read_text() == TEXT


@pytest.mark.skipif(bool(NO_TMUX), reason=NO_TMUX)
def test_the_key_takes_back_what_this_chat_changed_in_every_scope_and_nothing_of_others(
    memdir: Callable[..., Ran], project: Path
) -> None:
    """S14: a doc and a memory of one turn, one key after the other; what another process wrote stays."""
    doc = project / "billing.md"
    doc.write_text(TEXT)
    memdir("remember", "Deploys are frozen until 2027-03-01, because of the auditors")
    with Tmux(chat_words(None, "--set", "magicDocs=true"), cwd=project) as tmux:
        tmux.wait_for("memdir chat · builtin")
        tmux.say("Look at @billing.md. We decided to send invoices monthly because of accounting.")
        tmux.wait_for("Doc updated: billing.md", "Memory saved: project_")
        assert "monthly" in doc.read_text()
        memdir("remember", "The staging server is called heron", "--scope", "user")
        tmux.keys("F5")
        tmux.wait_for("Taken back: ")
        tmux.keys("F5")
        tmux.wait_for("Taken back: update billing.md", "Taken back: extract project_", "memdir log --scope docs")
        tmux.keys("F5")
        tmux.wait_for("this conversation has changed nothing", "memdir undo")
        tmux.say("/remember We meet on Tuesdays")
        tmux.wait_for("Remembered: ")
        tmux.wipe()
        tmux.keys("F5")
        tmux.wait_for("Taken back: ")
        tmux.say("/forget heron")  # which is the person's own, for all projects
        tmux.wait_for("Forgotten: ")
        tmux.keys("F5")
        tmux.wait_for("Taken back: forget ")
        tmux.say("/exit")
        tmux.wait_for("ended with 0")
    assert doc.read_text() == TEXT
    listed = json.loads(memdir("list", "--scope", "all", "--json").out)["memories"]
    assert sorted(one["name"].split()[1] for one in listed) == ["are", "staging"]
