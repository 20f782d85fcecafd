#!/usr/bin/env python3
"""The page of Inspect in a real browser, over a running `sluice up`: check_page.py SLUICE

Each view is opened in Chromium without a window; what it shows, that the console says nothing, and the contrast of its colours are looked
at. CHROMIUM names the browser; screenshots go to $SCREENSHOTS where that is set.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "crates/inspect-rpc/page"
# Views by their address, with words that they must show.
VIEWS = {
    "": ["default/cluster-1", "clusters ready", "3 / 3", "env=fv"],
    "pipeline": ["matcher", "Shards", "up-1"],
    "profiles": ["admission-policies", "ClusterProfile"],
    "triggers": ["service-network-policy", "EventBasedAddOn"],
    "problems": ["Nothing is wrong."],
    "journal": ["What happens from now on."],
    "cluster/default/cluster-1": ["NetworkPolicy default/front-web", "ClusterProfile/"],
    "object/default/cluster-1/NetworkPolicy/default/front-web": ["is provisioned", "matcher", "an event of EventSource sveltos-service"],
    "object/default/cluster-1/NetworkPolicy/default/none": ["no profile deploys"],
    "search/network-policy": ["service-network-policy", "Profiles ("],
    "nonsense": ["clusters ready"],
}
failures = []


def browser():
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return found or sys.exit("check_page: no browser: install chromium, or name one in CHROMIUM")


def opened(chromium, url, *more):
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000", *more, url]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def look(chromium, url, view, words):
    done = opened(chromium, f"{url}#/{view}", "--dump-dom")
    said = [line for line in done.stderr.splitlines() if ":CONSOLE(" in line or "Content Security Policy" in line]
    # A question that has no answer is told as one; the browser notes the code.
    said = [line for line in said if "404 (Not Found)" not in line]
    if said:
        failures.append(f"{view}: the console says {said}")
    text = re.sub(r"<[^>]+>", "", done.stdout)
    failures.extend(f"{view}: there is no {word!r} in {text[-600:]!r}" for word in words if word not in text)
    place = os.environ.get("SCREENSHOTS")
    if place:
        name = view.replace("/", "-") or "fleet"
        for width in (1200, 360):
            opened(chromium, f"{url}#/{view}", f"--window-size={width},900", f"--screenshot={place}/{name}-{width}.png")


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def check_contrast():
    """Every colour of text on every background, light and dark: at least 4.5, as WCAG wants for texts."""
    css = (PAGE / "page.css").read_text(encoding="utf-8")
    for block in re.findall(r":root \{(.*?)\}", css, re.S):
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for name in ("text", "dim", "link", "good", "bad", "warn"):
            for back in ("back", "soft"):
                high, low = sorted((luminance(colours[name]), luminance(colours[back])), reverse=True)
                ratio = (high + 0.05) / (low + 0.05)
                if ratio < 4.5:
                    failures.append(f"{name} {colours[name]} on {back} {colours[back]} has a contrast of {ratio:.1f}")


def check_names():
    """Everything that can be used has a name for a screen reader."""
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    labels = set(re.findall(r'<label for="(\w+)"', html))
    fields = set(re.findall(r'<input id="(\w+)"', html))
    if fields - labels:
        failures.append(f"no label for {fields - labels}")
    if '<html lang="' not in html or 'aria-label="Views"' not in html:
        failures.append("the language, or the name of the navigation, is missing")


def started(sluice, place):
    output = open(place / "out", "w", encoding="utf-8")
    process = subprocess.Popen([sluice, "up"], cwd=place, stdout=output, stderr=subprocess.DEVNULL)
    for _ in range(600):
        text = (place / "out").read_text(encoding="utf-8")
        found = re.search(r"^page +(\S+)", text, re.M)
        if found:
            return process, found[1]
        time.sleep(0.2)
    process.terminate()
    sys.exit("check_page: sluice up does not come up")


def main():
    chromium, sluice = browser(), pathlib.Path(sys.argv[1]).resolve()
    check_contrast()
    check_names()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        process, url = started(sluice, place)
        try:
            kubectl = ["kubectl", "--kubeconfig", str(place / ".sluice/kubeconfig"), "--context", "cluster-1"]
            subprocess.run([*kubectl, "create", "service", "clusterip", "web", "--tcp=80"], check=True, capture_output=True)
            subprocess.run([*kubectl, "label", "service", "web", "sveltos=fv"], check=True, capture_output=True)
            time.sleep(3)
            for view, words in VIEWS.items():
                look(chromium, url, view, words)
        finally:
            process.terminate()
            process.wait(30)
    if failures:
        sys.exit("\n".join(f"check_page: {failure}" for failure in failures))
    print(f"page: {len(VIEWS)} views show what they should")


if __name__ == "__main__":
    main()
