# Two commands do everything on a fresh machine: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEV := $(VENV)/.ready-dev
BENCH := $(VENV)/.ready-bench

.PHONY: help setup demo gallery test lint types check docs pages browser bench-attend bench-train bench-decode bench-serve bench-export reliability fuzz audit clean

help:
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(DEV): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(BENCH): $(DEV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

setup: $(DEV)  ## make .venv with all that development needs

demo: $(DEV)  ## train a translator of dates, translate three, and draw what it looks at
	$(BIN)/regard demo --run runs/dates

gallery: $(DEV)  ## the worked example, and the catalogue drawn as pictures
	$(BIN)/regard gallery --to gallery

browser:  ## a browser for the tests of the page, where one can be installed; without it they are skipped
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
		|| (apt-get update -q && apt-get install -y -q chromium chromium-driver) >/dev/null 2>&1 \
		|| echo "no chromium here, and it cannot be installed: the tests of the page are skipped"

test: $(DEV) browser  ## all tests, then those of the heart once more with every shape checked
	$(BIN)/python -m pytest
	$(BIN)/python -m pytest -m 'not unchecked' --jaxtyping-packages=regard.attend,tests.check tests/attend tests/laws

lint: $(DEV)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)  ## mypy, strict
	$(BIN)/mypy

check: lint types test  ## what a commit must pass

docs: $(DEV)  ## make docs/mechanisms.md and its pictures from the catalogue
	$(BIN)/python -m regard.show.catalogue docs

pages: $(DEV)  ## the worked examples as pages, into docs/pages/
	$(BIN)/python -m regard.show.pages docs/pages

bench-attend: $(BENCH)  ## ratios against bare SDPA and peers, into docs/results/
	$(BIN)/python benchmarks/attend.py --to docs/results

bench-train: $(BENCH)  ## training speed against peers in their own environments, into docs/results/
	$(BIN)/python benchmarks/train.py --to docs/results

bench-decode: $(BENCH)  ## decoding speed against peers in their own environments, into docs/results/
	$(BIN)/python benchmarks/decode.py --to docs/results

bench-serve: $(BENCH)  ## requests a second against one text at a time and a plain loop, into docs/results/
	$(BIN)/python benchmarks/serve.py --to docs/results

bench-export: $(BENCH)  ## exports of RUNS="runs/a runs/b" against the runs themselves, into docs/results/
	$(BIN)/python benchmarks/export.py $(RUNS) --to docs/results

reliability: $(DEV)  ## the promises of docs/reliability.md at full size (an hour), into docs/results/
	$(BIN)/python -m tests.reliability --to docs/results

fuzz: $(DEV)  ## changed files for each reader of strangers' files, a minute each; by atheris where it is installed
	$(BIN)/python -m fuzz --seconds 60

audit: $(DEV)  ## known weaknesses of what is depended on; needs the network, for the list of them
	$(BIN)/python -m tests.reliability --only audit

clean:  ## remove what the other targets made
	rm -rf $(VENV) runs/dates gallery build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
