"""What `deploy/` starts exists: the commands and options in it are those of today."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.cli.context import build_parser
from memdir.cli.entry import command_places, load_command

DEPLOY = Path(__file__).parents[2] / "deploy"
LINES = [
    line.partition("memdir ")[2]
    for unit in sorted(DEPLOY.glob("*.service"))
    for line in re.findall(r"^ExecStart=(.*)", unit.read_text(encoding="utf-8"), re.MULTILINE)
]


def with_password(unit: Path) -> str:
    """The unit as its comments say for a database that wants a password."""
    lines = "LoadCredential|RuntimeDirectory|ExecStartPre|Environment"
    return re.sub(rf"^# (?=(?:{lines})=)", "", unit.read_text(encoding="utf-8"), flags=re.MULTILINE)


def container_line() -> str:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    words = [json.loads(found) for found in re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])", text, re.MULTILINE)]
    return " ".join(word for part in words for word in part).partition("memdir ")[2]


@pytest.mark.parametrize("line", [*LINES, container_line()])
def test_what_is_started_is_a_command_of_today(line: str) -> None:
    group, action, *words = shlex.split(line)
    command = load_command(command_places()[f"{group} {action}"])
    build_parser(f"{group} {action}", command).parse_args(words)


def test_an_image_gets_what_is_installed_and_nothing_else_of_a_checkout(tmp_path: Path) -> None:
    """All that the package is built from: without one of its files there is no image."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    for *words, to in map(str.split, re.findall(r"^(?:COPY|ADD) (.*)", text, re.MULTILINE)):
        (tmp_path / to.strip("/")).mkdir(parents=True, exist_ok=True)
        for path in (path for path in map(DEPLOY.parent.joinpath, words) if path.is_file()):
            (tmp_path / to.strip("/") / path.name).touch()
    told = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    copied = {path.relative_to(tmp_path / "src").as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert copied == {"pyproject.toml", told["readme"], *told["license-files"]}
    assert (tmp_path / "src" / "src").is_dir() and "COPY src /src/src" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
@pytest.mark.parametrize("read", [Path.read_text, with_password])
def test_systemd_takes_every_unit(read: Callable[[Path], str], tmp_path: Path) -> None:
    for unit in DEPLOY.glob("memdir-*.*"):
        text = read(unit).replace("/opt/memdir/bin/memdir", sys.executable)
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    paths = sorted(str(path) for path in tmp_path.iterdir())
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout + ended.stderr) == (0, "")


@pytest.mark.parametrize("unit", sorted(DEPLOY.glob("*.service")), ids=lambda unit: unit.stem)
def test_the_password_reaches_the_service_in_a_file_that_postgresql_reads(unit: Path, tmp_path: Path) -> None:
    """libpq takes none from a file that a group may read; the credentials of a unit with a user are such files."""
    text = with_password(unit)
    for name, value in {"%d": f"{tmp_path}/given", "%t": f"{tmp_path}/run", "%N": unit.stem}.items():
        text = text.replace(name, value)
    told = dict(re.findall(r"^(LoadCredential|RuntimeDirectory|ExecStartPre)=(.*)", text, re.MULTILINE))
    given = tmp_path / "given" / told["LoadCredential"].partition(":")[0]
    given.parent.mkdir()
    given.write_text("*:*:*:hub:it\n", encoding="utf-8")
    given.chmod(0o440)
    (tmp_path / "run" / told.get("RuntimeDirectory", "")).mkdir(parents=True)
    subprocess.run(shlex.split(told.get("ExecStartPre", "true")), check=True)
    read = Path(re.findall(r"PGPASSFILE=(\S+)", text)[0])
    assert read.read_bytes() == given.read_bytes() and read.stat().st_mode & 0o077 == 0


def test_the_units_say_nothing_of_their_own_to_everybody() -> None:
    for unit in DEPLOY.glob("*.service"):
        text = unit.read_text(encoding="utf-8")
        assert "StateDirectoryMode=0700" in text and "NoNewPrivileges=yes" in text
