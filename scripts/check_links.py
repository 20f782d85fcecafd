#!/usr/bin/env python3
"""The documents hold together: every relative link of every `.md` leads to a file and to a heading, `docs/SUMMARY.md` lists every page
of `docs`, manifests that a how-to shows are those in the folder beside it, the picture is the one that its script makes, and the
changelog has notes for the version of the workspace.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = {"target", "build", "dist", ".git", ".sluice"}
# Recorded texts of others, and files of charts: they are not ours to mend.
FOREIGN = ["e2e/seeds/0", "crates/chart/tests/charts/"]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
MANIFEST = re.compile(r"^```yaml\n(.*?)^```$", re.M | re.S)
HEADING = re.compile(r"^#{1,6} (.+)$", re.M)


def documents():
    for path in sorted(ROOT.rglob("*.md")):
        name = path.relative_to(ROOT).as_posix()
        if not SKIPPED.intersection(path.relative_to(ROOT).parts) and not name.startswith(tuple(FOREIGN)):
            yield path


def slug(heading: str) -> str:
    """The anchor of a heading: of its text, without marks, in small letters."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path: pathlib.Path) -> set:
    found: list[str] = []
    for heading in HEADING.findall(FENCE.sub("", path.read_text())):
        name = slug(heading)
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return set(found)


def broken(path: pathlib.Path):
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", path.read_text()))
    for link in [first or second for first, second in LINK.findall(text)]:
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists():
            yield f"there is no {link}"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{link}: there is no such heading"


def unlisted():
    summary = (ROOT / "docs/SUMMARY.md").read_text()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").as_posix()
        if name != "SUMMARY.md" and f"({name})" not in summary:
            yield f"docs/SUMMARY.md does not list {name}"


def unlike():
    """Manifests of a how-to that are not in its folder, where the tests of documents build them."""
    for path in sorted((ROOT / "docs/how-to").glob("*.md")):
        files = [file.read_text() for file in path.with_suffix("").rglob("*.yaml")]
        for block in MANIFEST.findall(path.read_text()):
            if not any(block in file for file in files):
                yield f"docs/how-to/{path.name}: no file of docs/how-to/{path.stem} holds its manifest {block.splitlines()[:4]}"


def fails(*command: str):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        yield f"{' '.join(command)}: {done.stderr.strip()}"


def main() -> int:
    wrong = [f"{path.relative_to(ROOT)}: {text}" for path in documents() for text in broken(path)]
    version = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
    wrong += [*unlisted(), *unlike(), *fails("scripts/picture.py", "--check"), *fails("scripts/release-notes.sh", version)]
    print(*wrong, sep="\n", file=sys.stderr) if wrong else print("links, summary, manifests, picture and release notes are well")
    return 1 if wrong else 0


sys.exit(main())
