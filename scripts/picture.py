#!/usr/bin/env python3
"""Draws docs/pipeline.svg from the text below: `scripts/picture.py`, or `--check` whether the file is what it draws.

    box ID X Y WIDTH HEIGHT CLASS | title | line below it
    arrow X Y X Y … | label | where the label stands: X Y
"""

import pathlib
import sys
from xml.sax.saxutils import escape

FILE = pathlib.Path(__file__).resolve().parent.parent / "docs/pipeline.svg"
PICTURE = """
size 1120 400
box bus 176 126 768 200 bus | NATS JetStream: four tables, one row for each key |
box from 16 172 120 84 cluster | managed | clusters
box agent 200 172 120 84 stage | agent | what changed
box matcher 400 172 120 84 stage | matcher | what is an event
box renderer 600 172 120 84 stage | renderer | what goes where
box deployer 800 172 120 84 stage | deployer | makes it so
box to 984 172 120 84 cluster | managed | clusters
box management 550 16 220 72 cluster | management cluster | triggers, profiles, status
arrow 136 214 200 214 | watch | 156 204
arrow 320 214 400 214 | changes | 360 204
arrow 520 214 600 214 | reports | 560 204
arrow 720 214 800 214 | desired | 760 204
arrow 920 214 984 214 | apply | 964 204
arrow 640 88 640 172 | manifests | 604 112
arrow 680 172 680 88 | status | 706 112
arrow 650 256 650 300 260 300 260 256 | interest: who listens to what | 360 316
arrow 460 300 460 256 | |
arrow 860 256 860 300 680 300 680 256 | status: what came of it | 770 316
text 16 378 | A Service is created on the left; a few milliseconds later its NetworkPolicy is there on the right. Each stage runs any number of replicas.
"""
STYLE = """
  .page { fill: #ffffff; } .bus { fill: #f2f5fa; stroke: #9db2cf; stroke-dasharray: 5 4; }
  .stage { fill: #2b5797; stroke: #1c3c6b; } .cluster { fill: #ffffff; stroke: #5b6b82; }
  .arrow { fill: none; stroke: #33445c; stroke-width: 1.6; marker-end: url(#head); }
  text { font: 14px system-ui, sans-serif; fill: #22303f; text-anchor: middle; } .title { font-weight: 600; }
  .on-stage { fill: #ffffff; } .label { font-size: 12.5px; } .left { text-anchor: start; }
"""


def text(x, y, words, classes):
    return f'<text x="{x}" y="{y}" class="{classes}">{escape(words)}</text>' if words else ""


def box(head, title, below):
    _, x, y, width, height, kind = head.split()
    x, y, width, height = map(int, (x, y, width, height))
    ink = "on-stage" if kind == "stage" else ""
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" class="{kind}"/>'
    if kind == "bus":
        return [shape, text(x + 16, y + 24, title, "label left")]
    middle, center = x + width // 2, y + height // 2
    return [shape, text(middle, center - 4, title, f"title {ink}"), text(middle, center + 16, below, f"label {ink}")]


def arrow(head, label, place):
    points = head.split()
    way = " ".join(f"{x},{y}" for x, y in zip(points[::2], points[1::2]))
    return [f'<polyline points="{way}" class="arrow"/>', text(*place.split(), label, "label") if label else ""]


def draw() -> str:
    shapes, size = [], ""
    for line in PICTURE.strip().splitlines():
        word, rest = line.split(" ", 1)
        parts = [part.strip() for part in rest.split("|")]
        if word == "size":
            size = rest.split()
        elif word == "box":
            shapes += box(*parts)
        elif word == "arrow":
            shapes += arrow(*parts)
        else:
            shapes.append(text(*parts[0].split(), parts[1], "label left"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="The pipeline of Sluice">'
    marker = '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#33445c"/></marker></defs>'
    page = f'<rect width="{size[0]}" height="{size[1]}" class="page"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", marker, page, *filter(None, shapes), "</svg>", ""])


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        if not FILE.exists() or FILE.read_text() != draw():
            print("docs/pipeline.svg is not what scripts/picture.py draws: run it", file=sys.stderr)
            return 1
        return 0
    FILE.write_text(draw())
    return 0


sys.exit(main())
