"""What a guard's pattern fits: commands as a shell reads them, paths, texts, and tools of every agent (Q1)."""

from __future__ import annotations

import os
import random
import shlex
import time
from contextlib import suppress
from pathlib import Path

import pytest

from memdir.errors import BadMemoryFile
from memdir.guard.held import HeldGuard, breached
from memdir.guard.shell_words import TooMuch, commands_in
from memdir.guard.tool_call import MAX_PATHS, MAX_TEXT, ToolCall, fits
from memdir.store.guard import MAX_PATTERN, parse_guard

FORCE = "git push --force"
SHELLS = ("Bash", "bash", "run_shell_command", "shell", "local_shell", "exec_command")


def runs(pattern: str, command: object, tool: str = "Bash") -> bool:
    return ToolCall(tool, {"command": command, "description": FORCE}, root="/p").breaches("shell", pattern)


@pytest.mark.parametrize(
    "command",
    [
        "git push --force",
        "git push origin main --force",
        "git   push\t--force",
        "git -C sub push --force",
        "git --no-pager -c user.name=x push --force origin",
        "cd app && git push --force",
        "make; git push --force",
        "true || git push --force",
        "git status\ngit push --force",
        "(cd app; git push --force)",
        "{ git push --force; }",
        "if true; then git push --force; fi",
        "GIT_SSH=x git push --force",
        "sudo -u bob git push --force",
        "env A=1 git push --force",
        "env -S 'git push --force'",
        "sudo env -i -vS 'A=1 git push --force'",
        "env -S'git push --force'",
        "env --split-string='git push --force' x",
        "env --split-string 'git push --force'",
        "ls | entr -s 'git push --force'",
        "timeout 10 git push --force",
        "xargs -n 1 git push --force",
        "/usr/bin/git push --force",
        "git 'push' \"--force\"",
        "g\\it push --force",
        "git push \\\n  --force",
        "bash -c 'git push --force'",
        'sh -lc "cd x && git push --force"',
        "bash -c \"bash -c 'git push --force'\"",
        "pwsh -NoProfile -Command 'git push --force'",
        'powershell.exe -Command "git push --force"',
        "tcsh -c 'git push --force'",
        "busybox ash -c 'git push --force'",
        "eval git push --force",
        "echo $(git push --force)",
        'echo "done: $(git push --force)"',
        "echo `git push --force`",
        "ssh host 'git push --force'",
        "bash <<EOF\ngit push --force\nEOF",
        "git push --force # it is fine",
        "find . -exec git push --force {} \\;",
        "git push --force=yes",
        "git push 2>&1 --force",
        "git push &>log --force",
        "git 2>/dev/null push --force",
        ">out git push --force",
        "git push >|x --force",
        "git >&2 push --force",
        'echo $(echo ")") ; git push --force',
        "echo $(echo ')') && git push --force",
        'x="$(echo "a)")"; git push --force',
        "echo $(echo \\)) ; git push --force",
        "echo $(date # don't\n) ; git push --force",
        "bash <<< 'git push --force'",
        "<<<'git push --force' bash",
        'sh <<<"git push --force"',
        "cat <<EOF\n$(git push --force)\nEOF",
        "cat <<EOF\n`git push --force`\nEOF",
        "cat <<-EOF\n\tIt's $(git push --force)\n\tEOF",
        "coproc git push --force",
        "coproc X { git push --force; }",
        "ssh host git push --force",
        "ssh -p 2 a@b git push --force",
        "git commit -m \"$(cat <<'EOF'\nDon't :)\nEOF\n)\" && git push --force",
        "git commit -m \"$(cat <<'EOF'\nfix (a\nEOF\n)\"; git push --force",
        "echo 'git push --force' | bash",
        "echo git push --force |\nsh",
        "printf '%s\\n' 'git push --force' | sh -s",
        "cat <<EOF | bash\ngit push --force\nEOF",
        "bash <(echo 'git push --force')",
        "source <(echo git push --force)",
        "bash -c \"$(cat <<'EOF'\ngit push --force\nEOF\n)\"",
        'eval "$(echo git push --force)"',
        "diff <(git push --force) x",
        "(echo git push --force) | bash",
        "{ echo 'git push --force'; } | bash",
        "for i in 1; do echo git push --force; done | sh",
        "echo git push --force | (bash)",
        "echo $(case x in a) git push --force;; esac)",
        'echo "$(case x in a) git push --force;; esac)"',
        "case x in a) git push --force;; esac",
        "{\tgit push --force; }",
        "{\ngit push --force\n}",
        "time -p git push --force",
        "trap 'git push --force' EXIT",
        "watch 'git push --force'",
        "echo $'it\\'s' ; git push --force",
        "f() { git push --force; }; f",
        "echo `echo \\`git push --force\\``",
        "cat <<'A' <<B\nx\nA\n$(git push --force)\nB",
        "cat <<EOF; git push --force\nx\nEOF",
        "cat <<EOF\nx\nEOF\ngit push --force",
        'tee x <<< "$(git push --force)"',
        "git push --force &",
        "a |& git push --force",
        "cat <<EOF && git push --force\nDon't\nEOF",
        "git push --force>&2",
        "git push --force<x",
        "git push --force|cat",
        "time git push --force",
        "docker exec x git push --force",
        "cat <<EOF |\ngit push --force\nEOF\nbash",
        "case x in (a) git push --force;; esac",
        "[[ a > b ]] && git push --force",
        "a=$((1<<2)); git push --force",
        "echo $((1<<2))\ngit push --force",
        "a=(x y); git push --force",
        'if [ $(echo "(") ]; then git push --force; fi',
        "$SUDO git push --force",
        "${EMPTY}git push --force",
        "git push --force${EMPTY}",
        "$(true) git push --force",
        "`true` git push --force",
        "$x eval git push --force",
        "<<'EOF'\n )\nEOF\n git push --force",
        "sh # \\\ngit push --force",
        "bash -c -x 'git push --force'",
        "bash -o pipefail -c 'git push --force'",
        "bash -cx 'git push --force'",
        "su bob -s /bin/sh -c 'git push --force'",
        "uv run git push --force",
        "uv --directory app run --with x git push --force",
        "uv run sh -c 'git push --force'",
        "uvx --from x git push --force",
        "npx git push --force",
        "npm exec -- git push --force",
        "npm exec -c 'git push --force'",
        "pnpm dlx git push --force",
        "poetry run git push --force",
        "bundle exec git push --force",
        "docker compose exec app git push --force",
        "kubectl exec pod -- git push --force",
        "aws-vault exec me -- git push --force",
        "nix develop -c git push --force",
        "nix-shell --run 'git push --force'",
        "nohup git push --force &",
        "nice -n 5 time git push --force",
        "script -qc 'git push --force' log",
        "taskset 1 git push --force",
        "systemd-run --user git push --force",
        "git submodule foreach 'git push --force'",
        "git submodule foreach git push --force",
        "git rebase --exec 'git push --force' main",
        "hyperfine 'git push --force'",
        "tmux new -d 'git push --force'",
        "screen -dm git push --force",
        "pwsh -c 'git push --force'",
        'cat <<"E F"\nx\nE F\ngit push --force',
        "cat <<'E F' <<B\nx\nE F\n$(git push --force)\nB",
        "A+=1 git push --force",
        "A[0]=1 git push --force",
        "printf '%s ' git push --force | sh",
        "printf 'git push %s' --force | bash",
        "printf '%s %s\\n' git status git 'push --force' | bash",
        "git push {--force,}",
        "git push {origin,--force}",
        "{git,push,--force}",
        "git {p,}ush --{fo{r,}c,}e",
        "git push --f{orc,}e",
        "git push {$A,--force,${B:-x,y}}",
        "git push {x,--force${B}}",
        "${X}git pu{sh,} --force",
        "git $'\\x70ush' $'--\\146\\u006Frce'",
        "$'g\\U00000069t' push --forc$'\\545'",
        "git rebase -x 'git push --force' main",
        "git -C sub rebase -ix 'git push --force' main",
        "git rebase -x'git push --force' main",
        "git rebase --exec='git push --force' main",
        "echo main | xargs -I% sh -c 'git push --force % && echo {}'",
        ["git", "push", "--force"],
        ["bash", "-lc", "git push --force"],
    ],
)
def test_a_command_is_found_however_it_is_put(command: object) -> None:
    assert runs(FORCE, command)


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git push --force-with-lease",
        "git stash push --force",
        'git commit -m "never git push --force"',
        "echo 'git push --force'",
        "grep -rn 'git push --force' .",
        "cat > notes.md <<'EOF'\ngit push --force\nEOF\ngit push",
        "# git push --force",
        "git log --grep=force; git push",
        "echo git push --force",
        "cat <<'EOF'\n$(git push --force)\nEOF",
        "cat <<EOF\ngit push --force\nEOF",
        "echo git push --force > x",
        "echo git push --force | grep x",
        "git commit -m \"$(cat <<'EOF'\nnever git push --force\nEOF\n)\"",
        "git commit -m \"$(cat <<'EOF'\nnever\ngit push --force\nEOF\n)\" .",
        "bash build.sh && cat > n <<EOF\ngit push --force\nEOF",
        "git push > --force",
        "grep -q x <<< 'git push --force'",
        "bash x.sh; echo 'git push --force' > notes",
        "cat <<EOF > x; bash y\ngit push --force\nEOF",
        "echo '$(git push --force)'",
        'echo "a > git push --force"',
        "git push 2>--force",
        "echo 2>&1 git push --force",
        "",
        "'",
        "$(",
        "<<",
        "bash -c",
        "echo run git push --force",
        "grep -c 'git push --force' notes.md",
        "git commit -m 'uv run git push --force'",
        "npm run push --force",
        "git push '{--force,}'",
        "git push \\{--force,}",
        "git push {--force}",
        "git push ${--force,}",
        "grep -x 'git push --force' notes.md",
        "git push $'--f\\x2Aorce'",
        "docker run git --force",
    ],
)
def test_a_command_that_is_only_mentioned_is_none(command: str) -> None:
    assert not runs(FORCE, command)


