"""`memdir mcp --http` under the conformance tests of the protocol's own project (ADR 0061)."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conformance.token_proxy import TokenProxy

HERE = Path(__file__).parent
FOLDER = Path(__file__).parents[2] / ".conformance"
BASELINE = HERE / "baseline.yml"
SECONDS = 300
# What every client needs, and what keeps a web page out.
NEEDED = {"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"}


def known_failures() -> dict[str, str]:
    """Each scenario of the baseline, with the reason behind it."""
    lines = re.findall(r"^  - (\S+)(?:  # (.+))?$", BASELINE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(lines)


def test_the_baseline_gives_a_reason_for_each_and_excuses_nothing_that_is_needed() -> None:
    found = known_failures()
    assert not NEEDED & found.keys()
    assert all(len(reason.split()) > 3 for reason in found.values())
    assert len(found) == BASELINE.read_text(encoding="utf-8").count("\n  - ")


@pytest.mark.timeout(SECONDS + 60)
def test_all_scenarios_pass_but_those_of_the_baseline(memdir_command: str, project: Path, tmp_path: Path) -> None:
    if not os.environ.get("TEST_CONFORMANCE"):
        pytest.skip("the conformance tests are run by `make test-conformance`")
    if not (FOLDER / ".installed").exists():
        pytest.skip("the conformance tests are not installed below .conformance: `make test-conformance` said why")
    subprocess.run([memdir_command, "remember", "Deploys are frozen until 2099-12-01"], cwd=project, check=True)
    server = subprocess.Popen(
        [memdir_command, "mcp", "--http", "--port", "0", "--json"], cwd=project, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            told += server.stdout.readline()
        opened = json.loads(told)
        with TokenProxy(opened["url"], opened["token"]) as proxy:
            done = _run("--url", proxy.url, "--suite", "all", "--expected-failures", str(BASELINE), cwd=tmp_path)
    finally:
        server.terminate()
        server.wait(timeout=30)
        if server.stdout:
            server.stdout.close()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    passed = {name for name in NEEDED if re.search(rf"✓ {re.escape(name)}\b", done.stdout)}
    assert passed == NEEDED, done.stdout[-6000:]


def _run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = FOLDER / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    path = f"{FOLDER / 'node_modules/.bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["node", str(program), "server", *words],
        cwd=cwd,
        env={"PATH": path, "HOME": str(cwd)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
