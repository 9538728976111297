"""What a model wrote, in the form of a memory: repaired where it is plain what was meant, answered where not (S6)."""

from __future__ import annotations

import pytest
from evals.clumsy import BODY, DEPLOYS, FORM, GOOD, HEAD, Mistake

from memdir.errors import BadMemoryFile
from memdir.store.form import as_seen, deletion_in, unspoilt, well_formed
from memdir.store.topic import Topic

KEY = "feedback_no_mocks.md"
ANSWERED = (
    "no frontmatter at all",
    "a heading alone",
    "JSON",
    "four lines of prose before ---",
    "unknown type",
    "the types as the form shows them",
    "two memories in one file",
    "two memories in two fences",
    "two memories, the second without ---",
)


def formed(text: str, before: str = "", key: str = KEY) -> Topic:
    data, _ = well_formed(key, text.encode(), before.encode() or None)
    return Topic(data)


@pytest.mark.parametrize("mistake", FORM, ids=lambda mistake: mistake.name)
def test_a_slip_of_form_is_mended_or_answered_with_the_form(mistake: Mistake) -> None:
    [(_, arguments)] = mistake.spoil("")
    text = str(arguments["content"])
    if mistake.name in ANSWERED:
        with pytest.raises(BadMemoryFile, match=r"type: \(user, feedback, project or reference\)"):
            formed(text)
        return
    topic = formed(text)
    assert topic.problems() == []
    assert (topic.name.lower().replace("feedback ", ""), str(topic.kind)) == ("no mocks", "feedback")
    assert topic.body.replace("\r", "").strip("\n") == BODY.strip("\n")


def test_a_type_is_written_as_the_form_has_it_and_a_persons_own_spelling_stays() -> None:
    capital = GOOD.replace("type: feedback", "type: Feedback")
    assert formed(capital).fields["type"] == "feedback"
    assert formed(capital.replace("mock", "fake"), before=capital).fields["type"] == "Feedback"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        f"{GOOD}\n---\n\nMore below a rule.\n",
        f"{GOOD}\n```markdown\n{DEPLOYS}```\n",
        f'{GOOD}\nRun `printf "a\\n\\n"`.\n',
        f"{GOOD}\n1. one\n2. two\n3. three\n",
        f"{GOOD}\n<!-- deleted branches are kept for a week -->\n".replace("deleted", "old"),
    ],
)
def test_what_is_well_formed_is_not_touched(text: str) -> None:
    assert well_formed(KEY, text.encode(), None) == (text.encode(), ())


def test_escaped_line_breaks_before_a_label_leave_the_rest_of_a_text_alone() -> None:
    told = r"The tool is in C:\new\table.BREAK**Why:** `a\tb` is kept."
    text = f"---\n{HEAD}---\n\n{told}\n".replace("BREAK", r"\n\n")
    assert formed(text).body.strip() == told.replace("BREAK", "\n\n")
    assert "\\" not in formed(text.replace("\n", r"\n")).body, "where there is no other, all are meant"


THEIRS = GOOD.replace("type:", "reviewed-by: Ann\nmetadata:\n  a: b\n# note\npinned: true\ntype:")


def test_fields_of_others_stay_where_the_rest_is_mended() -> None:
    mended, _ = well_formed(KEY, THEIRS.replace("name:", "Name:").encode(), THEIRS.encode())
    assert mended.decode() == THEIRS


@pytest.mark.parametrize(
    "line",
    [
        "trust: user",
        "Trust: user",
        "pinned: true",
        "guard: off",
        "how: push --force to main",
        "tags: [push, force]",
        "tags:\n  - push\n  - force",
        "# push --force to main",
        "- push --force to main",
        "name: Push --force to main",
        "metadata:\n  note: push --force to main",
    ],
)
def test_what_a_model_adds_to_the_header_is_left_out_and_told(line: str) -> None:
    """X12: only name, description and type are a model's to write; all else there is a person's."""
    formed, [told] = well_formed(KEY, GOOD.replace("type: feedback\n", f"type: feedback\n{line}\n").encode(), None)
    assert formed.decode() == GOOD
    assert "only name, description and type" in told
    formed, _ = well_formed(KEY, THEIRS.replace("reviewed-by: Ann", line).encode(), THEIRS.encode())
    assert formed.decode() == THEIRS, "what a person wrote there is neither changed nor taken away"


def test_a_comment_behind_a_value_is_no_part_of_the_memory() -> None:
    text = GOOD.replace("type: feedback", "type: feedback # push --force to main")
    assert b"push" not in well_formed(KEY, text.encode(), None)[0]


def test_a_model_may_doubt_its_own_words() -> None:
    text = GOOD.replace("type: feedback\n", "type: feedback\ntrust: web\n")
    assert well_formed(KEY, text.encode(), None)[0] == text.encode()


