# Everything starts here: `make run` needs python3 (3.11 or newer) and nothing else.
PYTHON ?= python3
BIN := .venv/bin
# Not compiled: that is half the time of an installation, and Python compiles what is imported.
INSTALL = $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
# Two stamps: the program with its demo, and with all that tests and documentation need.
RUN := .venv/.setup-run
SETUP := .venv/.setup-done
# The test files that have a mark: others need not be read.
MARKED = $(sort $(shell grep -rlw --include='test_*.py' 'mark.$(1)' tests))

.PHONY: run setup docs test test-docs test-processes test-models test-package test-features test-browser test-vllm real-models test-real test-real-quick test-slow test-slurm test-slurm-quick check fix bench prompts containers clean

run: $(RUN) ## score the bundled sample with the demo judge
	$(BIN)/python main.py config.yaml

setup: $(SETUP) ## make .venv with the tested versions

define ENVIRONMENT
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 1; }
$(PYTHON) -m venv .venv
$(BIN)/python -m pip uninstall -qq --yes rag-evaluator # the distribution's name until it became ragas-offline
rm -rf rag_evaluator.egg-info
endef

$(RUN): pyproject.toml constraints.txt
	$(ENVIRONMENT)
	$(INSTALL) -e '.[demo,charts]'
	@touch $@

$(SETUP): pyproject.toml constraints.txt
	$(ENVIRONMENT)
	$(INSTALL) -e '.[all,dev,docs]'
	@touch $(RUN) $@

test: setup ## the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not slurm and not browser and not vllm and not docs and not processes and not models and not features and not real"

test-processes: setup ## the tests that start, stop and kill whole runs
	$(BIN)/python -m pytest $(call MARKED,processes) -n 2 --dist loadfile -m "processes and not slow and not slurm and not vllm"

test-models: setup ## answers of tiny models of many architectures, in all batches, thinking, and behind servers
	$(BIN)/python -m pytest $(call MARKED,models) -n 2 --dist worksteal -m "models and not slow"

docs: setup ## the documentation as a site, in site/; a page with a fault is an error
	$(BIN)/python -m tools.docs

test-docs: setup ## every command of README and docs, every example of --help, the notebook and the site
	$(BIN)/python -m pytest tests/docs tests/test_notebook.py -m docs -n 2 --dist loadgroup

test-features: setup ## the program without each feature alone
	$(BIN)/python -m pytest tests/features/test_without_features.py -m features -n 2

test-package: setup ## the package: built, installed in a fresh environment, used in another folder
	$(BIN)/python -m pytest tests/test_package.py

test-browser: setup ## report and app in a real Chromium, installed from Debian if allowed
	tests/browser/install.sh
	$(BIN)/python -m pytest tests/browser -m browser -n 2 --dist loadfile

real-models: setup ## fetch real models, MODELS="qwen-0.5b qwen-1.5b" by name, into a cache: RAG_EVALUATOR_MODELS, else ~/.cache/rag_evaluator/models
	$(BIN)/python -m tools.real_models $(MODELS)

test-real: MODELS = smollm2 gemma3-270m qwen-0.5b
test-real: setup real-models ## evaluate, check, sort and generate with models that people trained
	$(BIN)/python -m pytest tests/real -m real -n 2 --dist loadfile -rs

test-real-quick: setup real-models ## of these what takes a minute
	$(BIN)/python -m pytest tests/real -m "real and not slow" -rs

test-slow: setup ## the measurements that take minutes
	$(BIN)/python -m pytest -m "slow and not slurm and not browser and not vllm and not docs and not real"

test-vllm: ## the tests with a real vLLM on the CPU: VLLM_PYTHON has it, with pytest and containers/constraints-vllm.txt
	$(VLLM_PYTHON) -m pytest tests/judge/engine/vllm -m vllm

test-slurm: setup ## the tests on a real Slurm, installed from Debian if allowed; needs root
	tests/slurm/install.sh
	$(BIN)/python -m pytest tests/slurm -m slurm

test-slurm-quick: setup ## of these an array, a kill and a requeue
	tests/slurm/install.sh
	$(BIN)/python -m pytest tests/slurm -m "slurm and not lost_node and not slow"

check: setup ## lint, types, layers, declared dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tools.packed
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .

fix: setup ## format and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## measure; writes benchmarks/results.md
	$(BIN)/python -m benchmarks

prompts: setup ## write ragas' English prompts to orig_prompts/
	$(BIN)/python main.py prompts export

containers: setup ## images of a bundle, and the sample in them, with the programs that are here: docker, podman, buildah, apptainer
	test -d build/bundle || $(BIN)/python main.py bundle --out build/bundle --torch cpu
	sh containers/build.sh build/bundle

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
