#!/usr/bin/env python3
"""Which files of a crate use what is above them, and which use each other in a circle.

A crate has floors, from the lowest to the highest: folders of its `src`, or files. A file uses its own floor and those below it.
Within a floor no two files use each other, over however many others. Tests may use everything.
"""

import pathlib
import re
import sys

# By crate: its floors, from the lowest to the highest.
CRATES = {
    "renderer/core/src": ["error", "knowledge", "rendering", "planning", "messages", "renderer", "lib"],
    "status/core/src": ["condition", "cluster_set", "clusters", "labels", "capi_labels", "object", "dependencies", "rollout", "standing", "status", "event", "statuses", "lib"],
}
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+ \{")
EXPORT = re.compile(r"\bpub(?:\(\w+\))? use (?:self::|super::|crate::)?([\w:]+?)(?:::\{([^}]*)\}|::(\w+))?;")
# `crate::a::b::Name`, `self::…`, `super::…`, and what braces hold.
PATH = re.compile(r"\b(crate|self|super)((?:::\w+)+)(?:::\{([^{}]*)\})?")


def files(root: pathlib.Path) -> dict[tuple[str, ...], str]:
    """The modules of a crate by their path, without those of tests."""
    found = {}
    for path in sorted(root.rglob("*.rs")):
        parts = path.relative_to(root).with_suffix("").parts
        if "tests" in parts or parts == ("lib",):
            continue
        text = path.read_text(encoding="utf-8")
        cut = TEST_MODULE.search(text)
        text = text[: cut.start()] if cut else text
        text = re.sub(r"//.*", "", text)
        found[parts[:-1] if parts[-1] == "mod" else parts] = text
    return found


def exports(modules: dict[tuple[str, ...], str]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Where the names stand that the file of a folder passes on."""
    known = {}
    for module, text in modules.items():
        for path, several, one in EXPORT.findall(text):
            steps = tuple(path.split("::"))
            target = module + steps if module + steps in modules else steps
            for name in [one] if one else re.findall(r"\w+", several):
                known[module + (name,)] = target
    return known


def target(path: tuple[str, ...], modules, passed_on) -> tuple[str, ...] | None:
    """The module in which the end of a path is."""
    for length in range(len(path), 0, -1):
        head = path[:length]
        if head in passed_on:
            return target(passed_on[head], modules, passed_on)
        if head in modules:
            return head
    return None


def arrows(modules) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Which module uses which."""
    passed_on, uses = exports(modules), {}
    for module, text in modules.items():
        used = set()
        for start, steps, several in PATH.findall(re.sub(r"\s+", " ", text)):
            base = {"crate": (), "self": module, "super": module[:-1]}[start]
            path = base + tuple(step for step in steps.split("::") if step)
            names = re.findall(r"(\w+)(?: as \w+)?\s*(?:,|$)", several) if several else []
            ends = [path if name == "self" else path + (name,) for name in names] or [path]
            used |= {found for end in ends if (found := target(end, modules, passed_on))}
        # A file passes on and uses what stands under it; that is no arrow.
        uses[module] = {one for one in used if one != module and one[: len(module)] != module}
    return uses


def circles(uses) -> list[list[tuple[str, ...]]]:
    """Groups of modules that use each other, over however many others."""
    reached = {}
    for start in uses:
        seen, left = set(), [start]
        while left:
            for one in uses.get(left.pop(), ()):
                if one not in seen:
                    seen.add(one)
                    left.append(one)
        reached[start] = seen
    groups = {tuple(sorted(b for b in uses if b in reached[a] and a in reached[b])) for a in uses if a in reached[a]}
    return [list(group) for group in sorted(groups)]


def check(root: pathlib.Path, floors: list[str]) -> tuple[list[str], list[list[tuple[str, ...]]]]:
    """Arrows that go up, and circles."""
    uses = arrows(files(root))
    strange = sorted({module[0] for module in uses} - set(floors))
    up = [f"{root}/{name} is on no floor; name it in scripts/check_floors.py" for name in strange]
    for module, used in sorted(uses.items()):
        for one in sorted(used):
            if module[0] in floors and one[0] in floors and floors.index(one[0]) > floors.index(module[0]):
                up.append(f"{root}: {'/'.join(module)} uses {'/'.join(one)}, which is above it")
    return up, circles(uses)


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    wrong = []
    for crate, floors in CRATES.items():
        up, round_about = check(root / crate, floors)
        wrong += [line.replace(f"{root}/", "") for line in up]
        wrong += [f"{crate}: a circle of {len(group)}: {', '.join('/'.join(one) for one in group)}" for group in round_about]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
