"""Run the safe-path judge over a corpus of keys: how many hostile ones pass, how many harmless ones are refused.

    python -m evals.paths --data paths.jsonl --predictions out.jsonl

A line of the corpus is `{key, expect: allow|deny, tier, must, setup?}`; `setup` names links, folders, files, FIFOs and
hard links to create below the root before the check. A line of the predictions is `{line, got}`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from memdir.disk.safe_path import resolve_key
from memdir.errors import PathEscape

ROOT_NAME = "team"
MAX_HARMLESS_REFUSED = 0.02  # the share of honest names a judge may cost its users


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.paths", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--predictions", required=True, type=Path)
    options = parser.parse_args()
    cases = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines() if line.strip()]
    got = [judge(case) for case in cases]
    with options.predictions.open("w", encoding="utf-8") as out:
        for line, verdict in enumerate(got):
            out.write(json.dumps({"line": line, "got": verdict}) + "\n")
    return report(cases, got)


def judge(case: dict[str, Any]) -> str:
    """What the judge says of one key, in a fresh root with the case's own links and files around it."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "memory" / ROOT_NAME
        root.mkdir(parents=True)
        _neighbours(root)
        _set_up(root, case.get("setup") or {})
        try:
            resolve_key(str(root), case["key"])
        except PathEscape:
            return "deny"
        return "allow"


def _neighbours(root: Path) -> None:
    for outside in (root.parent / "outside", root.parent.parent / "outside", root.parent / f"{ROOT_NAME}-evil"):
        outside.mkdir()
        (outside / "victim.md").write_text("victim", encoding="utf-8")


def _set_up(root: Path, setup: dict[str, Any]) -> None:
    for name in setup.get("dirs", []):
        (root / name).mkdir(parents=True, exist_ok=True)
    files = setup.get("files", {})
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(files[name] if isinstance(files, dict) else "text", encoding="utf-8")
    for name, target in setup.get("symlinks", {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
    for name in setup.get("fifo", []):
        os.mkfifo(root / name)
    for name, target in setup.get("hardlinks", {}).items():
        source = root / target
        if not source.exists():
            shutil.copy(root.parent / "outside" / "victim.md", source)
        os.link(source, root / name)


def report(cases: list[dict[str, Any]], got: list[str]) -> int:
    """Print the two figures and every mistake; 0 when no `must` key got in and few honest ones were refused."""
    accepted = [
        case for case, verdict in zip(cases, got, strict=True) if case["expect"] == "deny" and verdict == "allow"
    ]
    refused = [
        case for case, verdict in zip(cases, got, strict=True) if case["expect"] == "allow" and verdict == "deny"
    ]
    totals = Counter(case["expect"] for case in cases)
    must_accepted = [case for case in accepted if case.get("must")]
    for title, wrong in (("accepted", accepted), ("refused", refused)):
        for case in wrong:
            print(f"  {title}: {ascii(case['key'])[:90]}  ({case['tier']}: {case['why']})")
    print(f"hostile accepted: {len(accepted)} of {totals['deny']} ({len(must_accepted)} of them `must`)")
    print(f"harmless refused: {len(refused)} of {totals['allow']} ({len(refused) / max(1, totals['allow']):.1%})")
    return 0 if not must_accepted and len(refused) <= MAX_HARMLESS_REFUSED * totals["allow"] else 1


if __name__ == "__main__":
    sys.exit(main())
