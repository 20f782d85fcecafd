#!/usr/bin/env python3
"""A preprocessor of mdBook: links from a page to files outside of docs/ lead into the repository.

With SLUICE_REPOSITORY they begin with it, as `https://host/owner/sluice/blob/main`; without it they lead into the checkout from which
the site is built. That these files exist is checked by scripts/check_links.py.
"""

import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s#]*|[\w./-]*README\.md)(#[^)\s]*)?\)")


def moved(page: str, link: str) -> str:
    """The link in the site, of a page below docs/."""
    target = (ROOT / "docs" / page).parent.joinpath(link).resolve()
    if target.is_relative_to(ROOT / "docs"):
        return re.sub(r"README\.md$", "index.md", link)
    base = os.environ.get("SLUICE_REPOSITORY", "").rstrip("/") or ROOT.as_uri()
    return f"{base}/{target.relative_to(ROOT).as_posix()}"


def walk(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if not chapter:
            continue
        page = chapter.get("source_path") or chapter.get("path")
        if page:
            text = chapter["content"]
            chapter["content"] = LINK.sub(lambda m: f"{m[1]}{moved(page, m[2])}{m[3] or ''})", text)
        walk(chapter["sub_items"])


def main() -> int:
    if sys.argv[1:2] == ["supports"]:
        return 0
    _, book = json.load(sys.stdin)
    walk(book.get("items") or book.get("sections") or [])
    json.dump(book, sys.stdout)
    return 0


sys.exit(main())
