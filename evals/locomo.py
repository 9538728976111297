"""LoCoMo: find the session, the turn or the observed fact that answers a question.

    python -m evals.locomo --data locomo_dev.json.xz [--predictions OUT]

Predictions are written to OUT with `.session`, `.turn` and `.observation` put before its ending.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from evals.retrieval import Case, Pool, Report, evaluate, report_set
from memdir.search.document import Document

_TURN_ID = re.compile(r"D\d+:\d+")
_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def main() -> int:
    return report_set("locomo", __doc__, run)


def run(data: Path, predictions: Path | None, *, ours: str) -> Iterator[Report]:
    """All three granularities."""
    with lzma.open(data, "rt", encoding="utf-8") as source:
        conversations: list[dict[str, Any]] = json.load(source)
    for name, read in READERS.items():
        target = predictions.with_suffix(f".{name}{predictions.suffix}") if predictions else None
        yield evaluate(f"LoCoMo, {name} = document", _pools(conversations, read), target, ours=ours)


def _pools(conversations: list[dict[str, Any]], read: Callable[[dict[str, Any]], Documents]) -> Iterator[Pool]:
    for conversation in conversations:
        documents, answers = read(conversation)
        yield Pool(documents, list(_cases(conversation, answers)))


def _cases(conversation: dict[str, Any], answers: Callable[[set[str]], set[str]]) -> Iterator[Case]:
    for at, asked in enumerate(conversation["qa"]):
        evidence = set(_TURN_ID.findall(" ".join(asked.get("evidence") or [])))
        gold = frozenset(answers(evidence))
        if gold:
            kind = _KINDS.get(asked["category"], str(asked["category"]))
            yield Case(f"{conversation['sample_id']}#{at}", asked["question"], gold, kind)


def _turns(conversation: dict[str, Any]) -> dict[str, str]:
    talk = conversation["conversation"]
    sessions = [turns for name, turns in talk.items() if name.startswith("session_") and isinstance(turns, list)]
    return {turn["dia_id"]: f"{turn['speaker']}: {turn['text']}" for turns in sessions for turn in turns}


def _read_turns(conversation: dict[str, Any]) -> Documents:
    turns = _turns(conversation)
    return [
        Document(key, body=text, passages=[text]) for key, text in turns.items()
    ], lambda found: found & turns.keys()


def _read_sessions(conversation: dict[str, Any]) -> Documents:
    parts: dict[str, list[str]] = {}
    for key, text in _turns(conversation).items():
        parts.setdefault(key.split(":")[0], []).append(text)
    documents = [Document(key, body="\n".join(lines), passages=lines) for key, lines in parts.items()]
    return documents, lambda found: {key.split(":")[0] for key in found} & parts.keys()


def _read_observations(conversation: dict[str, Any]) -> Documents:
    documents, cited = [], {}
    for session, speakers in conversation["observation"].items():
        for speaker, facts in speakers.items():
            for at, (text, source) in enumerate(facts):
                key = f"{session}/{speaker}/{at}"
                documents.append(Document(key, body=text, passages=[text]))
                cited[key] = set(_TURN_ID.findall(str(source)))
    return documents, lambda found: {key for key, turns in cited.items() if turns & found}


Documents = tuple[list[Document], Callable[[set[str]], set[str]]]
READERS = {"session": _read_sessions, "turn": _read_turns, "observation": _read_observations}

if __name__ == "__main__":
    sys.exit(main())
