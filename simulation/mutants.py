#!/usr/bin/env python3
# D-1305: guards are taken out to see whether the simulation notices.
"""Takes guards out, one after the other, and tells which schedules of the simulation notice it.

All mutants of mutants.toml are built into one binary, in a worktree of its own; the environment variable SLUICE_MUTANT
chooses one of them. A table goes to standard output. Fails when a guard is not noticed that should be.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

# Schedules of one process.
BATCH = 100
ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SWITCH = """
/// Which mutant is on.
pub mod mutant {
    static CHOSEN: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var("SLUICE_MUTANT").ok()?.parse().ok());

    /// Whether it is this one.
    pub fn is(number: usize) -> bool {
        *CHOSEN == Some(number)
    }
}
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutants whose stage or guard has one of these words")
    parser.add_argument("--check", action="store_true", help="only look whether every edit fits the files of this checkout")
    parser.add_argument("-n", "--schedules", type=int, default=2000, help="schedules for each mutant")
    parser.add_argument("-f", "--first", type=int, default=0, help="the first seed")
    parser.add_argument("-s", "--seconds", type=float, default=300, help="time for each mutant, at most")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="mutants that run at a time")
    parser.add_argument("--at", default="HEAD", help="the commit that is built; mutants.toml is that of this checkout")
    parser.add_argument("--target", type=Path, default=TARGET / "mutants", help="cargo's target directory, of their own: in the usual one the next build would begin anew")
    parser.add_argument("--cargo", default="--offline", help="more arguments of cargo build")
    parser.add_argument("--keep", metavar="FILE", help="where the binary is; it is built when there is none")
    return parser.parse_args()


def edits(mutant):
    return [(mutant[old], mutant[new]) for old, new in [("old", "new"), ("old2", "new2")] if old in mutant]


def misfits(mutants):
    """The edits whose text is not in its file exactly once: their guards have changed, and they have not."""
    for mutant in mutants:
        text = (ROOT / mutant["file"]).read_text()
        for old, _ in edits(mutant):
            if text.count(old) != 1:
                yield f"{mutant['guard']}: {text.count(old)} times in {mutant['file']}: {old}"


def mutate(tree, mutants):
    """Puts every mutant into the sources, each with its number as switch."""
    for number, mutant in enumerate(mutants):
        file = tree / mutant["file"]
        text = file.read_text()
        for old, new in edits(mutant):
            if text.count(old) != 1:
                sys.exit(f"{mutant['guard']}: {text.count(old)} times in {mutant['file']}: {old}")
            switch = "crate" if mutant["file"].startswith("crates/api/") else "sluice_api"
            text = text.replace(old, re.sub(r"\bOUT\b", f"{switch}::mutant::is({number})", new))
        file.write_text(text)
    with (tree / "crates/api/src/lib.rs").open("a") as file:
        file.write(SWITCH)


def build(options, mutants, binary):
    target = options.target.resolve()
    # Always in one place: for cargo, another place is another package.
    tree, git = target / "mutants-tree", ["git", "-C", ROOT, "worktree"]
    subprocess.run([*git, "remove", "--force", tree], stderr=subprocess.DEVNULL)
    subprocess.run([*git, "add", "--quiet", "--detach", tree, options.at], check=True)
    try:
        mutate(tree, mutants)
        cargo = ["cargo", "build", "--release", "--package", "sluice-simulation", *options.cargo.split()]
        subprocess.run(cargo, cwd=tree, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, check=True)
        shutil.copy2(target / "release/schedules", binary)
    finally:
        subprocess.run([*git, "remove", "--force", tree], check=True)


def try_out(options, binary, number):
    """The first seed that breaks and what breaks; without a seed, how many schedules were run."""
    env, end = {**os.environ, "SLUICE_MUTANT": str(number)}, time.monotonic() + options.seconds
    for done in range(0, options.schedules, BATCH):
        command = [binary, str(min(BATCH, options.schedules - done)), str(options.first + done)]
        try:
            left = max(end - time.monotonic(), 0)
            result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            return None, f"none in {done}"
        if result.returncode != 0:
            seed = re.search(r"^seed (\d+), step \d+: (.*)", result.stdout, re.MULTILINE)
            return (seed[1], seed[2]) if seed else ("panic", result.stderr)
    return None, f"none in {options.schedules}"


def main():
    options = arguments()
    mutants = tomllib.loads((ROOT / "simulation/mutants.toml").read_text())["mutant"]
    if options.check:
        wrong = list(misfits(mutants))
        print(*wrong, f"mutants: {len(mutants)} edits, {len(wrong)} do not fit", sep="\n")
        return len(wrong) > 0
    words = [word.lower() for word in options.words]
    about = lambda mutant: f"{mutant['stage']} {mutant['guard']}".lower()
    chosen = [n for n, mutant in enumerate(mutants) if not words or any(word in about(mutant) for word in words)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        binary = Path(options.keep or f"{folder}/schedules").resolve()
        if not binary.exists():
            build(options, mutants, binary)
        results = pool.map(lambda number: try_out(options, binary, number), [len(mutants), *chosen])
        seed, what = next(results)
        if seed:
            sys.exit(f"seed {seed} breaks without any mutant: {what}")
        print("| stage | taken out | first seed |\n|---|---|---|", flush=True)
        missed = 0
        for number, (seed, what) in zip(chosen, results):
            mutant = mutants[number]
            missed += mutant["noticed"] and seed is None
            print(f"| {mutant['stage']} | {mutant['guard']} | {seed or what} |", flush=True)
            print(f"{mutant['guard']}: {what:.200}", file=sys.stderr, flush=True)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
