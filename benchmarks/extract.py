"""`make bench-extract`: what the end of a turn costs the host, and what the built-in model's extraction costs in all.

    python -m benchmarks.extract [--sizes 20 500 5000]

The end of a turn only starts the work: it is measured beside a callback that does nothing but start an empty task, with
stores of several sizes. The extraction itself is measured as CPU time of the whole: fork, gate, model, store, history's
git processes included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.stores import build_store
from memdir.memdir import MemDir, open_memory
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Request
from memdir.remember.turn import FinishedTurn
from memdir.settings import Environment
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, assistant, user

SIZES = (20, 500, 5_000)
MAX_RETURN_SECONDS = 0.002  # the user's next keystroke waits for nothing
MAX_CPU_SECONDS = 0.300
CPU_AT = 500  # memories at which the CPU time counts
MESSAGES = 200
ROUNDS = 7
ASKS = ("Fix the failing import in the parser.", "Run the tests again.", "Why does the cache miss here?")
RULES = (
    "No, don't mock the database in integration tests, use the real PostgreSQL. We got burned when mocks hid a bug.",
    "The code freeze starts next Thursday, mobile cuts the release branch then.",
    "Please keep your answers short, I read the diff myself.",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.extract", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    rows = [asyncio.run(measure(size)) for size in parser.parse_args().sizes]
    print(f"bench-extract: a session of {MESSAGES} messages, best of {ROUNDS} rounds")
    for row in rows:
        print(
            f"  {row['memories']:>6,} memories   the turn's end returns in {row['return_ms']:.3f} ms"
            f" = {row['ratio']:.1f} x a no-op ({row['noop_ms']:.3f} ms), limit {MAX_RETURN_SECONDS * 1000:g} ms"
            f"   extraction {row['cpu_ms']:.0f} ms of CPU, {row['written']} written"
        )
    Path("results").mkdir(exist_ok=True)
    Path("results/bench-extract.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    slow = [row for row in rows if row["return_ms"] > MAX_RETURN_SECONDS * 1000]
    slow += [row for row in rows if row["memories"] == CPU_AT and row["cpu_ms"] > MAX_CPU_SECONDS * 1000]
    print(
        f"  {'OVER' if slow else 'ok'}: extraction over {CPU_AT} memories may take {MAX_CPU_SECONDS * 1000:g} ms of CPU"
    )
    return 1 if slow else 0


async def measure(size: int) -> dict[str, float]:
    """One size: the quickest return beside the quickest no-op, and the least CPU time of a whole extraction."""
    returns, noops, spent, written = [], [], [], 0
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            memory = _memory(Path(place), size)
            files: list[str] = []
            session = memory.session("bench", on_saved=files.extend)
            turn = _turn()
            asked = replace(turn.reply, content=(ToolUse("t", "Read", {}),))
            memory.search(ASKS[0])  # whoever was asked before has read what is new
            session.turn_ended(turn.request, asked)  # as a host that is in the middle of a session has done
            noops.append(await _noop())
            before, start = _cpu_seconds(), time.perf_counter()
            session.turn_ended(turn.request, turn.reply)
            returns.append(time.perf_counter() - start)
            await memory.close()
            spent.append(_cpu_seconds() - before)
            written = len(files)
    return {
        "memories": size,
        "return_ms": min(returns) * 1000,
        "noop_ms": min(noops) * 1000,
        "ratio": min(returns) / min(noops),
        "cpu_ms": min(spent) * 1000,
        "written": written,
    }


def _memory(place: Path, size: int) -> MemDir:
    project = place / "project"
    project.mkdir()
    environment = Environment({"MEMDIR_HOME": str(place / "home"), "HOME": str(place)})
    memory = open_memory(project, environment=environment, model=BuiltinModel())
    memory.start()
    build_store(Path(memory.place.root), size)
    memory.store.record_outside_changes()
    return memory


def _turn() -> FinishedTurn:
    """A working session: requests, tool calls and their output, and here and there something worth keeping."""
    messages: list[Message] = []
    while len(messages) < MESSAGES - 1:
        number = len(messages)
        said = RULES[number // 60 % 3] if number % 60 == 16 else ASKS[number % 3]
        use = ToolUse(f"t{number}", "Bash", {"command": "make test"})
        output = ToolResult(f"t{number}", f"{number} passed in 2.1s\n" * 20)
        messages += [
            user(said, message_id=f"m{number}"),
            Message("assistant", (Text("I will look at that."), use), f"m{number + 1}"),
            Message("user", (output,), f"m{number + 2}"),
            assistant(
                "I added a test with a mocked database and summarised the change above. All pass.",
                message_id=f"m{number + 3}",
            ),
        ]
    return FinishedTurn(
        Request("builtin", messages=tuple(messages[: MESSAGES - 1])), assistant("Done.", message_id="last")
    )


async def _noop() -> float:
    async def nothing() -> None:
        return None

    start = time.perf_counter()
    task = asyncio.get_running_loop().create_task(nothing())
    spent = time.perf_counter() - start
    await task
    return spent


def _cpu_seconds() -> float:
    """Of this process and the git processes it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    sys.exit(main())
