# Five verbs: demo, test (all), check (no JVM, nothing slow), bench, dist; lint and run (plain, oracle, live, starts, spark, browser) are parts of test, lint and quick of check;
# golden makes the recorded outputs anew; soak runs the random judges with new seeds for as long as SOAK says.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest -q
# of each part of `make test`, for `python -m tests.verified`
REPORT = --junitxml=.pytest_cache/reports/$@.xml

# where no byte code may be written, each process of a test run compiles every test anew
unexport PYTHONDONTWRITEBYTECODE
# sets have the same order in each run; `make soak` gives them others
export PYTHONHASHSEED := 0

# real brokers: clusters with clients, and starts, which have a process of their own without a client
LIVE := tests/live
STARTS := tests/starts/test_real_brokers.py
# the test files that name a mark: a part of a few need not import all
marked = $(sort $(shell grep -rl --include='test_*.py' 'pytest.mark.$(1)' tests))

.PHONY: demo test run plain oracle live starts spark browser check quick collect lint bench soak dist golden clean

SOAK ?= 30m

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kcli needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --no-compile --disable-pip-version-check -c constraints.txt --config-settings editable_mode=compat -e '.[connect,dev]'
	@# an installed kcli has pyspark_kcli, which Spark looks for, beside its other packages; an editable one needs a link
	ln -sfn $(CURDIR)/kcli/views/pyspark_kcli $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/
	$(BIN)/python -m compileall -q formats kcli commands
	@touch $@

demo: $(READY)
	@$(BIN)/kcli demo
	@$(BIN)/kcli demo --spark

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: $(READY)
	$(MAKE) --no-print-directory -j 2 lint quick

quick: $(READY)
	$(PYTEST) -n 2 --capture=sys -p no:logging -m 'not oracle and not spark and not browser and not slow' --hypothesis-profile=quick

test: $(READY)
	$(MAKE) --no-print-directory -j 2 lint run

run: $(READY)
	$(MAKE) --no-print-directory collect
	$(BIN)/python -m tests.tools
	@# all at once on two cores: Spark and the running brokers mostly wait
	$(MAKE) --no-print-directory -j 6 plain oracle live starts spark browser

collect: $(READY)
	@# compiles every test once, for all that run afterwards, which show what is wrong with one
	@$(PYTEST) --collect-only > /dev/null || true

plain: $(READY)
	$(PYTEST) $(REPORT) -n 3 -m 'not oracle and not spark and not browser' --durations=15

oracle: $(READY)
	$(PYTEST) $(REPORT) -m 'oracle and not spark' $(filter-out $(LIVE)/% $(STARTS),$(call marked,oracle)) --durations=5

live: $(READY)
	@# a busy machine loses requests; a difference from Kafka comes twice
	$(PYTEST) $(REPORT) -m oracle $(LIVE) -p rerunfailures --reruns 1 --durations=5

starts: $(READY)
	@# a start mostly waits
	$(PYTEST) $(REPORT) -n 2 -m oracle $(STARTS) -p rerunfailures --reruns 1 --durations=5

spark: $(READY)
	$(PYTEST) $(REPORT) -m spark $(call marked,spark) --durations=5

browser: $(READY)
	@# images of Debian have none; it comes while the others run
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq -o Acquire::Retries=3 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Acquire::Retries=3 --no-install-recommends chromium > /dev/null; } || true
	$(PYTEST) $(REPORT) -m browser $(call marked,browser)

soak: $(READY)
	$(BIN)/python -m tests.soak $(SOAK)

bench: $(READY)
	$(BIN)/python -m tests.bench $(BENCH)

dist: $(READY)
	@# `.venv/bin/python -m tests.packaging.trial dist` says with which Pythons, and where, the files run
	$(BIN)/python -m tests.packaging dist

golden: $(READY)
	$(BIN)/python -m tests.recordings.golden
	$(BIN)/python -m tests.pictures
	$(BIN)/python -m tests.verified

clean:
	rm -rf $(VENV) tests/oracle/target tests/recordings/target .mypy_cache .ruff_cache .pytest_cache .hypothesis
