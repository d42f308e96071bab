"""S1 to S16 at full size: `python -m tests.serve.full --to docs/results --run RUN --text FILE`.

Without a run, the toy of the tests is served. `--only S1 S7` runs these and keeps what is known of the others;
`--quick` is a look whether it works at all.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

from tests.reliability.report import Row, circumstances, commit
from tests.serve.odd import s3, s4, s6, s11, s12, s14
from tests.serve.served import Bench, row, tested
from tests.serve.under_load import s1, s2, s5, s7, s8, s9
from tests.translate.toys import RUN, WORDS

CHECKS: dict[str, Callable[[Bench], Row]] = {
    "S1": s1, "S2": s2, "S3": s3, "S4": s4, "S5": s5, "S6": s6, "S7": s7, "S8": s8, "S9": s9, "S11": s11, "S12": s12,
    "S10": tested("S10", "keys: hashed, rates, addresses", "each of 401, 403, 429", "tests/serve/test_keys.py"),
    "S13": tested("S13", "control words in a text", "0 special ids", "tests/serve/test_own.py", "-k", "control"),
    "S14": s14,
    "S15": tested("S15", "the page in a browser", "100/100 escaped, 0 requests out", "tests/show/test_browser.py"),
    "S16": tested("S16", "logs and metrics", "no word of a request in a log", "tests/serve/test_logs.py"),
}  # fmt: skip


def write(to: Path, rows: list[Row]) -> None:
    """Into serving.json and serving.md; rows that were there stay, unless there are newer ones."""
    to.mkdir(parents=True, exist_ok=True)
    file = to / "serving.json"
    before = json.loads(file.read_text(encoding="utf-8"))["checks"] if file.is_file() else []
    found = {one["id"]: one for one in [*before, *rows]}
    kept = sorted(found.values(), key=lambda one: int(one["id"][1:]))
    about = circumstances()
    file.write_text(json.dumps({**about, "checks": kept}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = [
        "# Serving, measured", "",
        f"`python -m tests.serve.full`; {about['cores']} cores, {about['processor']}, torch {about['torch']}; "
        "server, workers and clients share them. Each promise is explained in [serving.md](../serving.md).", "",
        "| id | what | goal | reached | passed | seconds |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in kept:
        cells = (
            one["id"],
            one["what"],
            one["goal"],
            one["reached"],
            "yes" if one["passed"] else "**no**",
            one["seconds"],
        )
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    (to / "serving.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.serve.full", description=__doc__)
    asked.add_argument("--to", type=Path, help="folder for serving.json and serving.md")
    asked.add_argument("--run", type=Path, default=RUN)
    asked.add_argument("--text", type=Path, help="texts to ask for, a line each")
    asked.add_argument("--workers", type=int, default=1)
    asked.add_argument("--only", nargs="+", choices=list(CHECKS), default=list(CHECKS))
    asked.add_argument("--quick", action="store_true")
    given = asked.parse_args()
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 20))) for _ in range(300)]
    if given.text is not None:
        texts = given.text.read_text(encoding="utf-8").split("\n")[:1000]
        texts = [text for text in texts if text.strip()]
    bench, bad = Bench(given.run, texts, given.workers, given.quick), 0
    for name in given.only:
        try:
            found = CHECKS[name](bench)
        except Exception as error:
            found = row(name, "the check itself", "is carried out", f"{type(error).__name__}: {error}", False, 0.0)
        found |= {"run": given.run.name, "commit": commit()}
        print(f"{name}: {found['what']}: {found['reached']} {'passed' if found['passed'] else 'FAILED'}", flush=True)
        bad += not found["passed"]
        if given.to is not None and not given.quick:
            write(given.to, [found])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
