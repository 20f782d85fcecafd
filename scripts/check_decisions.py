#!/usr/bin/env python3
"""Decisions of docs/design and the code hold each other: `scripts/check_decisions.py [--write-index]`.

A decision is a heading `### D-0401 …` in `docs/design/04-….md`. Its *Code* and *Test* link to files; each test is named, and is in its
file. The first code file that can hold a comment says `D-0401` where the decision holds, and no file, code or document, says a number
that does not exist. The index in ARCHITECTURE.md lists all decisions; `--write-index` writes it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDEX = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- decisions: made by scripts/check_decisions.py --write-index -->", "<!-- end of decisions -->"
HEADING = re.compile(r"^### D-(\d{4}) (.+)$", re.M)
NUMBER = re.compile(r"\bD-(\d{4})\b")
FIELD = re.compile(r"^- \*\*(\w+)\.\*\* ", re.M)
FIELDS = ["What", "Why", "Rejected", "Code", "Test"]
LINK = re.compile(r"\[[^\]]*\]\(([^)]+)\)")
TEST = re.compile(r"`(\w+)`\s+in\s+\[[^\]]*\]\(([^)]+)\)")
COMMENTED = {".rs", ".py", ".sh"}
SKIPPED = {"target", "build", "dist", ".git", ".sluice"}


class Decision:
    """One decision: its number, its title, and the text of each field."""

    def __init__(self, page: pathlib.Path, number: str, title: str, text: str):
        self.page, self.number, self.title = page, number, title
        parts = FIELD.split(text)
        self.names, self.fields = parts[1::2], dict(zip(parts[1::2], parts[2::2]))

    def path(self, link: str) -> pathlib.Path:
        return (self.page.parent / link).resolve()

    def complaints(self):
        if not self.page.name.startswith(self.number[:2]):
            yield f"its first two digits are not those of {self.page.name}"
        if self.names != FIELDS:
            yield f"it has the fields {self.names}, and not {FIELDS}"
            return
        for field in ["Code", "Test"]:
            links = LINK.findall(self.fields[field])
            if not links:
                yield f"{field} has no link"
            for link in links:
                if not self.path(link).exists():
                    yield f"{field}: there is no {link}"
        tests = TEST.findall(self.fields["Test"])
        if len(tests) != len(LINK.findall(self.fields["Test"])):
            yield "Test: write each test as `name` in [file](link)"
        for name, link in tests:
            path = self.path(link)
            if path.exists() and not re.search(rf"\bfn {name}\b", path.read_text()):
                yield f"Test: {link} has no test {name}"
        yield from self.uncommented()

    def uncommented(self):
        paths = [self.path(link) for link in LINK.findall(self.fields["Code"])]
        commented = [path for path in paths if path.suffix in COMMENTED and path.exists()]
        if commented and f"D-{self.number}" not in commented[0].read_text():
            yield f"write `D-{self.number}` where it holds in {commented[0].relative_to(ROOT)}"


def decisions():
    for page in sorted((ROOT / "docs/design").glob("[0-9]*.md")):
        parts = HEADING.split(page.read_text())
        for number, title, text in zip(parts[1::3], parts[2::3], parts[3::3]):
            yield Decision(page, number, title, re.split(r"^## ", text, flags=re.M)[0])


def index(all_decisions) -> str:
    """A row for each page: its title, and the decisions in it."""
    rows = ["| page | decisions |", "|---|---|"]
    for page in sorted({decision.page for decision in all_decisions}):
        title = page.read_text().splitlines()[0].removeprefix("# ")
        here = [f"{d.number} {d.title}" for d in all_decisions if d.page == page]
        rows.append(f"| [{title}]({page.relative_to(ROOT)}) | {'; '.join(here)} |")
    return "\n".join([BEGIN, "", *rows, "", END])


def files():
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in COMMENTED | {".md"} and not SKIPPED.intersection(path.relative_to(ROOT).parts):
            yield path


def complaints(all_decisions):
    numbers = [decision.number for decision in all_decisions]
    for decision in all_decisions:
        if numbers.count(decision.number) > 1:
            yield f"D-{decision.number}: there are two"
        yield from (f"D-{decision.number}: {text}" for text in decision.complaints())
    for path in files():
        if path == pathlib.Path(__file__).resolve():
            continue
        for number in set(NUMBER.findall(path.read_text())) - set(numbers):
            yield f"{path.relative_to(ROOT)}: there is no decision D-{number}"
    if index(all_decisions) not in INDEX.read_text():
        yield f"{INDEX.name}: the index of decisions is not up to date: run {sys.argv[0]} --write-index"


def main() -> int:
    found = list(decisions())
    if sys.argv[1:] == ["--write-index"]:
        head, rest = INDEX.read_text().split(BEGIN)
        INDEX.write_text(head + index(found) + rest.split(END, 1)[1])
    wrong = list(complaints(found))
    print(*wrong, sep="\n", file=sys.stderr) if wrong else print(f"{len(found)} decisions, each with code and test")
    return 1 if wrong else 0


sys.exit(main())
