# Every target sets up what it needs in .venv: nothing but Python 3.11+, make and git has to be there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
RUN    := env -u PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: $(shell grep -oE '^[a-z-]+:' Makefile | tr -d ':')

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(STAMP)  ## Install memdir and its tools into .venv

# uv is used when it happens to be there; plain venv and pip do the same everywhere else. pip itself is brought up to date first: an
# old one writes a start script that loads more than a hook may (docs/adr/0003-cold-start.md).
$(STAMP): pyproject.toml constraints.txt src/memdir/version.py
	@if command -v uv >/dev/null 2>&1; then \
	  { [ -x $(BIN)/python ] || uv venv -q --python $(PYTHON) $(VENV); } && \
	  uv pip install -q --python $(BIN)/python -c constraints.txt -e '.[dev]'; \
	else \
	  { [ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV); } && \
	  $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --upgrade pip && \
	  $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'; \
	fi
	@touch $(STAMP)

try: $(STAMP)  ## Walk through the main job in a temporary home
	@$(RUN) $(BIN)/python examples/walkthrough.py

test: $(STAMP)  ## Install and run the default tests
	$(RUN) $(BIN)/python -m pytest -q --dist worksteal -n $$(($$(nproc 2>/dev/null || echo 1) + 1))  # many wait for other processes

collect: $(STAMP)  # read the tests once and keep them compiled: those who run them side by side would each do so
	@told=$$($(RUN) $(BIN)/python -m pytest -q --collect-only 2>&1) || { echo "$$told" | tail -n 40; exit 1; }

test-slow: $(STAMP)  ## What the default tests leave out for its time: further providers, agents, sizes (minutes)
	$(RUN) $(BIN)/python -m pytest -q -n auto --timeout 600 -m slow --slow

check: fmt-check lint types imports docs-check  ## Format, lint, types, import direction, docs

fmt-check: $(STAMP)
	$(BIN)/ruff format --check .

fmt: $(STAMP)  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports

docs: $(STAMP)  ## Write the generated reference pages
	$(BIN)/python -m docs.generate

docs-check: $(STAMP)
	$(BIN)/python -m docs.generate --check

measure: $(STAMP)  ## How large the house is, beside what it was and what it may be
	@$(RUN) $(BIN)/python -m benchmarks.house

test-pythons: $(STAMP)  ## The wheel, and a short part of the tests, on every Python that we promise and that is here
	@.ci/pythons

test-faults: $(STAMP)  ## Kill and fail every mutating system call, damage every file (minutes; needs strace)
	$(RUN) RACE_ROUNDS=500 $(BIN)/python -m pytest -q -n auto --timeout 1800 tests/faults tests/dream/test_dream_lock.py tests/agent/bash/test_doors.py --faults=all --slow

test-chat-soak: $(STAMP)  ## A chat of 500 turns that stays flat, one that is killed at every moment of a turn, the story in 40 s (minutes)
	$(RUN) CHAT_SOAK_TURNS=500 CHAT_KILL_STEP=1 $(BIN)/python -m pytest -q -s -n 0 --timeout 1800 --slow tests/chat/test_soak.py tests/chat/test_resume.py

test-hub-scale: $(STAMP)  ## Two hubs, a pooler, a primary killed in mid-load, a replica promoted (needs postgresql, pgbouncer)
	$(RUN) HUB_SCALE=1 $(BIN)/python -m pytest -q -rs -s -n 0 tests/hub/test_scale.py

CLIENTS := .clients/.installed

# Where they cannot be had, the tests are skipped and this says why. node comes with them: some need 22 or newer.
$(CLIENTS): tests/clients/package.json
	@mkdir -p .clients && rm -f $(CLIENTS) && cp tests/clients/package.json .clients/
	@if ! command -v npm >/dev/null; then echo "There is no npm here, so the real clients cannot be installed."; \
	elif npm install --loglevel=error --no-fund --no-audit --prefix .clients; then touch $(CLIENTS); \
	else echo "npm could not install the real clients (see above), so they are not tried."; fi

test-clients: $(STAMP) $(CLIENTS)  ## Install the five real coding agents below .clients and try memdir with them (minutes; needs npm)
	$(RUN) TEST_CLIENTS=1 $(BIN)/python -m pytest -q -rs -n 2 --timeout 600 tests/model/test_real_clients.py tests/clients

CONFORMANCE := .conformance/.installed

$(CONFORMANCE): tests/conformance/package.json
	@mkdir -p .conformance && rm -f $(CONFORMANCE) && cp tests/conformance/package.json .conformance/
	@if ! command -v npm >/dev/null; then echo "There is no npm here, so the conformance tests cannot be installed."; \
	elif npm install --loglevel=error --no-fund --no-audit --prefix .conformance; then touch $(CONFORMANCE); \
	else echo "npm could not install the conformance tests (see above), so they are not run."; fi

test-conformance: $(STAMP) $(CONFORMANCE)  ## Run the protocol's own tests against `memdir mcp --http` (needs npm)
	$(RUN) TEST_CONFORMANCE=1 $(BIN)/python -m pytest -q -rs tests/conformance

test-share: $(STAMP)  ## Random teams over folders, git and hubs, with cuts and kills; a link swapped for a minute (minutes)
	$(RUN) SHARE_TESTS=all $(BIN)/python -m pytest -q -n auto --timeout 3000 tests/share

