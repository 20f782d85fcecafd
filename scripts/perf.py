#!/usr/bin/env python3
"""What an event costs now, against the version that was kept last: `make perf`, `make perf ARGS=--quick`, `make perf ARGS=--keep`.

Both versions run one after the other on this machine, several times, so that what the machine does meanwhile meets both. The stages
and `sluice` are of their version; the load, the simulated clusters and what is measured are of this one, for both.

What is kept is in $SLUICE_BUILD/perf: a folder of programs and figures for the commit that `kept` names. Where there is none yet,
this version is measured and kept. With --keep a version that passes takes the place of the one before; without, nothing changes, and
the same question can be asked again.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import perf_judge

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAGES = ["sluice-agent", "sluice-matcher", "sluice-renderer", "sluice-deployer", "sluice"]
LOAD = ["sluice-loadtest", "sluice-simcluster"]
PHASES = "--only=floor,idle,rate,memory"
FULL = ["--clusters=100", "--idle=20", "--pause=300", "--seconds=4", "--rates=100,500", "--fill=2000", PHASES]
QUICK = ["--clusters=30", "--idle=12", "--pause=100", "--seconds=3", "--rates=200", "--fill=400", "--settle=2", PHASES]
# A run that hangs must not hang what waits for it.
PATIENCE = 600


def say(text):
    print(f"perf: {text}", file=sys.stderr, flush=True)


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def build(target):
    # As `make load` does it, so that nothing is compiled twice.
    subprocess.run(["cargo", "build", "--release", "--locked", "--workspace", "--bins"], cwd=ROOT, check=True)
    return target / "release"


def take(programs, source, target, strip=False):
    """Copies programs, without what only debuggers read."""
    target.mkdir(parents=True, exist_ok=True)
    for program in programs:
        copy = target / program
        copy.unlink(missing_ok=True)
        shutil.copy2(source / program, copy)
        if strip and shutil.which("strip"):
            subprocess.run(["strip", str(copy)], check=True)


def measure(programs, form, place):
    """One run; its figures."""
    place.unlink(missing_ok=True)
    with open(place.with_suffix(".md"), "w", encoding="utf-8") as report:
        command = [programs / "sluice-loadtest", *form, f"--figures={place}"]
        done = subprocess.run(command, stdout=report, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        sys.exit(f"perf: {programs}: the run failed:\n{done.stderr}")
    return json.loads(place.read_text(encoding="utf-8"))


def order(times):
    """Which version runs when: in turn, and who begins changes, so that none is always the first."""
    return [version for turn in range(times) for version in (("old", "new") if turn % 2 == 0 else ("new", "old"))]


def read(path, otherwise):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else otherwise


def keep(perf, commit, place, runs, since):
    """Makes `place` what the next version is compared with."""
    (place / "figures.json").write_text(json.dumps(runs, indent=1), encoding="utf-8")
    (place / "since.json").write_text(json.dumps(since, indent=1, sort_keys=True), encoding="utf-8")
    kept = perf / commit
    shutil.rmtree(kept, ignore_errors=True)
    place.rename(kept)
    (perf / "kept").write_text(commit, encoding="utf-8")
    for other in perf.iterdir():
        if other.is_dir() and other != kept:
            shutil.rmtree(other)
    say(f"{commit} is what the next version is compared with")


def arguments():
    parser = argparse.ArgumentParser(description="What an event costs now, against the version that was kept last.")
    parser.add_argument("--quick", action="store_true", help="fewer clusters and shorter phases: two minutes in place of ten")
    parser.add_argument("--keep", action="store_true", help="when this version passes, the next one is compared with it")
    parser.add_argument("--if-kept", action="store_true", help="do nothing where no version was kept, not even compile")
    parser.add_argument("--programs", type=pathlib.Path, help="a folder with programs of this version, built already")
    parser.add_argument("--times", type=int, help="runs of each version (default: 3; 2 with --quick)")
    return parser.parse_args()


def main():
    chosen = arguments()
    perf = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build")) / "perf"
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    kept = (perf / "kept").read_text(encoding="utf-8") if (perf / "kept").exists() else None
    if chosen.if_kept and not kept:
        say(f"skipped: no version was kept in {perf}, so there is nothing to compare with; `make perf` here makes a beginning")
        return 0
    commit, changed = git("rev-parse", "--short=12", "HEAD"), bool(git("status", "--porcelain"))
    built, place, form = chosen.programs or build(target), perf / "new", QUICK if chosen.quick else FULL
    shutil.rmtree(place, ignore_errors=True)
    take([*STAGES, *LOAD], built, place, strip=True)
    if not kept:
        say(f"no version was kept in {perf}: this one is measured and kept")
        keep(perf, commit, place, [measure(place, form, place / "run.json")], {"from": commit})
        return 0
    old = perf / "old"
    shutil.rmtree(old, ignore_errors=True)
    take(STAGES, perf / kept, old)
    take(LOAD, place, old)
    runs, began = {"old": [], "new": []}, time.monotonic()
    for version in order(chosen.times or (2 if chosen.quick else 3)):
        say(f"{kept if version == 'old' else commit}, run {len(runs[version]) + 1}")
        runs[version].append(measure(perf / version, form, perf / version / f"run-{len(runs[version])}.json"))
    comparisons = perf_judge.compare(runs["old"], runs["new"])
    since = read(perf / kept / "since.json", {})
    first, since = since.get("from", kept), perf_judge.drift({name: value for name, value in since.items() if name != "from"}, comparisons)
    print(f"{commit}{' with changes that are not committed' if changed else ''} against {kept}, {len(runs['new'])} runs of each in turn,")
    print(f"`sluice-loadtest {' '.join(form)}`; *since the first* is against {first}.\n")
    print(perf_judge.table(comparisons, since))
    failed = [one.name for one in comparisons if one.fails]
    say(f"measured in {time.monotonic() - began:.0f} s")
    if failed:
        say(f"more than before, by more than {100 * perf_judge.MORE:.0f} % beyond the spread: {', '.join(failed)}")
        return 1
    if chosen.keep and changed:
        say("not kept: there are changes that are not committed, so no commit is what was measured")
    elif chosen.keep:
        keep(perf, commit, place, runs["new"], {"from": first, **since})
    return 0


if __name__ == "__main__":
    sys.exit(main())
