"""The pure part of scripts/perf.py: figures of several runs of two versions in, verdicts and a Markdown table out.

A run is what `sluice-loadtest --figures` writes: numbers by name, as `rate500.cpu_ms_per_event.renderer`.
"""

import dataclasses
import re

# A figure fails when its lowest value is above the highest of the version before by more than this.
MORE = 0.10
STAGES = "agent|matcher|renderer|deployer"


@dataclasses.dataclass(frozen=True)
class Family:
    """Figures that are compared in one way."""

    title: str
    pattern: str
    # A difference below this is none, in the unit of the figure: of next to nothing, ten percent is noise. None: printed, not judged.
    least: float | None
    digits: int = 2


# What is counted is judged. Latency is printed only: on two cores that everything shares it is what else the machine does, and the
# spread of five runs of one binary is larger than any change that is worth stopping.
FAMILIES = [
    Family("CPU, ms per event", rf"(?:rate\d+|fill)\.cpu_ms_per_event\.({STAGES}|nats-server)", 0.02, 3),
    Family("rows per event", r"rate\d+\.rows_per_event\.(.*)", 0.05),
    Family("wakeups per event", rf"rate\d+\.wakeups_per_event\.({STAGES}|nats-server)", 0.3),
    Family("memory, KiB for each add-on", r"memory\.kib_per_add_on\.(renderer|deployer)", 0.3),
    Family("memory, KiB for each watched object", r"memory\.kib_per_object\.(agent|matcher)", 0.3),
    Family("memory at rest, MiB", rf"idle\.rss_mib\.({STAGES})", 2.0, 1),
    Family("latency / the floor of the same run", r"(?:idle|rate\d+)\.p(?:50|99)_per_floor", None),
    Family("the floor itself, ms", r"floor\.p(?:50|99)_ms", None),
    Family("add-ons at once, per second", r"fill\.per_s", None, 0),
]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One figure of two versions."""

    name: str
    family: Family
    before: list[float]
    after: list[float]

    @property
    def ratio(self) -> float | None:
        """How many times as much it is now; None of nothing."""
        return mean(self.after) / mean(self.before) if mean(self.before) > 0 else None

    @property
    def spread(self) -> float | None:
        """How far the runs of one version are apart, at most, as a part of their mean."""
        parts = [(max(runs) - min(runs)) / mean(runs) for runs in (self.before, self.after) if mean(runs) > 0]
        return max(parts, default=None)

    @property
    def fails(self) -> bool:
        """Whether it has become more, beyond the spread: no run was as good as the worst one before, and ten percent."""
        if self.family.least is None:
            return False
        low, high = min(self.after), max(self.before)
        return low > high * (1 + MORE) and low - high > self.family.least


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def compare(before: list[dict[str, float]], after: list[dict[str, float]]) -> list[Comparison]:
    """Every figure that all runs of both versions have, by family."""
    runs = before + after
    names = sorted(set.intersection(*(set(run) for run in runs))) if runs else []
    return [
        Comparison(name, family, [run[name] for run in before], [run[name] for run in after])
        for family in FAMILIES
        for name in names
        if re.fullmatch(family.pattern, name)
    ]


def drift(former: dict[str, float], comparisons: list[Comparison]) -> dict[str, float]:
    """How many times as much each figure is as when it was first kept. Nine percent each time pass, and must not be lost."""
    known = {one.name: former.get(one.name, 1.0) * one.ratio for one in comparisons if one.ratio is not None}
    return {**former, **known}


def table(comparisons: list[Comparison], since: dict[str, float]) -> str:
    """As Markdown, a row for each figure."""
    lines = ["| figure | before | now | ratio | spread | since the first | |", "|---|---|---|---|---|---|---|"]
    family = None
    for one in comparisons:
        if one.family != family:
            family = one.family
            judged = "" if family.least is not None else " (not judged)"
            lines.append(f"| **{family.title}**{judged} | | | | | | |")
        digits = family.digits
        told = [f"{mean(runs):.{digits}f}" for runs in (one.before, one.after)]
        ratio = f"{one.ratio:.2f}" if one.ratio is not None else "–"
        spread = f"{100 * one.spread:.0f} %" if one.spread is not None else "–"
        first = f"{since[one.name]:.2f}" if one.name in since else "–"
        lines.append(f"| `{one.name}` | {told[0]} | {told[1]} | {ratio} | {spread} | {first} | {'**more**' if one.fails else ''} |")
    return "\n".join(lines)
