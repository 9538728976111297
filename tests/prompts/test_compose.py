"""Prompts are files with declared variables (P8)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memdir.errors import PromptError
from memdir.prompts import compose
from memdir.prompts.compose import load_prompt
from tests.prompts.prompt_files import prompt_names

SOURCE = Path(compose.__file__).parent.parent


@pytest.fixture
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prompts folder of the test's own."""
    folder = tmp_path / "prompts"
    folder.mkdir()
    monkeypatch.setattr(compose, "FOLDER", str(folder))
    return folder


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_variables_are_filled_in_and_values_are_not_searched_again(prompts: Path) -> None:
    write(prompts, "a.md", "---\nvariables: one, two\n---\n{{one}} and {{ two }}\n")
    assert load_prompt("a.md").render(one="{{two}}", two="2") == "{{two}} and 2\n"


def test_a_missing_or_unknown_variable_is_an_error(prompts: Path) -> None:
    write(prompts, "a.md", "---\nvariables: one\n---\n{{one}}")
    with pytest.raises(PromptError, match="no value for one"):
        load_prompt("a.md").render()
    with pytest.raises(PromptError, match="no such variable: extra"):
        load_prompt("a.md").render(one="1", extra="2")


def test_using_and_declaring_must_agree(prompts: Path) -> None:
    write(prompts, "a.md", "{{one}}")
    write(prompts, "b.md", "---\nvariables: one\n---\ntext")
    for name in ("a.md", "b.md"):
        with pytest.raises(PromptError, match="one"):
            load_prompt(name)


def test_parts_are_put_in_with_their_variables(prompts: Path) -> None:
    write(prompts, "a.md", "---\n---\nbefore\n{{> shared/p.md}}\nafter\n")
    write(prompts, "shared/p.md", "---\nvariables: x\n---\npart {{x}}\n")
    assert load_prompt("a.md").render(x="1") == "before\npart 1\nafter\n"


def test_a_circle_of_parts_is_an_error(prompts: Path) -> None:
    write(prompts, "a.md", "{{> b.md}}\n")
    write(prompts, "b.md", "{{> a.md}}\n")
    with pytest.raises(PromptError, match="includes itself"):
        load_prompt("a.md")


def test_users_replace_only_what_is_meant_for_them(prompts: Path, tmp_path: Path) -> None:
    write(prompts, "open.md", "---\noverride: user\n---\nours")
    write(prompts, "closed.md", "ours")
    write(prompts, "whole.md", "{{> open.md}}\n")
    own = tmp_path / "own"
    for name in ("open.md", "closed.md"):
        write(own, name, "theirs")
    assert load_prompt("open.md", overrides=str(own)).text == "theirs"
    assert load_prompt("closed.md", overrides=str(own)).text == "ours"
    assert load_prompt("whole.md", overrides=str(own)).text.strip() == "theirs"


def test_the_hash_changes_with_the_text(prompts: Path) -> None:
    write(prompts, "a.md", "one")
    before = load_prompt("a.md").hash
    write(prompts, "a.md", "two")
    assert len(before) == 12
    assert load_prompt("a.md").hash != before


def test_every_prompt_file_is_used_somewhere() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    texts = "\n".join(Path(compose.FOLDER, name).read_text(encoding="utf-8") for name in prompt_names())
    for name in prompt_names():
        assert f'"{name}"' in code or f"{{{{> {name}}}}}" in texts, f"{name} is used nowhere"


def test_no_prompt_names_a_day() -> None:
    """P7: no prompt contains today's date, or midnight would bust the cache."""
    for name in prompt_names():
        text = Path(compose.FOLDER, name).read_text(encoding="utf-8")
        assert not re.search(r"\b20\d\d-\d\d-\d\d\b|\{\{ *(today|date|now) *\}\}", text), name