@pytest.mark.parametrize("tool", SHELLS)
@pytest.mark.parametrize("named", ["shell", "Bash", "run_shell_command"])
def test_a_guard_holds_for_the_shell_of_every_agent(tool: str, named: str) -> None:
    call = ToolCall(tool, {"command": FORCE})
    assert call.breaches(named, FORCE)
    assert not ToolCall("Read", {"file_path": FORCE}).breaches(named, FORCE)
    assert call.breaches(named, ""), "a tool alone is every call of it"


def test_options_stand_anywhere_and_short_ones_together_or_apart() -> None:
    for command in ("rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm -rvf x"):
        assert runs("rm -rf", command), command
    assert not runs("rm -rf", "rm -r x")
    assert runs("--no-verify", "git commit --no-verify -m x"), "an option alone is one of any program"
    assert runs("* --force", "npm publish --force")


def test_a_star_stands_for_any_words_or_letters() -> None:
    assert runs("git push * main", "git push origin main")
    assert runs("git push * main", "git push main")
    assert runs("git * push main", "git push x push main")
    assert not runs("git push main", "git push origin main")
    assert runs("npm* install", "npm-next install left-pad")
    assert runs("* pip install", "uv pip install x") and not runs("pip install", "uv pip install x")
    assert runs("python* -m pip install", "python3 -m pip install x")


