"""A year of nights as one SVG: three small charts one above the other, drawn by hand, no library needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, TOP, GAP = 760, 120, 70, 34, 46
CHARTS = (
    ("memories", "memories in the store", "#2f6f4f"),
    ("index_lines", "lines of the index", "#7a4fa3"),
    ("cpu_ms", "CPU time of the night, ms", "#b3541e"),
)


def draw(mornings: Sequence[Mapping[str, Any]]) -> str:
    """The charts of all nights."""
    parts = [_chart(number, mornings, *chart) for number, chart in enumerate(CHARTS)]
    total = TOP + len(CHARTS) * (HEIGHT + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEFT + 20} {total}" '
        'font-family="system-ui, sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{"".join(parts)}</svg>\n'
    )


def _chart(number: int, mornings: Sequence[Mapping[str, Any]], name: str, title: str, colour: str) -> str:
    top = TOP + number * (HEIGHT + GAP)
    values = [float(morning[name]) for morning in mornings]
    highest = max(values, default=1.0) or 1.0
    step = WIDTH / max(1, len(values) - 1)
    points = " ".join(
        f"{LEFT + at * step:.1f},{top + HEIGHT * (1 - value / highest):.1f}" for at, value in enumerate(values)
    )
    return (
        f'<text x="{LEFT}" y="{top - 8}" fill="#333">{escape(title)}, night 1 to {len(values)}</text>\n'
        f'<line x1="{LEFT}" y1="{top + HEIGHT}" x2="{LEFT + WIDTH}" y2="{top + HEIGHT}" stroke="#999"/>\n'
        f'<text x="{LEFT - 8}" y="{top + 8}" text-anchor="end" fill="#666">{highest:,.0f}</text>\n'
        f'<text x="{LEFT - 8}" y="{top + HEIGHT}" text-anchor="end" fill="#666">0</text>\n'
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>\n'
    )
