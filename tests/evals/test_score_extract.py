"""What an extraction wrote is scored by what stands in the store afterwards, and by judges that have not read it."""

from __future__ import annotations

import pytest
from evals.extract_data import DEV
from evals.score_extract import score

from evals import left_out


@pytest.mark.parametrize(("action", "forbidden"), [("delete:old.md", 0), ("update:old.md", 1)])
def test_what_is_deleted_is_not_written(action: str, forbidden: int) -> None:
    case = {"id": "1", "expect": [], "allow": [], "forbid": [["yaml"]], "tags": []}
    gone = {"name": "Yaml", "description": "", "type": "feedback", "body": "Use yaml.", "action": action}
    assert score([(case, [gone])]).forbidden == forbidden


def test_judges_that_are_there_are_not_trained_again(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    for author in DEV:
        (tmp_path / f"{author}.txt").write_text("", encoding="utf-8")
    monkeypatch.setattr(left_out, "read", None)  # nothing is read
    left_out.train_missing(tmp_path)
