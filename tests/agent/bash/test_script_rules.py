"""sed scripts and awk programs that the judge allows are run by every version installed: none writes, none runs on."""

from __future__ import annotations

import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from memdir.agent.bash.shell_judge import judge
from memdir.agent.gate import Allow

SEED = 7
TRIED = 3_000
AWK = (
    r"""{ } ( ) print > >= "x" "f1" /a/ / /[/]/ ; , $1 $0 NR NF x a a[1] ++ += = == ~ !~ ! && || if else in 1 2 BEGIN"""
    r""" END "a/b" "\"" printf length substr($0,1,2) ? : - * % < FS="x"; OFS " /"/ "/" /{/ /}/ [ ] |"""
)
SED = (
    r"""p d q = s/a/b/ s/a/b/g s,a,b, w e r /a/ /a/I 1 $ 1,2 , ! { } ; s / a b \ \/ [ ] [/] & s|a|b| g y/a/b/ n N l"""
    r""" s/[/]/w s/a/b/w /[/,/]/ :a ba \c % +1 ~2 0"""
)
PROGRAMS = {
    "awk": (
        "awk {} in.txt",
        [*AWK.split(), " ", "\n", "for (k in a)"],
        [["gawk"], ["mawk"], ["original-awk"], ["busybox", "awk"]],
    ),
    "sed": ("sed -n {} in.txt", [*SED.split(), " ", "\n", "w f", "e "], [["sed", "-n"], ["busybox", "sed", "-n"]]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_allowed_script_writes_or_runs_on(name: str, tmp_path: Path) -> None:
    line, pieces, programs = PROGRAMS[name]
    installed = [words for words in programs if shutil.which(words[0])]
    if not installed:
        pytest.skip(f"no {name} is installed")
    (tmp_path / "in.txt").write_text("1 a b\n2 x y\na/b\n", encoding="utf-8")
    chance = random.Random(SEED)
    scripts = {"".join(chance.choices(pieces, k=chance.randint(1, 7))) for _ in range(TRIED)}
    scripts |= {f"{{{script}}}" for script in scripts}
    allowed = [script for script in sorted(scripts) if judge(line.format(shlex.quote(script))) == Allow()]
    assert len(allowed) > 20
    for script in chance.sample(allowed, min(150, len(allowed))):
        for words in installed:
            subprocess.run(
                [*words, script, "in.txt"],
                cwd=tmp_path,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20,
                check=False,
            )
        assert [path.name for path in tmp_path.iterdir()] == ["in.txt"], script
    assert (tmp_path / "in.txt").read_text(encoding="utf-8") == "1 a b\n2 x y\na/b\n"