def test_paths_are_named_from_the_project_whatever_way_leads_there(tmp_path: Path) -> None:
    root = tmp_path / "tmp" / "app"
    (root / "db" / "migrations").mkdir(parents=True)
    (root / "way").symlink_to(root / "db")

    def writes(pattern: str, path: str, tool: str = "Edit") -> bool:
        return ToolCall(tool, {"file_path": path}, cwd=str(root / "db"), root=str(root)).breaches("write", pattern)

    inside = str(root / "db" / "migrations" / "1.sql")
    for path in (inside, "migrations/1.sql", "../db/migrations/1.sql", str(root / "way" / "migrations" / "1.sql")):
        for pattern in ("db/migrations/*", "migrations/", "*.sql", "./db/migrations/1.sql", inside):
            assert writes(pattern, path), (pattern, path)
    assert not writes("tmp/*", inside), "what lies above the project is none of its folders"
    assert not writes("migrations/*", str(root / "src" / "migrations.py"))
    assert not writes("db/*", inside, tool="Read") and ToolCall("Read", {"file_path": inside}).breaches("read", "*.sql")


def test_patches_and_edits_of_every_agent_name_their_files_and_texts() -> None:
    patch = "*** Begin Patch\n*** Update File: db/migrations/1.sql\n@@\n-a\n+console.log(1)\n*** End Patch"
    calls = [
        ToolCall("apply_patch", {"command": patch}, root="/p"),
        ToolCall("apply_patch", {"input": patch}, root="/p"),
        ToolCall("shell", {"command": ["apply_patch", patch]}, root="/p"),
        ToolCall("Write", {"file_path": "/p/db/migrations/1.sql", "content": "x\nconsole.log(1)"}, root="/p"),
        ToolCall("replace", {"file_path": "db/migrations/1.sql", "new_string": "console.log(1)"}, root="/p"),
        ToolCall("edit", {"filePath": "db/migrations/1.sql", "newString": "console.log(1)"}, root="/p"),
        ToolCall("MultiEdit", {"path": "db/migrations/1.sql", "edits": [{"new_string": "console.log(1)"}]}, root="/p"),
    ]
    for call in calls:
        assert call.breaches("write", "db/migrations/*") and call.breaches("text", "console.log"), call.name
        assert not call.breaches("write", "src/*") and not call.breaches("text", "print(")


