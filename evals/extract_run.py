"""One conversation of the corpus through the real thing: fork, gate, store, and what is on disk afterwards."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memdir.agent.tools.tool import memory_tools
from memdir.events import NullSink
from memdir.layout import Layout, Place
from memdir.model.model import Model, RawCall, Request
from memdir.model.raw import messages_of
from memdir.remember.extract import Extraction, ExtractionPlan
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic, parse_type
from memdir.transcript.message import Message, user

Written = dict[str, str]


def run_case(case: Mapping[str, Any], model: Model, name: str) -> list[Written]:
    """What the case's conversation leaves in a fresh store that holds its existing memories."""
    with tempfile.TemporaryDirectory() as place:
        return asyncio.run(_run(case, model, name, Path(place)))


async def _run(case: Mapping[str, Any], model: Model, name: str, place: Path) -> list[Written]:
    moment = datetime.fromisoformat(case["now"])
    project = place / "project"
    project.mkdir()
    store = MemoryStore(Place(str(place / "memory")), clock=moment.timestamp)
    own = MemoryStore(Place(str(place / "own")), scope="user", clock=moment.timestamp)
    store.ensure()
    before = {one["file"]: _topic(one) for one in case.get("existing", [])}
    for key, topic in before.items():
        (place / "memory" / key).write_bytes(topic.data)
    session = SessionState("eval", Layout(str(place / "home"), str(project)))
    plan = ExtractionPlan([store, own], str(project), zone=moment.tzinfo)
    extraction = Extraction(session, plan, model, NullSink(), moment.timestamp)
    await extraction.extract(_turn(case, name))
    return _difference((store, own), before)


def _topic(one: Mapping[str, Any]) -> Topic:
    kind = parse_type(one.get("type"))
    return Topic.compose(name=one["name"], description=one["description"], kind=kind, body=one["body"])


def _turn(case: Mapping[str, Any], name: str) -> FinishedTurn:
    said = messages_of(RawCall("anthropic", {"messages": case["messages"]}))
    messages = [Message(message.role, message.content, f"m{number}") for number, message in enumerate(said)]
    instructions = case.get("instructions")
    context = (
        (user(f"Contents of CLAUDE.md (project instructions):\n{instructions}", is_meta=True),) if instructions else ()
    )
    tools = tuple(tool.spec for tool in memory_tools())
    return FinishedTurn(Request(name, tools=tools, messages=(*context, *messages[:-1])), messages[-1])


def _difference(stores: Sequence[MemoryStore], before: Mapping[str, Topic]) -> list[Written]:
    written = []
    found = [(store, header.key) for store in stores for header in store.scan(limit=None).headers]
    after = {key: store.read(key).topic for store, key in found}
    for key, topic in after.items():
        if key not in before or topic.data != before[key].data:
            written.append(_plain(key, topic, "update" if key in before else "create"))
    written += [_plain(key, topic, "delete") for key, topic in before.items() if key not in after]
    return written


def _plain(key: str, topic: Topic, verb: str) -> Written:
    return {
        "file": key,
        "name": topic.name,
        "description": topic.description,
        "type": str(topic.kind or ""),
        "body": topic.body.strip(),
        "action": verb if verb == "create" else f"{verb}:{key}",
    }
