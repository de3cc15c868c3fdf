# make reproduce   figure 1 and the main rows of table 2, on the embedded corpus
# make test        everything that must hold before a change lands
# make backbones   the models of workflow/backbones, pre-trained anew (scale mini-backbones)
# CPU build of PyTorch by default; `make setup TORCH=cuda` takes the one with CUDA.
PYTHON ?= python3.11
TORCH ?= cpu
TORCH_VERSION := 2.13.0
SCALE ?= mini
CORES ?= all
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export HF_HUB_DISABLE_TELEMETRY := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: setup reproduce backbones test clean

setup: $(VENV)/ready

$(VENV)/ready: envs/requirements.lock pyproject.toml Makefile
	@command -v $(PYTHON) >/dev/null || { echo "needs Python 3.11; say where with make PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	envs/install-torch $(BIN)/python $(TORCH) $(TORCH_VERSION)
	$(BIN)/python -m pip install --quiet --requirement envs/requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

reproduce: setup
	snakemake --cores $(CORES) --config scale=$(SCALE) "experiments=[figure1,table2]" rows=main
	lexigraft summary

backbones: setup
	snakemake --cores $(CORES) --config scale=mini-backbones -- backbones

test: setup
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check Snakefile workflow/rules
	snakemake --lint
	pytest --numprocesses auto --maxprocesses 8 --dist loadfile

clean:
	[ ! -d results ] || find results -mindepth 1 -maxdepth 1 ! -name reference -exec rm -rf {} +
	rm -rf .snakemake .mypy_cache .ruff_cache .pytest_cache .hypothesis
