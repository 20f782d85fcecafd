#!/usr/bin/env python3
"""The table of crates in ARCHITECTURE.md, compared with the workspace. Prints `<kind> <package> <folder>` for each crate.

A row is `| [folder](folder) | job | kind | depends on |`. What it depends on are the crates of the workspace in its normal dependencies,
without `crates/`; what only tests or build scripts need does not count.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| \[([^\]]+)\]\(\1\) \| [^|]+ \| (\w+) \| ([^|]+) \|$", re.M)
KINDS = {"pure", "sync", "shell", "broker", "grpc", "attack"}


def workspace() -> dict:
    """Of each folder: its package, and the folders of the crates that it depends on."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)["packages"]

    def folder(path: str) -> str:
        return pathlib.Path(path).relative_to(ROOT).as_posix()

    def needs(package: dict) -> set:
        inner = [d for d in package["dependencies"] if d.get("path") and d["kind"] is None]
        return {folder(dependency["path"]).removeprefix("crates/") for dependency in inner}

    return {folder(p["manifest_path"].removesuffix("/Cargo.toml")): (p["name"], needs(p)) for p in packages}


def main() -> int:
    rows = ROW.findall((ROOT / "ARCHITECTURE.md").read_text())
    crates, wrong = workspace(), []
    for folder in set(crates) ^ {row[0] for row in rows}:
        wrong.append(f"{folder}: it is in the workspace or in the table, and not in both")
    for folder, kind, listed in rows:
        name, needs = crates.get(folder, ("", set()))
        written = set(listed.split()) - {"–"}
        if kind not in KINDS:
            wrong.append(f"{folder}: there is no kind {kind}")
        if name and written != needs:
            wrong.append(f"{folder}: Cargo.toml has {sorted(needs)}, and the table {sorted(written)}")
        print(kind, name, folder)
    for text in wrong:
        print(f"ARCHITECTURE.md, crates: {text}", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