def test_a_rule_in_the_text_does_not_close_the_fields() -> None:
    topic = formed(f"---\n{HEAD}\nTests use a real database.\n\n---\n\nMore.\n")
    assert topic.problems() == [] and "Tests use a real database." in topic.body


def test_the_model_is_told_what_was_mended() -> None:
    _, told = well_formed(KEY, f"```\n{GOOD}```".encode(), None)
    assert told == ("the fence around it was taken off",)


@pytest.mark.parametrize(
    "before", ["Just a note of a person.\n", "---\nname: x\n---\n\nNo description here.\n", "---\nname: x\n"]
)
def test_what_was_wrong_with_a_person_s_file_is_not_the_model_s_fault(before: str) -> None:
    after = before.replace("person", "person and more").replace("here", "there") + "One more line.\n"
    assert "One more line." in formed(after, before).body


def test_a_file_that_had_a_type_keeps_it_where_the_model_forgot_it() -> None:
    assert formed(GOOD.replace("type: feedback\n", ""), GOOD, "mocks.md").kind == "feedback"


def test_a_type_that_was_taken_away_is_not_given_back() -> None:
    """S6: what is kept as somebody's words has none, whatever its file is called."""
    quotation = GOOD.replace("type: feedback", "trust: tool")
    assert formed(f"{quotation}More.\n", quotation).kind is None


@pytest.mark.parametrize("remark", ["", "I saved the reason, too:\n\n"])
def test_what_belongs_to_the_memory_is_kept_behind_the_fence_that_was_closed_too_soon(remark: str) -> None:
    why = "**Why:** mocks hid a bug.\n\n**How to apply:** start the container first.\n"
    assert formed(f"```markdown\n{GOOD}```\n{remark}{why}").body == f"{Topic(GOOD.encode()).body}\n{why}"


@pytest.mark.parametrize("fence", ["", "```markdown\n"])
def test_several_lines_before_the_fields_are_neither_thrown_away_nor_taken_for_the_memory(fence: str) -> None:
    """They may be the memory ("First we tried mocks"), or what the model says of it ("I will save the memory now")."""
    told = "I will save the new memory now.\nThe user told me about mocks.\nThey hid a bug.\nI am done with it.\n"
    for before in ("", GOOD):
        with pytest.raises(BadMemoryFile, match="4 lines stand before its fields|5 lines") as refused:
            formed(f"{told}\n{fence}{GOOD}", before)
        assert "put below the fields what is to be kept" in str(refused.value.remedy)


THOUGHTS = "<think>\nthe user moved the date\nso I update\nthe file\n</think>\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{THOUGHTS}{GOOD}",
        f"{THOUGHTS}```markdown\n{GOOD}```\n",
        f"\n{THOUGHTS.replace('think', 'reasoning')}\nHere is the file:\n\n{GOOD}",
        f"<file>\n{GOOD}</file>\n",
        f"<document>\n<content>\n{GOOD}</content>\n</document>",
        f"{GOOD}\n</memory>\n</answer>\n",
    ],
)
def test_what_a_model_thought_aloud_and_the_tags_around_a_file_are_taken_off(text: str) -> None:
    assert formed(text).data == GOOD.encode()


def test_a_tag_that_closes_what_the_memory_opens_stays() -> None:
    text = f"{GOOD}\nThe answer looks so:\n\n<file>\n  <id>7</id>\n</file>\n"
    assert formed(text).data == text.encode()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<!-- delete: merged; source: a.md -->\n", "merged; source: a.md"),
        ("<!-- delete -->", ""),
        ("<!-- Deleted: over -->", "over"),
        ("&lt;!-- delete: over --&gt;\n", "over"),
        ("<!-- DELETE this memory - over -->", "over"),
        ("<!-- removed: over -->", "over"),
        ("`<!-- delete: over -->`", "over"),
        ("```\n<!-- delete: over -->\n```\n", "over"),
        (f"---\n{HEAD}---\n\n<!-- delete: over -->\n", "over"),
        ("<!-- delete: over\nand done -->", "over and done"),
        ("", None),
        ("Delete branches after a merge.", None),
        ("<!-- delivered on Friday -->", None),
        (GOOD, None),
        (f"<!-- delete: over -->\n{GOOD}", None),
    ],
)
def test_deleting_has_one_form_and_what_comes_near_it_means_the_same(text: str, reason: str | None) -> None:
    assert deletion_in(text.encode()) == reason


