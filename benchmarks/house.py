"""`make measure`: how large the house is, beside what it was and what it may be (docs/architecture.md).

Lines are all lines of a file. Exit status 1 where a figure is over its limit.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import memdir
from benchmarks.measure import clean_environment, save

PACKAGE = Path(memdir.__file__).parent

SURFACES = {  # and the lines that each may have; a limit that must break breaks in an ADR
    "cli": 3_500,
    "chat": 2_000,
    "hooks": 2_000,
    "attach": 2_000,
    "mcp_server": 2_000,
    "web": 2_000,
    "hub": 3_000,
    "adapters": 2_000,
    "doctor": 2_000,
    "guard": 2_000,
    "team": 2_000,
    "review": 2_000,
    "purge": 2_000,
    "subagents": 2_000,
}
WAS = {"cli": 3_207, "doctor": 585}
BUILTIN, BASH = ("model", "builtin"), ("agent", "bash")
BROAD = frozenset(("Exception", "BaseException"))


@dataclass(frozen=True)
class Figure:
    """One measurement, what it was before the house was made smaller, and the most it may be; None: no limit."""

    name: str
    now: float
    was: float | None = None
    limit: float | None = None

    @property
    def is_over(self) -> bool:
        return self.limit is not None and self.now > self.limit


@dataclass(frozen=True)
class Module:
    """One file: its path below the package as parts, its lines and its tree."""

    parts: tuple[str, ...]
    lines: int
    tree: ast.Module

    @property
    def stem(self) -> str:
        return self.parts[-1].removesuffix(".py")

    @cached_property
    def name(self) -> str:
        parts = self.parts[:-1] if self.stem == "__init__" else (*self.parts[:-1], self.stem)
        return ".".join(("memdir", *parts))

    def is_below(self, *folder: str) -> bool:
        """Also the one module of a room that needs no folder."""
        return self.parts[: len(folder)] == folder or self.parts == (*folder[:-1], f"{folder[-1]}.py")

    @property
    def is_core(self) -> bool:
        rooms = (*((name,) for name in (*SURFACES, "share")), BUILTIN, BASH)
        return not any(self.is_below(*room) for room in rooms)


def read_modules(package: Path) -> list[Module]:
    modules = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        modules.append(Module(path.relative_to(package).parts, len(text.splitlines()), ast.parse(text)))
    return modules


def figures() -> list[Figure]:
    """Everything that can be read from the files, and what `memdir recall` loads."""
    modules = read_modules(PACKAGE)
    total = _lines(modules)
    rest = [module for module in modules if not module.is_below(*BUILTIN)]
    broad = sum(_broad_excepts(module.tree) for module in modules)
    return [
        Figure("lines of the core", _lines([module for module in modules if module.is_core]), 19_500, 18_000),
        Figure("files without model/builtin", len(rest), 262, 220),
        Figure("module names that occur twice", len(double_names(modules)), 35, 8),
        Figure("public names", len(memdir.__all__), 49, 22),
        Figure("modules that `memdir recall` loads", len(modules_of_recall()), 59, 35),
        Figure("lines of the largest function", max(size for _, size in functions(modules)), 48, 48),
        Figure("broad excepts", broad, 16, 17),
        Figure("broad excepts per 1,000 lines", round(1000 * broad / total, 2), 0.42),
        Figure("modules in an import cycle", len(modules_in_cycles(modules)), 0, 0),
        Figure("lines of model/builtin", _lines([m for m in modules if m.is_below(*BUILTIN)]), 7_695, 3_500),
        Figure("lines of share", _lines([m for m in modules if m.is_below("share")]), None, 2_000),
        Figure("lines of agent/bash", _lines([m for m in modules if m.is_below(*BASH)]), 2_012),
        *(
            Figure(f"lines of {name}", _lines([m for m in modules if m.is_below(name)]), WAS.get(name), limit)
            for name, limit in SURFACES.items()
            if any(m.is_below(name) for m in modules)
        ),
        Figure("lines in all", total, 37_951, 36_000),
        Figure("files in all", len(modules), 338, 320),
    ]


def double_names(modules: list[Module]) -> set[str]:
    """Names of several modules. A command of the command line may be called as what it shows."""
    counted = Counter(m.stem for m in modules if m.stem != "__init__" and not m.is_below("cli"))
    return {name for name, times in counted.items() if times > 1}


def functions(modules: list[Module]) -> Iterator[tuple[str, int]]:
    """Each function with its lines, from `def` to its end."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{module.name}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def modules_of_recall() -> set[str]:
    """What a cold `memdir recall` loads of the package once there is an index, and a memory that fits."""
    with tempfile.TemporaryDirectory() as place:
        project = os.path.join(place, "project")
        os.mkdir(project)
        environment = clean_environment(MEMDIR_HOME=os.path.join(place, "home"))
        for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            environment.pop(key, None)
        code = "import sys; from memdir.cli.entry import main; main(sys.argv[1:]); print(*sys.modules, sep='\\n')"
        command = [sys.executable, "-c", code]
        for words in (["remember", "Deploys are frozen on Friday"], *[["recall", "can I deploy on Friday?"]] * 2):
            done = subprocess.run(
                [*command, *words, "--project", project], env=environment, capture_output=True, text=True, check=True
            )
    return {name for name in done.stdout.splitlines() if name.split(".")[0] == "memdir"}


def modules_in_cycles(modules: list[Module]) -> set[str]:
    """Modules that load themselves again through others, by the imports that run when a module is loaded."""
    names = {module.name for module in modules}
    edges = {module.name: set(_loaded_by(module, names)) - {module.name} for module in modules}
    while free := {name for name, targets in edges.items() if not targets & edges.keys()}:
        edges = {name: targets for name, targets in edges.items() if name not in free}
    while free := edges.keys() - {target for targets in edges.values() for target in targets}:
        edges = {name: targets for name, targets in edges.items() if name not in free}
    return set(edges)


def _loaded_by(module: Module, names: set[str]) -> Iterator[str]:
    waiting: list[ast.AST] = [module.tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or _is_for_types(node):
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in inner if name in names)
            if node.module in names and not all(name in names for name in inner):
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _broad_excepts(tree: ast.Module) -> int:
    """Those that keep what they caught: one that cleans up and raises it again hides nothing."""
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    return sum(_is_broad(handler.type) and not _raises_again(handler) for handler in handlers)


def _is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_is_broad(part) for part in caught.elts)
    return caught is None or (isinstance(caught, ast.Name) and caught.id in BROAD)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None


def _lines(modules: list[Module]) -> int:
    return sum(module.lines for module in modules)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}" if value % 1 else f"{value:,.0f}"


def main() -> int:
    found = figures()
    width = max(len(figure.name) for figure in found)
    print(f"{'measure'.ljust(width)}  {'now':>8}  {'was':>8}  {'limit':>8}")
    for figure in found:
        cells = (_shown(value).rjust(8) for value in (figure.now, figure.was, figure.limit))
        print(f"{figure.name.ljust(width)}  {'  '.join(cells)}  {'over' if figure.is_over else ''}".rstrip())
    save("measure", [{"name": f.name, "now": f.now, "was": f.was, "limit": f.limit, "over": f.is_over} for f in found])
    return 1 if any(figure.is_over for figure in found) else 0


if __name__ == "__main__":
    sys.exit(main())