@pytest.mark.parametrize(
    "command",
    [
        "cat > db/migrations/1.sql <<'END'\ndrop table x;\nEND",
        "echo x >> ./db/migrations/1.sql",
        "make &> db/migrations/1.sql",
        "{ echo a; echo b; } > db/migrations/1.sql",
        "(echo a) >| /p/db/migrations/1.sql",
        "sh -c 'echo x > db/migrations/1.sql'",
        "echo x > db/{migrations,y}/1.sql",
        "echo x | sudo tee -a db/migrations/1.sql",
        "cp new.sql db/migrations/",
        "cp new.txt 1.sql db/migrations/",
        "cd /p && mv db/migrations/1.sql old.sql",
        "cd db && cd migrations && echo x > 1.sql",
        "rm -f db/migrations/1.sql",
        "git rm -q db/migrations/1.sql",
        "git mv 1.sql db/migrations/",
        "sed -i.bak 's/a/b/' db/migrations/1.sql",
        "sed -i -e 's/a/b/' db/migrations/1.sql README.md",
        "sed -es/a/b/ -i db/migrations/1.sql",
        "find . -exec touch db/migrations/1.sql ;",
        "python - <<'END'\n" + "x = 1\n" * 12_000 + "open('db/migrations/1.sql', 'w')\nEND",  # too long to be read
    ],
)
def test_a_file_that_a_shell_writes_is_written(command: str) -> None:
    assert ToolCall("Bash", {"command": command}, root="/p").breaches("write", "db/migrations/*")


@pytest.mark.parametrize(
    "command",
    [
        "cat db/migrations/1.sql",
        "grep x db/migrations/1.sql > found.txt",
        "ls db/migrations/* 2>/dev/null",
        "git diff db/migrations/1.sql 1>&2",
        "git add db/migrations/1.sql",
        "cp db/migrations/1.sql /tmp/old.sql",
        "sed -n 's/db/migrations/p' notes.txt",
        "sed -i 's,db/migrations/,x,' notes.txt",
        "echo 'x > db/migrations/1.sql'",
        "[[ a > db/migrations/1.sql ]]",
        "psql < db/migrations/1.sql",
        "cd /tmp && echo x > 1.sql",
        "sed -i 's/a/b/' notes.txt && sed 's/a/b/' notes.txt db/migrations/1.sql",
    ],
)
def test_a_file_that_a_shell_only_reads_is_not_written(command: str) -> None:
    assert not ToolCall("Bash", {"command": command}, root="/p").breaches("write", "db/migrations/*")


@pytest.mark.parametrize(
    ("command", "is_written"),
    [
        ("rm -rf db/migrations", True),
        ("cd db && mv migrations old", True),
        ("cp 2.sql db/migrations", True),
        ("mv 2.sql ./db/migrations", True),
        ("ls db/migrations", False),
        ("cp 2.sql db/migrations.txt", False),
        ("cp db/migrations/2.sql db", False),
    ],
)
def test_what_goes_into_a_folder_or_with_it_is_written(tmp_path: Path, command: str, is_written: bool) -> None:
    (tmp_path / "db/migrations").mkdir(parents=True)
    for pattern in ("db/migrations/*", "migrations/"):
        assert ToolCall("Bash", {"command": command}, root=str(tmp_path)).breaches("write", pattern) == is_written


