"""Print how large the source is: ``python scripts/size.py [--json]``.

For each room (a package directly below ``src/tacit``) and for the whole: files, lines, the share of lines
that are imports or ``__all__``, and small modules that only one other module imports. Then the number of
public names of ``tacit``, and the longest modules.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "tacit"
SMALL = 60
"""A module of fewer lines that a single other module imports usually belongs inside it."""


@dataclass(frozen=True)
class Size:
    """The size of some modules."""

    files: int
    lines: int
    import_lines: int
    single_use: tuple[str, ...]
    """Modules under :data:`SMALL` lines with exactly one importer."""

    @property
    def import_share(self) -> float:
        """The share of lines that are imports or ``__all__``."""
        return self.import_lines / max(self.lines, 1)


def name_of(path: Path) -> str:
    """The dotted name of the module at ``path``."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def import_lines(tree: ast.Module) -> int:
    """How many lines of a module's own level are imports or ``__all__``; an import inside a function is
    code.
    """
    lines: set[int] = set()
    guarded = [node for block in tree.body if isinstance(block, ast.If) for node in block.body]
    for node in [*tree.body, *guarded]:
        is_all = isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        )
        if is_all or isinstance(node, ast.Import | ast.ImportFrom):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def imported(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """The modules of the package that a module imports, itself or a name of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (
                f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in modules else node.module
                for alias in node.names
                if node.module in modules
            )


def public_names() -> list[str]:
    """The names in ``__all__`` of ``tacit``."""
    import tacit

    return [*tacit.__all__]


def measured() -> dict[str, Size]:
    """The size of each room, and of all under ``total``."""
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
        if "__pycache__" not in path.parts
    }
    modules = {name_of(path) for path in trees}
    importers: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        for name in imported(tree, modules):
            if name != name_of(path):
                importers[name].add(name_of(path))
    rooms: dict[str, list[Path]] = defaultdict(list)
    for path in trees:
        inside = path.relative_to(PACKAGE).parts
        rooms[inside[0] if len(inside) > 1 else "(top level)"].append(path)
    rooms["total"] = list(trees)
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in trees}
    return {
        room: Size(
            len(paths),
            sum(lines[path] for path in paths),
            sum(import_lines(trees[path]) for path in paths),
            tuple(
                name_of(path)
                for path in paths
                if path.name != "__init__.py" and lines[path] < SMALL and len(importers[name_of(path)]) == 1
            ),
        )
        for room, paths in rooms.items()
    }


def main() -> None:
    """Print the table, or JSON."""
    sizes, names = measured(), public_names()
    if "--json" in sys.argv[1:]:
        rooms = {room: {**asdict(size), "import_share": size.import_share} for room, size in sizes.items()}
        print(json.dumps({"rooms": rooms, "public_names": names}, indent=2))
        return
    print(f"{'room':<12} {'files':>6} {'lines':>7} {'imports':>8}  small modules with one importer")
    for room, size in sizes.items():
        shown = ", ".join(name.removeprefix("tacit.") for name in size.single_use)
        small = str(len(size.single_use)) if room == "total" else shown
        print(f"{room:<12} {size.files:>6,} {size.lines:>7,} {size.import_share:>8.1%}  {small}")
    print(f"\n{len(names)} public names of tacit; longest modules:")
    by_length = Counter({p: p.read_text(encoding="utf-8").count("\n") for p in PACKAGE.rglob("*.py")})
    for path, count in by_length.most_common(5):
        print(f"  {count:>5,}  {path.relative_to(PACKAGE)}")


if __name__ == "__main__":
    main()