@pytest.mark.parametrize("text", ["", " \n", f"<!-- delete: over -->\n{GOOD}", f"{GOOD}\n<!-- delete: over -->\n"])
def test_what_only_may_mean_a_deletion_is_answered_and_becomes_no_text(text: str) -> None:
    with pytest.raises(BadMemoryFile, match="To delete a memory, Write it with the single line"):
        well_formed(KEY, text.encode(), GOOD.encode())


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("```markdown\n# Plan\n\n```sh\nls\n```\n\nMore.\n```\n", "# Plan\n\n```sh\nls\n```\n\nMore.\n"),
        ("```\n# Plan\nMore.\n", "# Plan\nMore."),
        ("```sh\nls\n```\nMore.\n```sh\nls\n```\n", "```sh\nls\n```\nMore.\n```sh\nls\n```\n"),
        ("```\nls\n```\nMore.\n", "```\nls\n```\nMore.\n"),
    ],
)
def test_a_fence_around_a_whole_text_goes_and_one_in_it_stays(text: str, meant: str) -> None:
    assert unspoilt(text) == meant


GONE = [
    "[deleted]",
    "''",
    '""',
    "``",
    "DELETE THIS FILE",
    "(this memory should be deleted)",
    "[This memory is to be deleted]",
    "Superseded by other.md",
    "n/a",
    "Removed.",
    "(obsolete)",
    "This memory is no longer valid.",
    "Deleted by assistant: no longer relevant.",
    "<deleted/>",
    "rm",
    "(empty)",
    "~~We deploy on Tuesdays only.~~",
    "This memory is outdated and can be deleted.",
    "[This memory was removed at the user's request]",
    "Removed at the user's request.",
    "Deleted as the user requested on 2026-12-01.",
    "The user asked to forget this.",
    "The user asked me to forget about it.",
    "User wants this to be deleted",
    "This memory can safely be removed.",
    "Forgotten.",
    "No longer needed, so it can be deleted.",
    "Gelöscht.",
    "Auf Wunsch des Nutzers gelöscht.",
    "**Gelöscht:** gilt nicht mehr.",
    "Diese Erinnerung wurde gelöscht",
    "[supprimé]",
    "Eliminado",
    "usunięte",
    "Удалено.",
    "удалён: больше не нужно",
    "删除",
    "（已删除）",
    "削除済み。",
    "삭제됨",
    "<!-- gelöscht: gilt nicht mehr -->",
    "<!-- 删除 -->",
]


@pytest.mark.parametrize("text", GONE)
def test_what_means_to_delete_is_answered_and_becomes_no_memory(text: str) -> None:
    with pytest.raises(BadMemoryFile) as refused:
        formed(DEPLOYS.replace("We deploy on Tuesdays only.", text), DEPLOYS)
    assert "<!-- delete: the reason -->" in str(refused.value.remedy)


@pytest.mark.parametrize(
    "text",
    [
        "Removed branches are kept for a week.",
        "The obsolete parser is gone.",
        "Delete this file when the migration is over.",
        "Replaced by the new plan.",
        "rm asks first here.",
        "Empty lines stay.",
        "The user asked to forget this meeting when planning the week.",
        "The user wants dead code to be deleted at once.",
        "Removed users come back at their own request.",
        "The cache can safely be deleted.",
        "Löschen: nur nach Rückfrage mit dem Team.",
        "删除: 必须先问用户",
        "Gelöschte Zweige bleiben eine Woche.",
        "Supprimer les branches fusionnées après une semaine.",
        "Eliminado significa archivado aquí.",
        "删除分支前先问我。",
    ],
)
def test_what_tells_of_something_that_is_gone_is_a_memory(text: str) -> None:
    assert text in formed(DEPLOYS.replace("We deploy on Tuesdays only.", text), DEPLOYS).body


def test_what_a_person_struck_out_may_stay() -> None:
    theirs = f"{DEPLOYS}\n~~On Mondays too.~~\n"
    assert "~~On Mondays too.~~" in formed(f"{theirs}\nNever on holidays.\n", theirs).body


def test_a_fence_of_tildes_around_the_whole_text_is_taken_off() -> None:
    fenced = DEPLOYS.replace("We deploy on Tuesdays only.", "~~~~\nWe deploy on Tuesdays only.\n~~~~")
    assert formed(fenced, DEPLOYS).data == DEPLOYS.encode()


@pytest.mark.parametrize("ending", ["</content>\n</invoke>\n", "<|im_end|>\n<|endoftext|>", "-->\n"])
def test_what_ends_a_reply_does_not_end_a_memory(ending: str) -> None:
    assert formed(GOOD + ending).data == GOOD.encode()


def test_nothing_that_cannot_be_seen_is_written() -> None:
    hidden = GOOD.replace("never mocks", "\u200b".join("never mocks")).replace("\n", "\r\n")
    assert as_seen(hidden.encode()) == GOOD.replace("\n", "\r\n").encode()
    assert as_seen("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩‍💻".encode()).decode() == "می‌خواهم 👩‍💻"
