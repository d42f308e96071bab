"""D1 as people would check it: the files that `regard translate` writes, byte for byte, whoever was in the batch.

`python -m tests.reliability.company RUN TEXT [RUN TEXT ...] --to docs/results` translates each text with its run:
in the order it has, then shuffled, by batches of about 1, 7 and 64 sentences and of 4 096 tokens.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.reliability.report import Row, commit, row, write

PIECES = 16  # of a sentence, about
BATCHES = {"1": 1, "7": 7 * PIECES, "64": 64 * PIECES, "4 096 tokens": 4096}


def translated(run: Path, lines: list[str], tokens: int, threads: int) -> list[tuple[str, str]]:
    """What the command writes for each line: the text, and its score."""
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores"
        command = [sys.executable, "-m", "regard", "translate", str(run), "--batch-tokens", str(tokens)]
        command += ["--scores", str(scores), "--threads", str(threads)]
        said = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
        return list(zip(said.stdout.split("\n")[:-1], scores.read_text().split("\n")[:-1], strict=True))


def check(run: Path, text: Path) -> Row:
    """One run: every batch size, each in an order of its own, against the text as it stands."""
    began, lines = time.monotonic(), text.read_text(encoding="utf-8").split("\n")[:-1]
    whole, wrong = translated(run, lines, 4096, 2), list[str | None]()
    for number, (size, tokens) in enumerate(BATCHES.items()):
        for threads in (1, 2):
            order = random.Random(number).sample(range(len(lines)), len(lines))
            again = translated(run, [lines[n] for n in order], tokens, threads)
            others = sum(found != whole[n] for n, found in zip(order, again, strict=True))
            wrong += [f"batches of {size}, {threads} threads: {others} lines differ" if others else None]
            print(f"{run.name}, {size}, {threads} threads: {others} differ", file=sys.stderr, flush=True)
    what = f"{run.name}: {len(lines):,} lines as files, batches of {', '.join(BATCHES)}, shuffled, 1 and 2 threads"
    return row("D1 files", what, "texts and scores the same to the last byte", wrong, began)


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.reliability.company", description=__doc__)
    asked.add_argument("runs", nargs="+", type=Path, metavar="RUN TEXT")
    asked.add_argument("--to", type=Path)
    given = asked.parse_args()
    rows = [check(run, text) for run, text in zip(given.runs[::2], given.runs[1::2], strict=True)]
    about = {"command": "python -m tests.reliability.company RUN TEXT ...", "commit": commit()}
    for one in rows:
        print(f"{one['what']}: {one['reached']}", *one["wrong"], sep="\n  ")
    if given.to is not None:
        write(given.to, [{**one, **about} for one in rows])
    return 0 if all(one["passed"] for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