@pytest.mark.parametrize(
    ("command", "is_read"),
    [
        ("cat .env", True),
        ("grep KEY ./.env | head", True),
        ("cd app && sudo head -5 .env", True),
        ("source .env; make", True),
        ("cp .env kept", True),
        ("docker run --env-file=.env x", True),
        ("bash -lc 'cat app/.env'", True),
        ("grep KEY < .env", True),
        ("while read line; do echo $line; done <'.env'", True),
        ('echo "$(< .env)"', True),
        ("wc 0<.env", True),
        ("echo .env", False),
        ("echo X=1 >> .env", False),
        ("cp .env.example .env", False),
        ("rm .env", False),
        ("git commit -m 'cat .env'", False),
        ("cat <<.env\nx\n.env", False),
        ("cat <<< .env", False),
        ("[[ a < .env ]]", False),
        ("ls -a", False),
    ],
)
def test_a_file_that_a_command_is_given_is_read(command: str, is_read: bool) -> None:
    """Codex has no other tool to read one."""
    for given in ({"command": command}, {"cmd": command}):
        assert ToolCall("exec_command", given, root="/p").breaches("read", ".env") == is_read
    assert not ToolCall("Bash", {"command": command}, root="/p").breaches("read", ""), "no file is named"


@pytest.mark.parametrize("tool", ["Grep", "grep", "grep_search", "search_file_content"])
def test_a_file_that_is_searched_by_itself_is_read(tool: str) -> None:
    """Its lines come back as those of one that is read; of a folder nobody knows which."""
    for path, is_read in (("/p/.env", True), ("app/.env", True), ("/p", False), (".env.example", False)):
        assert ToolCall(tool, {"pattern": "KEY", "path": path}, root="/p").breaches("read", ".env") == is_read


@pytest.mark.parametrize(
    ("command", "is_written"),
    [
        ("cat > a.js <<'EOF'\nlet a\n  console.log(1)\nEOF", True),
        ("cat <<EOF > a.js && node a.js\nconsole.log(1)\nEOF", True),
        ("cat <<EOF | tee -a a.js\nconsole.log(1)\nEOF", True),
        ("echo 'console.log(1)' >> a.js", True),
        ("printf 'console.%s\\n' 'log(1)' | sed s/1/2/ > a.js", True),
        ("(echo a; echo 'console.log(1)') > a.js", True),
        ("tee a.js <<< 'console.log(1)'", True),
        ("sh -c \"echo 'console.log(1)' > a.js\"", True),
        ("cat > a.js <<'EOF'\n" + "let a\n" * 12_000 + "console.log(1)\nEOF", True),
        ("echo 'console.log(1)'", False),
        ("echo 'console.log(1)' 2>/dev/null | grep x", False),
        ("echo 'console.log(1)'; make > log", False),
        ("cat <<EOF; make > log\nconsole.log(1)\nEOF", False),
        ("grep -rn console.log src > found.txt", False),
        ("sed -i '/console.log/d' a.js", False),
        ("git commit -m 'no console.log' > log", False),
    ],
)
def test_a_line_that_a_shell_writes_into_a_file_is_written(command: str, is_written: bool) -> None:
    assert ToolCall("Bash", {"command": command}, root="/p").breaches("text", "console.log*") == is_written


def test_other_tools_are_known_by_their_own_names() -> None:
    call = ToolCall("mcp__github__merge_pull_request", {"repo": "app", "base": {"ref": ["main"]}})
    assert call.breaches("mcp__github__*", "main") and call.breaches("mcp__github__merge_pull_request", "")
    assert not call.breaches("mcp__jira__*", "main") and not call.breaches("mcp__github__*", "release")
    assert ToolCall("WebFetch", {"url": "https://a.example.com/x"}).breaches("web", "example.com")
    assert call.breaches("*", "main")


