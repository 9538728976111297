"""The core without the extra `bash`: all else works, and a fork is never lured into a shell that is not there (G4)."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import memdir
from memdir.agent.bash import is_installed
from memdir.agent.gate import Deny, memory_gate
from memdir.agent.tools.tool import Toolbox, memory_tools, told_of_bash
from memdir.transcript.message import ToolUse
from tests.agent.boxes import box
from tests.conftest import Ran

ROOT = Path(__file__).parents[3]
SOURCE = Path(memdir.__file__).parents[1]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    project = tmp_path_factory.mktemp("project")
    (project / "notes.txt").write_text("Lemons are sour.\n", encoding="utf-8")
    home = tmp_path_factory.mktemp("home")
    # -S leaves site-packages out: there is the standard library and memdir, nothing else.
    done = subprocess.run(
        [sys.executable, "-I", "-S", Path(__file__).with_name("core_only.py"), SOURCE, project],
        cwd=project,
        env={"MEMDIR_HOME": str(home), "HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["parser"] == []
    return found


def test_remembering_recalling_and_a_fork_need_no_other_package(seen: dict[str, Any]) -> None:
    assert "deploys_are_frozen" in seen["remembered"]
    assert "deploys_are_frozen" in seen["recalled"]
    read, searched, _, _, written = seen["results"]
    assert read[0] is False and "Lemons are sour." in read[1]
    assert searched[0] is False and "deploys_are_frozen" in searched[1]
    assert written[0] is False and "lemons.md" in seen["memories"]


def test_the_box_has_no_bash_and_the_gate_says_why(seen: dict[str, Any]) -> None:
    assert seen["box"] == ["Read", "Write", "Edit", "Grep", "Glob"]
    _, _, (is_error, told), (_, other), _ = seen["results"]
    assert is_error
    assert told.startswith("Refused: Bash is not available here, because the extra `bash` of memdir is not installed")
    assert told.endswith(": use Read, Grep and Glob.")
    assert other.startswith("Refused: SendMail is not available here") and "Bash" not in other
    assert seen["refusals"] == 2


def test_a_host_s_list_of_tools_stays_as_it_is(seen: dict[str, Any]) -> None:
    """Tools are part of the cache key: a Bash of the host's own stays in the list, and the gate is what holds (G1)."""
    assert seen["sent_as_listed"]


def test_the_doctor_says_so_in_a_note(seen: dict[str, Any]) -> None:
    notes = [finding for finding in seen["doctor"]["findings"] if finding["check"] == "bash"]
    assert seen["doctor"]["healthy"]
    expected = ["pip install 'memdir[bash]'"] if sys.platform.startswith("linux") else []
    assert [note["remedy"] for note in notes] == expected


def test_with_the_extra_the_doctor_has_nothing_to_say(memdir: Any) -> None:
    ran: Ran = memdir("doctor", "--json")
    assert [finding for finding in json.loads(ran.out)["findings"] if finding["check"] == "bash"] == []


@pytest.mark.parametrize("missing", ["tree_sitter", "tree_sitter_bash"])
def test_half_an_extra_is_none(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert not is_installed()
    assert "Bash" not in [tool.spec.name for tool in memory_tools()]
    assert told_of_bash(box(tmp_path)) == ""
    verdict = memory_gate([str(tmp_path)], cwd=str(tmp_path))(ToolUse("1", "Bash", {"command": "ls"}))
    assert isinstance(verdict, Deny) and "not installed" in verdict.reason


def test_a_job_tells_of_bash_where_there_is_one(tools: Toolbox) -> None:
    assert ("Bash" in told_of_bash(tools)) is tools.knows("Bash")


def test_installing_memdir_installs_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert project["dependencies"] == []
    assert extras["all"] == ["memdir[anthropic,openai,minilm,bash,chat,hub]"]
    assert extras["dev"][0] == "memdir[all]"
