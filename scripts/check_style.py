#!/usr/bin/env python3
"""The house rules that clippy cannot check: sizes of files and functions, words that must not be there.

Production code is what stands outside test files and before an inline test module.
"""

import pathlib
import re
import sys

FILE_LINES = 400
FUNCTION_LINES = 60
MAIN_LINES = 20
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+ \{")
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)")
FORBIDDEN = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
TEST_FILE = re.compile(r"(?:^|/)(?:tests?|benches|fuzz)(?:/|\.rs$)|_tests?\.rs$")
# Words with one meaning each (docs/glossary.md): the file that defines each type.
ONE_MEANING = {
    "Kind": {"crates/api/src/kinds/mod.rs"},
    "Answer": {"crates/inspect-rpc/src/answer.rs"},
    "Held": set(),  # a state of a profile, no type
    "Owner": {"crates/protocol/src/owner.rs"},
    "Verdict": {"crates/inspect/src/explain.rs"},
}
DEFINES = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:enum|struct|type|trait) (" + "|".join(ONE_MEANING) + r")\b")
SKIPPED = {"target", "build", "dist", ".git", ".sluice"}


def rust_files(root: pathlib.Path):
    for path in sorted(root.rglob("*.rs")):
        if not SKIPPED.intersection(path.relative_to(root).parts):
            yield path


def production(text: str) -> list[str]:
    cut = TEST_MODULE.search(text)
    return (text[: cut.start()] if cut else text).splitlines()


def functions(lines: list[str]):
    """Name, first line and length of every function with a body of its own."""
    for start, line in enumerate(lines):
        head = FUNCTION.match(line)
        if not head:
            continue
        closing = head.group(1) + "}"
        for end in range(start, len(lines)):
            if lines[end].rstrip() == closing:
                yield head.group(2), start + 1, end - start + 1
                break
            if lines[end].rstrip().endswith(";") and "{" not in "".join(lines[start : end + 1]):
                break


def complaints(root: pathlib.Path):
    for path in rust_files(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if FORBIDDEN.search(line):
                yield f"{name}:{number}: unfinished work belongs into an issue, not into the code"
            defined = DEFINES.match(line)
            if defined and name not in ONE_MEANING[defined.group(1)]:
                yield f"{name}:{number}: {defined.group(1)} means something else in this project: see docs/glossary.md"
        if TEST_FILE.search(name):
            continue
        lines = production(text)
        if len(lines) > FILE_LINES:
            yield f"{name}: {len(lines)} production lines, at most {FILE_LINES}: give the second idea its own file"
        if path.name == "main.rs" and len(lines) > MAIN_LINES:
            yield f"{name}: {len(lines)} lines, at most {MAIN_LINES}: main is one call"
        for function, start, length in functions(lines):
            if length > FUNCTION_LINES:
                yield f"{name}:{start}: fn {function} has {length} lines, at most {FUNCTION_LINES}"


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(complaints(root))
    print("\n".join(found) if found else "style: sizes and words are fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
