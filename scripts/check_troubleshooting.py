#!/usr/bin/env python3
"""docs/operations/troubleshooting.md has a heading for every class of problem that the source can tell, and for no other one.

Below a heading stands what it is for: `<!-- tells: renderer.Denied deployer/core/src/job/replies.rs -->`, variants of the enums below and
files in which a problem begins. Three things are compared:

- each variant, and each file that makes a problem, is told by exactly one heading, and nothing is told that is not there;
- the words of a variant stand below its heading, as far as it has words of its own;
- every message that the page shows (blocks without a language; `…` stands for what differs) is made of clauses that the source has.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/operations/troubleshooting.md"
ENUMS = {
    "about": ("crates/protocol/src/problem/about.rs", "About"),
    "answer": ("deployer/core/src/request.rs", "Class"),
    "bus": ("crates/bus/src/codec.rs", "CodecError"),
    "chart": ("crates/chart/src/error.rs", "Error"),
    "class": ("crates/protocol/src/problem/fault.rs", "Class"),
    "content": ("crates/protocol/src/rows.rs", "NoContent"),
    "deployer": ("deployer/core/src/error.rs", "Error"),
    "matcher": ("matcher/core/src/error.rs", "Error"),
    "renderer": ("renderer/core/src/error.rs", "Error"),
    "row": ("matcher/core/src/error.rs", "RowError"),
    "rule": ("crates/script/src/cel.rs", "Unanswered"),
    "seal": ("crates/bus/src/seal/envelope.rs", "SealError"),
    "severity": ("crates/protocol/src/problem/fault.rs", "Severity"),
    "template": ("crates/template/src/error.rs", "ErrorKind"),
    "text": ("crates/text-error/src/lib.rs", "TextError"),
}
# They say where another one is, or that nothing more is known of it.
WRAPPERS = {"class.Other", "severity.Error", "renderer.Within", "renderer.Explained", "renderer.Several", "renderer.On"}
# They carry problems of others from one place to another, or have faults of another kind.
CARRIERS = re.compile("crates/(?:script/|protocol/src/problem/(?:mod|fault)|bus/src/buckets/problems|inspect-rpc/src/convert/problem)")
STAGES = ["agent", "cli", "crates", "deployer", "matcher", "renderer", "status"]
TEST = re.compile(r"(?:^|/)(?:tests?|benches|fuzz|examples)(?:/|\.rs$)|_tests?\.rs$")
MAKES = re.compile(r"\b(?:Fault::(?:new|note|of|from|lost|following|of_check|of_fight)|Problem::open)\b")
BECOMES = re.compile(r"\bimpl From<&?(\w+)> for Fault\b")
VARIANT = re.compile(r"^    ([A-Z]\w*)(?: \{|\(|,)", re.M)
TOKEN = re.compile(r'//[^\n]*|r(#*)"(?P<raw>.*?)"\1|"(?P<text>(?:[^"\\]|\\.)*)"|\'(?:\\.[^\']*|[^\'\\])\'', re.S)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'", "0": "\0", "r": "\r"}
HEADING = re.compile(r"^(#{2,3}) (.+)$")
TELLS = re.compile(r"^<!-- tells: (.*) -->$")


def production(path: pathlib.Path) -> str:
    return re.split(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+ \{", path.read_text(encoding="utf-8"))[0]


def sources():
    for stage in STAGES:
        for path in sorted((ROOT / stage).rglob("*.rs")):
            if not TEST.search(path.relative_to(ROOT).as_posix()):
                yield path


def literals(code: str) -> list[str]:
    found = []
    for token in TOKEN.finditer(code):
        if token["raw"] is not None:
            found.append(token["raw"])
        elif token["text"] is not None:
            text = re.sub(r"\\\n\s*", "", token["text"])
            found.append(re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[0]), text))
    return found


def pieces(text: str) -> list[str]:
    """A text of the source without what differs."""
    return [piece for piece in re.split(r"\{\{|\}\}|\{[^{}]*\}", text) if piece]


def clauses(message: str) -> list[str]:
    """What is to be found in the source of a message that the page shows: its parts of two words and more. One word may be a path."""
    parts = re.split(r"…|[:;] |[:;]$|[()]|^note: ", message)
    return [part.strip() for part in parts if part and len(re.findall(r"[A-Za-z]{2,}", part)) > 1 and " " in part.strip()]


def body(path: str, name: str) -> str:
    code = production(ROOT / path)
    found = re.search(rf"^pub(?:\(\w+\))? enum {name} \{{\n(.*?)^\}}", code, re.M | re.S)
    if not found:
        sys.exit(f"check_troubleshooting: {path} has no enum {name}; correct ENUMS")
    return found[1]


def variants() -> dict[str, list[str]]:
    """Each variant of each enum with the longest words of its text; none where it only repeats another text."""
    known = {}
    for label, (path, name) in ENUMS.items():
        text, start = body(path, name), 0
        for variant in VARIANT.finditer(text):
            attributes = "".join(re.findall(r"#\[error\((.*?)\)\]\n", text[start : variant.start()], re.S))
            words = [piece for literal in literals(attributes)[:1] for piece in pieces(literal)]
            words = [piece for piece in words if len(re.findall(r"[a-z]", piece)) >= 6]
            known[f"{label}.{variant[1]}"] = [max(words, key=len)] if words else []
            start = variant.end()
    return known


def sections():
    """Heading, what it tells, and its text, of all that tell something."""
    heading, tells, lines = "", [], []
    for line in PAGE.read_text(encoding="utf-8").splitlines() + ["## end"]:
        found = HEADING.match(line)
        if found:
            if heading:
                yield heading, tells, "\n".join(lines)
            heading, tells, lines = found[2], [], []
            continue
        told = TELLS.match(line)
        tells += told[1].split() if told else []
        lines.append(line)


def shown(text: str) -> list[str]:
    """The messages of a section."""
    blocks = re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def complaints():
    known = variants()
    codes = {path.relative_to(ROOT).as_posix(): production(path) for path in sources()}
    makes = {path for path, code in codes.items() if MAKES.search(re.sub(r"//[^\n]*", "", code))}
    files = {path for path in makes if not CARRIERS.match(path)}
    listed = {path for path, _ in ENUMS.values()}
    for path, code in codes.items():
        made = {name for name in BECOMES.findall(code) if name not in ("String", "str")}
        if made and path not in listed:
            yield f"{path}: {', '.join(sorted(made))} becomes a problem; add it to ENUMS of scripts/check_troubleshooting.py"
    # Files of the enums are told by their variants.
    wanted = (known.keys() - WRAPPERS) | (files - listed)
    texts = {literal for code in codes.values() for literal in literals(code)}
    corpus = "\n".join(piece for literal in texts for piece in [literal, *pieces(literal)])
    places: dict[str, list[str]] = {}
    for heading, tells, text in sections():
        for name in tells:
            places.setdefault(name, []).append(heading)
            missing = [words for words in known.get(name, []) if words.strip() not in text]
            if missing:
                yield f"{heading!r} does not show the message of {name}: {missing[0].strip()!r}"
        messages = shown(text)
        if tells and not messages:
            yield f"{heading!r} shows no message: put one into a block without a language"
        if messages and not tells:
            yield f"{heading!r} tells of nothing: say what in <!-- tells: … -->"
        for message in messages:
            lacking = [part for part in clauses(message) if part not in corpus]
            yield from (f"{heading!r}: no text of the source has {part!r}" for part in lacking)
    for name in sorted(wanted - places.keys()):
        yield f"no heading tells of {name}"
    for name, headings in sorted(places.items()):
        if name not in wanted:
            yield f"{headings[0]!r} tells of {name}, which is no class of problem"
        if len(headings) > 1:
            yield f"{name} is told more than once: {', '.join(map(repr, headings))}"


def main() -> int:
    wrong = list(complaints())
    print(*(f"docs/operations/troubleshooting.md: {text}" for text in wrong), sep="\n", file=sys.stderr)
    if not wrong:
        print("troubleshooting: every class of problem has its heading")
    return 1 if wrong else 0


sys.exit(main())
