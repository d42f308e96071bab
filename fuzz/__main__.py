"""`python -m fuzz reader --seconds 60`: by atheris where it is installed, which follows what is new; else plainly.

What is found is kept as fuzz/found-NAME, and ends the program with an error.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

from fuzz.plain import tries

NAMES = ("reader", "recipe", "manifest", "pieces", "weights", "body", "tags")


def plainly(name: str, seconds: float, seed: int) -> int:
    """Change files at random until the time is over; how many were tried."""
    from fuzz.targets import TARGETS, seeds

    count, kept = 0, Path(__file__).with_name(f"found-{name}")
    for data in tries(seeds(name), seed, seconds=seconds):
        kept.write_bytes(data)  # before, as a crash leaves no time
        TARGETS[name](data)
        count += 1
    kept.unlink()
    return count


def guided(name: str, seconds: float, seed: int) -> None:
    """Let atheris look for inputs that reach code not reached before; it ends the process."""
    import atheris

    with atheris.instrument_imports(include=["regard", "fuzz", "tomllib"]):
        from fuzz.targets import TARGETS, seeds
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(seeds(name)):
            Path(corpus, str(number)).write_bytes(data)
        found = Path(__file__).with_name(f"found-{name}-")
        options = [f"-max_total_time={seconds:.0f}", f"-seed={seed}", "-max_len=100000", "-rss_limit_mb=2048",
                   "-timeout=20", f"-artifact_prefix={found}", "-print_final_stats=1", "-verbosity=1"]  # fmt: skip
        atheris.Setup([sys.argv[0], *options, corpus], TARGETS[name])
        atheris.Fuzz()


def _exit_after(name: str, seconds: float, seed: int) -> NoReturn:
    try:
        print(f"{name}: {plainly(name, seconds, seed):,} files in {seconds:.0f} s, no surprise", flush=True)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main() -> int:
    """One reader after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, choices=[*NAMES, []], metavar="NAME")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without atheris")
    asked = parser.parse_args()
    asked.plain = asked.plain or importlib.util.find_spec("atheris") is None
    for name in asked.names:
        pid = os.fork()
        if pid == 0:
            if not asked.plain:
                guided(name, asked.seconds, asked.seed)
                os._exit(0)
            _exit_after(name, asked.seconds, asked.seed)
        if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            print(f"{name}: ended with {code}; see what is above", flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
