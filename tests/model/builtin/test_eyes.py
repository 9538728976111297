"""What a person wants kept, held against the files of his project: what these say themselves is not kept (T5)."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memdir.model.builtin.eyes import notice

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {
        "Makefile": "test:  ## Run the tests\n\tpytest -q\n\nlint:\n\truff check .\n",
        "package.json": '{"scripts": {"build": "vite build"}}',
        "src/dates.py": "MAX_TRIES = 5\n\n\ndef parse_date(text):\n    return text\n",
        "config/web.yaml": "timeout: 30\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


SAID_BY_FILES = """
`make test` runs the tests of this repository (target in the Makefile)
make lint runs ruff
`npm run build` builds with vite
The function parse_date is in src/dates.py
The parser lives in src/dates.py
Die Funktion parse_date steht in src/dates.py
The constant MAX_TRIES is 5
The timeout is set in config/web.yaml
""".strip().splitlines()

# A judgement, a reason, a ban, a failure; what is elsewhere; what is more than where it stands.
SAID_BY_PEOPLE = """
The function parse_date fails on leap days, so never use it for invoices
parse_date() is slow on long texts
The constant MAX_TRIES is too low for production
MAX_TRIES is 5 because the partner blocks the sixth
Die Funktion parse_date rechnet bei Schaltjahren falsch
La fonction parse_date ne marche pas en février
src/dates.py is fragile: two of us broke it
The parser lives in src/dates.py and nobody understands it
config/web.yaml is not what production uses
make test takes 20 minutes on the old runner
npm run build breaks on Windows
The function export_all in the partner's SDK returns cents
The parameter `retries` of the bank's API counts from 0
The variable DEPLOY_KEY is set in the admin console of the host
The answer is in docs/faq.md of the other repository
""".strip().splitlines()


@pytest.mark.parametrize("text", SAID_BY_FILES)
def test_what_the_files_say_is_told_by_the_code_only_where_they_are(
    text: str, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert notice(text, NOW, project=str(repository)).is_derivable
    assert not notice(text, NOW, project=str(tmp_path_factory.mktemp("empty"))).is_derivable


@pytest.mark.parametrize("text", SAID_BY_PEOPLE)
def test_what_people_think_of_code_stands_in_no_file(text: str, repository: Path) -> None:
    assert not notice(text, NOW, project=str(repository)).is_derivable
