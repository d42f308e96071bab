"""A bar chart as SVG, for pages: BLEU by length, one bar for each system."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from regard.evaluate.score import Bucket

WIDTH, HEIGHT = 920, 240
LEFT, TOP, BOTTOM = 34, 18, 46
FEW = 10  # lines of which BLEU says little


def length_chart(systems: Sequence[Sequence[Bucket]], unit: str) -> str:
    """Ranges of length from left to right; colours are those of the page's classes c0 to c3."""
    first = systems[0]
    tallest = max((bucket.bleu for some in systems for bucket in some), default=0.0)
    top = next(step for step in (10, 20, 40, 60, 80, 100) if step >= min(100, tallest))
    down = HEIGHT - TOP - BOTTOM
    across = (WIDTH - LEFT) / max(1, len(first))
    bar = min(64.0, 0.72 * across / len(systems))
    parts = [_rules(top, down)]
    for place, bucket in enumerate(first):
        middle = LEFT + (place + 0.5) * across
        for number, some in enumerate(systems):
            high = down * min(some[place].bleu, top) / top
            x = middle + (number - len(systems) / 2) * bar
            y = TOP + down - high
            kind = f"c{number % 4}" + " few" * (bucket.lines < FEW)
            size = f'width="{bar - 2:.1f}" height="{high:.1f}" rx="2"'
            parts.append(f'<rect class="{kind}" x="{x + 1:.1f}" y="{y:.1f}" {size}/>')
            if bar >= 26:
                parts.append(_text(x + bar / 2, y - 4, f"{some[place].bleu:.1f}", "value"))
        parts += [_text(middle, HEIGHT - 27, bucket.label), _text(middle, HEIGHT - 11, f"({bucket.lines:,})")]
    told = "; ".join(f"{b.label} {unit}: BLEU {b.bleu:.1f}" for b in first)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="BLEU by length: {escape(told)}">{"".join(parts)}</svg>'
    )


def _rules(top: int, down: float) -> str:
    found = []
    for share in (0.0, 0.5, 1.0):
        y = TOP + down * (1 - share)
        found.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        found.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share * top:.0f}</text>')
    return "".join(found)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(text)}</text>'