@pytest.mark.parametrize(
    "given",
    [
        {"command": [{"command": "git push --force"}]},
        {"command": [{"text": "git push --force"}]},
        {"command": ["ls", {"cmd": ["git", "push", "--force"]}]},
        {"command": [["git", "push", "--force"]]},
        {"command": {"run": {"line": "git push --force"}}},
        {"args": {"Command": ["git", "push", "--force"]}},
        {"steps": [{"script": "ls"}, {"script": "git push --force"}]},
    ],
)
def test_a_command_is_found_however_deep_it_lies(given: dict[str, object]) -> None:
    assert ToolCall("Bash", given).breaches("shell", "git push --force")
    assert not ToolCall("Bash", given).breaches("shell", "git pull")


def test_what_is_no_call_at_all_breaks_nothing() -> None:
    for given in (None, 3, [], "git push --force", {"command": None}, {"command": {"a": [[[]]]}}):
        ToolCall("", given).breaches("shell", FORCE)
    assert ToolCall("Bash", "git push --force").breaches("shell", FORCE)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("block shell(git push --force)", "block shell(git push --force)"),
        ("Bash(rm -rf *)", "warn Bash(rm -rf *)"),
        ("WARN  write( db/* )", "warn write(db/*)"),
        ("block text(foo(bar))", "block text(foo(bar))"),
        ("block WebSearch", "block WebSearch"),
    ],
)
def test_a_guard_is_one_line(text: str, line: str) -> None:
    assert str(parse_guard(text)) == line
    assert str(parse_guard(line)) == line


@pytest.mark.parametrize(
    "text", ["", "block", "block (x)", "block shell(git push", "two words(x)", "*", "block *(*)", f"shell({'x' * 400})"]
)
def test_what_is_no_guard_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(BadMemoryFile) as refused:
        parse_guard(text)
    assert refused.value.remedy


