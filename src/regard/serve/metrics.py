"""What a server counts, in Prometheus's text form. No text of anybody is in it, nor any name that a client chose."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from regard.serve.crew import Answered

TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64)


class Histogram:
    """How many values were at most so large."""

    def __init__(self, edges: Sequence[float]) -> None:
        self.edges, self.counts = edges, [0] * (len(edges) + 1)
        self.sum, self.count = 0.0, 0

    def add(self, value: float) -> None:
        """One more."""
        self.counts[bisect_left(self.edges, value)] += 1
        self.sum += value
        self.count += 1

    def lines(self, name: str) -> Iterator[str]:
        """As Prometheus has them: each edge counts all below it."""
        total = 0
        for edge, count in zip((*map(str, self.edges), "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{edge}"}} {total}'
        yield f"{name}_sum {self.sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """All counts of one server."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds = Histogram(_SECONDS)
        self.refused: Counter[str] = Counter()
        self.open = self.lost = self.texts = self.source_pieces = self.pieces = 0
        self.batches, self.decoding = Histogram(_TEXTS), Histogram(_SECONDS)
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        """Name, what it is, and how to ask for it."""

    def answered(self, path: str, status: int, seconds: float) -> None:
        """A request is over."""
        self.requests[path, status] += 1
        self.seconds.add(seconds)

    def decoded(self, texts: int, seconds: float, answers: Sequence[Answered]) -> None:
        """A batch is."""
        self.batches.add(texts)
        self.decoding.add(seconds)
        self.texts += texts
        for answer in answers:
            self.source_pieces += answer.pieces[0]
            self.pieces += answer.pieces[1]

    def told(self) -> str:
        """Everything."""
        return "\n".join((*self._lines(), ""))

    def _lines(self) -> Iterator[str]:
        yield from _head("regard_requests_total", "counter", "Requests answered, by path and status.")
        for (path, status), count in sorted(self.requests.items()):
            yield f'regard_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _head("regard_refused_total", "counter", "Requests refused, by reason.")
        for reason, count in sorted(self.refused.items()):
            yield f'regard_refused_total{{reason="{reason}"}} {count}'
        totals: Mapping[str, tuple[str, int]] = {
            "regard_texts_total": ("Texts decoded.", self.texts),
            "regard_source_tokens_total": ("Pieces read.", self.source_pieces),
            "regard_target_tokens_total": ("Pieces said.", self.pieces),
            "regard_workers_lost_total": ("Workers that died and were replaced.", self.lost),
        }
        for name, (what, value) in totals.items():
            yield from _head(name, "counter", what)
            yield f"{name} {value}"
        for name, (what, ask) in self.gauges.items():
            yield from _head(name, "gauge", what)
            yield f"{name} {ask():g}"
        for name, what, histogram in (
            ("regard_request_seconds", "From arrival to answer.", self.seconds),
            ("regard_batch_seconds", "Decoding of a batch.", self.decoding),
            ("regard_batch_texts", "Texts decoded together.", self.batches),
        ):
            yield from _head(name, "histogram", what)
            yield from histogram.lines(name)


def _head(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"


def resident(pids: Sequence[int | str] = ("self",)) -> float:
    """Bytes of memory that these processes hold; 0 where the system does not tell."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue
        total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
    return float(total)
