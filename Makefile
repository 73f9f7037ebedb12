# All a fresh clone needs is Python and pip:
#
#   make nightly   every case, behind the allowlist gate, with its report
#   make test      every case and the harness's own tests
#   make models    whole models through torch.compile, tiny and full sizes
#   make thorough  the harness's own tests, on ten times the examples
#   make lint      ruff and pyright
#
# PYTHON picks the interpreter (3.10 to 3.13), VENV the folder of the virtual environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)

# Tests run side by side; each one's libraries must not start a thread for every core.
export OMP_NUM_THREADS ?= 1

.PHONY: test models thorough nightly lint venv clean
.DELETE_ON_ERROR:

test: venv
	$(BIN)/python -m pytest -n auto
	$(BIN)/python -m pytest -n auto tests/models

models: venv
	$(BIN)/python -m pytest -n auto models

thorough: venv
	$(BIN)/python -m pytest tests tests/models -n auto --hypothesis-profile=thorough

nightly: venv
	$(BIN)/harness nightly

lint: $(VENV)/.lint-installed
	$(BIN)/ruff check
	$(BIN)/pyright --pythonpath $(BIN)/python

venv: $(VENV)/.installed

# The CPU build of torch is a tenth of the default one, and all this project needs.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) 'torch==$(TORCH)+cpu' 2>/dev/null \
		|| echo 'pip finds no CPU build of torch $(TORCH): installing the default one'
	$(PIP_INSTALL) --editable '.[test]'
	touch $@

$(VENV)/.lint-installed: $(VENV)/.installed
	$(PIP_INSTALL) --editable '.[test,lint]'
	touch $@

clean:
	rm -rf $(VENV) .harness
