"""D7: exports of trained runs against the runs themselves, into docs/results/export.{json,md}.

python benchmarks/export.py RUN [RUN ...] --to docs/results [--keep DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from regard.checkout import commit

WAYS = [
    ("ctranslate2", "float32"), ("ctranslate2", "float16"), ("ctranslate2", "bfloat16"), ("ctranslate2", "int16"),
    ("ctranslate2", "int8"), ("onnx", "float32"),
]  # fmt: skip
GOAL = "D7: word for word the same on at least 99.5 % of 1 000 sentences, BLEU within 0.1 (float32)"


def exported(run: Path, to: str, numbers: str, keep: Path) -> dict[str, Any]:
    """One export by the command itself; one that is kept already is only read."""
    folder, seconds = keep / f"{run.name}-{to}-{numbers}", None
    command = ["regard", "export", "RUN", "--to", to, "DIR", *([] if to == "onnx" else ["--quantization", numbers])]
    if not (folder / "export.json").is_file():
        began = time.monotonic()
        words = [str(run) if word == "RUN" else str(folder) if word == "DIR" else word for word in command[1:]]
        subprocess.run([sys.executable, "-m", "regard", *words, "--threads", "1"], check=True)
        seconds = round(time.monotonic() - began, 1)
    told = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    size = sum(path.stat().st_size for path in folder.glob("*") if path.suffix in (".bin", ".onnx"))
    more = {"scores apart": told["scores apart"]} if to == "onnx" else {}
    return {"run": run.name, "to": to, "numbers": numbers, "command": " ".join(command), "seconds": seconds,
            "bytes": size, **told["check"], **more}  # fmt: skip


def table(rows: list[dict[str, Any]]) -> list[str]:
    lines = ["| run | engine | numbers | MB | word for word the same | greedy BLEU, regard | greedy BLEU, engine |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        bleu = row["greedy bleu"]
        lines.append(
            f"| {row['run']} | {row['engine']} | {row['numbers']} | {row['bytes'] / 1e6:.1f} | {row['same']:,} of "
            f"{row['sentences']:,} ({100 * row['share']:.1f} %) | {bleu['regard']:.2f} | {bleu['engine']:.2f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--keep", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        keep = given.keep or Path(place)
        rows = [exported(run, to, numbers, keep) for run in given.runs for to, numbers in WAYS]
    exact = [row for row in rows if row["numbers"] == "float32"]
    reached = all(row["share"] >= 0.995 and abs(row["greedy bleu"]["regard"] - row["greedy bleu"]["engine"]) <= 0.1
                  for row in exact)  # fmt: skip
    about = {
        "goal": GOAL, "passed": reached, "commit": commit(),
        "seed": "none is drawn: greedy search of runs trained with seed 1",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, one thread, others at work beside it",
        "python": platform.python_version(), "rows": rows,
    }  # fmt: skip
    (given.to / "export.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    worst = max(row["scores apart"] for row in rows if row["to"] == "onnx")
    text = [
        "# Exports against the models they were made of", "",
        f"{GOAL}: **{'reached' if reached else 'not reached'}**. Test sets of the runs (Multi30k "
        "test_2016_flickr, 1 000 sentences), the likeliest word each time, no beam. "
        "`python benchmarks/export.py RUN ... --to docs/results`, "
        f"commit {about['commit']}.", "", *table(rows), "",
        f"Scores of the ONNX graphs are at most {worst:.1g} of the largest score away from the model's. With float16 "
        "and bfloat16 this CPU keeps the numbers in 16 bits and computes in 32.", "",
    ]  # fmt: skip
    (given.to / "export.md").write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