STARS = "*".join("a" * (MAX_PATTERN // 2))
PATTERNS = {"stars": STARS, "words": "* a " * 5 + "a*a", "long": "a " * 19 + "a"}
PATTERNS |= {"options": "-abc --d*e*f* * x", "command": "env * bash", "force": FORCE}


@pytest.mark.slow("words", "long", "options", "command")
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_no_pattern_and_no_text_make_a_call_wait(pattern: str) -> None:
    """Linear: a hundred times what is usual takes no more than a moment, whatever stands in it."""
    parts = [
        "a",
        "a ",
        "-a ",
        "$(",
        "'",
        "`a`",
        "<<a\n",
        "-exec a ",
        "env ",
        "bash -c ",
        "eval ",
        "((((",
        "git push a\n",
        '"$(',
        "<<<a ",
        "a<<b ",
        "bash<<b ",
        "echo 'x' |",
        "echo $(echo ",
        "echo a;} ",
        "{a,",
        "{a,b}",
        "{{{{",
        "{a}",
        "{a,b} ",
        "$'\\x61' ",
        "> a ",
        "env rm ",
    ]
    texts = [part * (MAX_TEXT // len(part)) for part in parts]
    texts += ["a" * (8 << 20), "{" + "a," * (MAX_TEXT // 2 - 1) + "}", 'bash -c "' + "\\" * (MAX_TEXT - 20) + '"']
    texts += ["(" * 3000 + "echo a;" * 3000 + ") >b;" * 3000, "<<a >b;" * 2000 + "\na" * 9000]
    for text in texts:
        begun, call = time.process_time(), ToolCall("Bash", {"command": text}, root="/p")
        for kind in ("shell", "write", "read", "text"):
            with suppress(TooMuch):  # then it is refused by what blocks
                call.breaches(kind, pattern)
        ToolCall("Write", {"content": text, "file_path": text[:4096]}).breaches("text", pattern)
        assert time.process_time() - begun < 2.0, text[:20]


def test_no_path_makes_a_call_wait() -> None:
    paths = ["a/" * 200_000, "secret.env"]
    patch = "*** Begin Patch\n" + "".join(f"*** Update File: {number}\n" for number in range(MAX_PATHS - 1))
    for given in ({"paths": paths}, {"patch": patch, "path": "secret.env"}):
        begun = time.process_time()
        assert ToolCall("Edit", given, root="/p").breaches("write", "secret.env")
        assert not ToolCall("Edit", given, root="/p").breaches("write", "a*secret.en")
        assert time.process_time() - begun < 2.0


def test_a_hundred_guards_read_a_command_once() -> None:
    call = ToolCall("Bash", {"command": "git push a\n" * (MAX_TEXT // 11)})
    begun = time.process_time()
    call.breaches("shell", "git push b")
    once = time.process_time() - begun
    begun = time.process_time()
    for number in range(20):
        call.breaches("shell", f"git push {'*' * number}c")
    assert time.process_time() - begun < 20 * max(once, 0.01)


def test_what_is_nested_deep_is_looked_at() -> None:
    deep: object = {"command": FORCE}
    for _ in range(500):
        deep = {"more": [deep]}
    assert ToolCall("Bash", deep).breaches("shell", FORCE)
    command = FORCE
    for _ in range(9):
        command = f"echo $({command})"
        assert runs(FORCE, command)
        assert not runs("git push --delete", command)
    command = FORCE
    for _ in range(6):  # shells in shells, more than anybody reads
        command = f"bash -c {shlex.quote(command)}"
        assert runs(FORCE, command) and not runs("git pull --force", command)


def test_a_path_fits_from_any_of_its_folders_on_as_a_slow_reading_says() -> None:
    chance = random.Random(5)
    for _ in range(3000):
        pattern = "".join(chance.choices("ab*/", k=chance.randrange(1, 6))).lstrip("/") or "a"
        path = os.path.normpath("/p/a" + "".join(chance.choices("ab/", k=chance.randrange(1, 8))))
        parts = path.removeprefix("/p/").split("/")
        wanted = pattern + "*" if pattern.endswith("/") else pattern
        slow = any(fits(wanted, "/".join(parts[at:])) for at in range(len(parts)))
        call = ToolCall("Edit", {"file_path": path}, root="/p")
        assert call.breaches("write", pattern) == slow, (pattern, path)


@pytest.mark.parametrize(
    "given",
    [
        {"paths": [f"{number}.txt" for number in range(MAX_PATHS + 1)]},
        {"input": "*** Begin Patch\n*** Add File: " + "\n*** Add File: ".join(map(str, range(MAX_PATHS + 2)))},
        {"path": "\0"},
        {"path": "\ud800"},
    ],
    ids=["paths", "patch", "NUL", "no text"],
)
def test_what_cannot_be_judged_is_refused_where_a_guard_blocks_its_tool(given: dict[str, object]) -> None:
    lines = ("block write(secret.env)", "warn write(secret.env)", "block shell(x)", "block read(x)", "block text(x)")
    guards = [HeldGuard(_fields(line)) for line in lines]
    [found] = breached(guards, ToolCall("Edit", given, root="/p"))
    assert found.line == "block write(secret.env)" and "smaller" in found.answer


def _fields(line: str) -> list[str]:
    guard = parse_guard(line)
    return ["project", "a.md", guard.action, guard.tool, guard.pattern, "answer"]


def test_what_is_too_long_to_be_read_word_by_word_is_judged_by_its_words() -> None:
    long = "echo " + "x" * MAX_TEXT
    assert runs(FORCE, f"{long}; {FORCE}") and not runs(FORCE, long)


def test_any_mix_of_signs_is_read_to_its_end() -> None:
    """A thousand lines made of what a shell minds: none raises, none loses the command behind an end of line."""
    chance = random.Random(7)
    signs = [
        "'",
        '"',
        "\\",
        "$(",
        ")",
        "`",
        "<<",
        "EOF",
        "\n",
        ";",
        "|",
        "&",
        "{",
        "}",
        "#",
        " ",
        "a",
        "-b",
        "=",
        "*",
        "bash",
        "-c",
    ]
    for _ in range(1000):
        line = "".join(chance.choices(signs, k=chance.randrange(40)))
        for command in commands_in(line):
            assert all(isinstance(word, str) for word in command.words)
    for line in ("a; ", "a | b & ", "a\n"):
        assert runs(FORCE, line + FORCE)


def test_a_pattern_fits_as_a_slow_reading_says() -> None:
    """Against a matcher that tries every way."""

    def slow(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return any(slow(pattern[1:], text[at:]) for at in range(len(text) + 1))
        return bool(text) and pattern[0] == text[0] and slow(pattern[1:], text[1:])

    chance = random.Random(3)
    for _ in range(3000):
        pattern = "".join(chance.choices("ab*", k=chance.randrange(6)))
        text = "".join(chance.choices("ab", k=chance.randrange(7)))
        assert fits(pattern, text) == slow(pattern, text), (pattern, text)
