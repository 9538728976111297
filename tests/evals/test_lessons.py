"""The lessons that recall learns from are sound: labels name what is there, and both kinds are read alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from evals.train_recall.lessons import FOLDS, Lesson, folds_of, read_lessons

FOLDER = Path(__file__).parents[2] / "evals" / "data" / "lessons"


@pytest.fixture(scope="module")
def lessons() -> list[Lesson]:
    return read_lessons([FOLDER / "worlds", FOLDER / "pools"])


def test_every_label_names_a_document_of_its_lesson(lessons: list[Lesson]) -> None:
    for lesson in lessons:
        documents = lesson.source["memories" if lesson.is_world else "documents"]
        names = [document["file" if lesson.is_world else "id"] for document in documents]
        assert len(set(names)) == len(names), lesson.name
        for query in lesson.source["queries"]:
            labelled = query["relevant"] + query.get("acceptable", []) + query.get("suppressed", [])
            assert set(labelled) <= set(names), f"{lesson.name}: {query['query']}"
            assert not set(query["relevant"]) & set(query.get("suppressed", [])), lesson.name


def test_names_are_unique_and_every_lesson_is_held_out_once(lessons: list[Lesson]) -> None:
    folds = folds_of(lessons)
    assert len(folds) == FOLDS
    assert sorted(lesson.name for fold in folds for lesson in fold) == sorted({lesson.name for lesson in lessons})


def test_what_is_relevant_counts_and_what_is_acceptable_does_not(lessons: list[Lesson]) -> None:
    world = next(lesson for lesson in lessons if lesson.is_world)
    names = [memory["file"] for memory in world.source["memories"]]
    for query, relevant, counts in zip(world.source["queries"], world.relevant, world.counts, strict=True):
        assert {name for name, is_relevant in zip(names, relevant, strict=True) if is_relevant} == set(
            query["relevant"]
        )
        assert {name for name, does in zip(names, counts, strict=True) if not does} == set(query["acceptable"]) - set(
            query["relevant"]
        )
