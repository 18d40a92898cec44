# make test: every check but the tests that take long.  make test-long: those tests.  CI runs both.
# make demo: the main job.  make site: the documentation.  make pictures: its pictures.
# All set up .venv first, once; make demo only with what it needs.
PYTHON ?= python3
BIN := .venv/bin
OUT ?= unseen-demo

.PHONY: test test-long lint types tests gpu-tests demo site pictures clean

test: .venv/ready
	@$(MAKE) --no-print-directory --jobs 2 lint types tests
	@$(MAKE) --no-print-directory gpu-tests

lint:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types:
	$(BIN)/mypy

# The files of tests that are marked early start first, so that no core is left alone with one of them.
PARALLEL := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

tests:
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest $(PARALLEL)

# The tests marked long_suite, and those of Hypothesis with ten times as many examples.
test-long: .venv/ready
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --long-suite $(PARALLEL)

# GPUs are hidden from the other tests. One process, because some of these measure the memory of a GPU.
gpu-tests:
	@if $(BIN)/python -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; \
	then PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --gpu; \
	else echo "No GPU here: the tests that need one were skipped."; fi

demo: .venv/demo-ready
	PYTHONDONTWRITEBYTECODE= $(BIN)/unseen demo --out $(OUT)

site: .venv/ready
	$(BIN)/python scripts/build_site.py build/site

# Pictures of docs/, and the demo's figures in its text, from what the code gives now; needs Chromium.
pictures: .venv/ready
	$(BIN)/python scripts/build_pictures.py

# The demo compiles the modules that it imports, which are few of all that are installed.
define install
@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
	|| { echo "unseen needs Python 3.11 to 3.14; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
$(PYTHON) -m venv .venv
$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[$(1)]'
endef

.venv/demo-ready: pyproject.toml constraints.txt
	$(call install,torch)
	touch $@

.venv/ready: pyproject.toml constraints.txt
	$(call install,dev)
	$(BIN)/python -m compileall -qq -j 0 .venv/lib || true  # some packages have files for other versions of Python
	touch .venv/demo-ready $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