coverage: $(STAMP)  ## Branch coverage of src
	$(BIN)/python -m pytest -q -n auto --cov --cov-report=term-missing:skip-covered

bench-scan: $(STAMP)  ## Scan and rescan beside the floor
	@$(RUN) $(BIN)/python -m benchmarks.scan

bench-cli: $(STAMP)  ## Cold starts beside the floor
	@$(RUN) $(BIN)/python -m benchmarks.cli

bench-history: $(STAMP)  ## One commit from a cold process
	@$(RUN) $(BIN)/python -m benchmarks.history

bench-recall: $(STAMP)  ## Recall beside SQLite FTS5 and a bare product
	@$(RUN) $(BIN)/python -m benchmarks.recall

bench-extract: $(STAMP)  ## A turn's end beside a no-op, and the built-in extraction's CPU time
	@$(RUN) $(BIN)/python -m benchmarks.extract

bench-dream: $(STAMP)  ## The built-in dream beside a scan, and how it grows
	@$(RUN) $(BIN)/python -m benchmarks.dream

bench-cache: $(STAMP)  ## What a fork reads from its parent's prompt cache, beside a naive side request
	@$(RUN) $(BIN)/python -m benchmarks.cache

bench-hook: $(STAMP)  ## What the hooks of a coding agent cost beside an empty process
	@$(RUN) $(BIN)/python -m benchmarks.hook

bench-sessions: $(STAMP)  ## Append, resume and list transcripts beside the floor
	@$(RUN) $(BIN)/python -m benchmarks.sessions

bench-hub: $(STAMP)  ## CPU time of the hub for a request beside a bare ASGI answer, and of the secret scan
	@$(RUN) $(BIN)/python -m benchmarks.hub

hub-scale: $(STAMP)  ## What a number of teams would need, from what bench-hub measured
	@$(BIN)/python -m benchmarks.hub_scale

bench-chat: $(STAMP)  ## From exec until a typed character is echoed, beside a bare prompt
	@$(RUN) $(BIN)/python -m benchmarks.chat

bench-sync: $(STAMP)  ## A sync of 1,000 memories when nothing has changed: requests, processes, time
	@$(RUN) $(BIN)/python -m benchmarks.sync

bench: bench-scan bench-cli bench-history bench-recall bench-extract bench-dream bench-cache bench-hook bench-sessions bench-sync bench-chat bench-hub  ## All benchmarks

train: $(STAMP)  ## Rebuild what the built-in model learned from evals/data (minutes)
	@$(RUN) $(BIN)/python -m evals.train_extract
	@$(RUN) $(BIN)/python -m evals.train_pairs
	@$(RUN) $(BIN)/python -m evals.train_recall.needs --write
	@$(RUN) $(BIN)/python -m evals.train_recall.calibrate --encoder words --write
	@$(RUN) $(BIN)/python -m evals.train_recall.calibrate --encoder pair --write

eval: $(STAMP)  ## The built-in model on our own data, one table: dev beside the folds that nobody read (minutes)
	@$(RUN) $(BIN)/python -m evals.table

DATA ?= ../shared/evals
data:
	@test -d $(DATA) || { echo "There is no folder $(DATA). Say where the labelled data is: make eval-… DATA=FOLDER"; exit 1; }

eval-recall: $(STAMP) data  ## Recall and public retrieval sets below DATA, one table
	@$(BIN)/python -m evals.recall_table --data $(DATA)

eval-stores: $(STAMP)  ## Recall over small stores, those that were read beside the unread, one table
	@$(BIN)/python -m evals.stores

eval-sessions: $(STAMP)  ## Generated conversations, resumed at every step; damaged transcripts (minutes)
	@$(BIN)/python -m evals.resume
	@$(BIN)/python -m evals.damage

eval-extract: $(STAMP) data  ## The built-in extraction over the corpus below DATA, scored
	@mkdir -p results
	@$(BIN)/python -m evals.extract --data $(DATA)/extract/extract_dev.jsonl --predictions results/extract.jsonl
	@$(BIN)/python $(DATA)/extract/score_extract.py $(DATA)/extract/extract_dev.jsonl results/extract.jsonl

eval-left-out: $(STAMP)  ## Extraction on each dev author by a judge trained without him: what rules are decided on (minutes)
	@$(RUN) $(BIN)/python -m evals.left_out

eval-poison: $(STAMP)  ## Conversations with planted text and honest ones: what is poisoned, what is refused
	@$(BIN)/python -m evals.poison

eval-clumsy: $(STAMP)  ## 160 mistakes that models make, in every job they can occur in: what is mended, answered, lost
	@$(BIN)/python -m evals.clumsy

eval-nights: $(STAMP)  ## 365 nights of the built-in dream on a growing store: nothing lost, with a plot
	@$(BIN)/python -m evals.nights --out results

eval-dream: $(STAMP) data  ## The built-in dream over the cases below DATA, scored
	@mkdir -p results/dream
	@$(BIN)/python -m evals.dream --data $(DATA)/dream/dev --out results/dream/dev
	@$(BIN)/python $(DATA)/dream/score_dream.py all results/dream --group dev

eval-pairs: $(STAMP)  ## Pairs of notes, the read ones beside the unread: same merged, replaced corrected or asked, different touched
	@$(BIN)/python -m evals.pairs

clean:  ## Remove what the targets made
	rm -rf $(VENV) .clients .conformance build dist results .pytest_cache .mypy_cache .ruff_cache .hypothesis
