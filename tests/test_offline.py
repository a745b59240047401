"""Switches of the libraries last as long as our own calls: what a program set before is as it was afterwards."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from rag_evaluator import ModelError, RAGEvaluator
from rag_evaluator.config import hub

ROOT = Path(__file__).parent.parent
SWITCHES = (
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "HF_DATASETS_OFFLINE",
    "HF_HUB_DISABLE_TELEMETRY",
    "DO_NOT_TRACK",
    "LANGSMITH_TRACING",
    "LANGCHAIN_TRACING_V2",
    "TOKENIZERS_PARALLELISM",
    "RAGAS_DO_NOT_TRACK",
)
TALK = ("TRANSFORMERS_VERBOSITY", "TQDM_DISABLE", "HF_HUB_DISABLE_PROGRESS_BARS")


def program(code: str, **environment: str) -> Any:
    """What a program of its own prints, as JSON; without any of our switches but those given."""
    kept = {name: value for name, value in os.environ.items() if name not in (*SWITCHES, *TALK)}
    command = [sys.executable, "-c", f"import json, os, sys\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**kept, **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


CHANGED = """
before = dict(os.environ)
import rag_evaluator
def changed():
    return {name: value for name, value in os.environ.items() if before.get(name) != value}
"""


EVALUATE = """
imported = changed()
import socket
from huggingface_hub import constants
from langchain_huggingface import HuggingFaceEmbeddings
import langsmith
from rag_evaluator import RAGEvaluator, sort

from transformers import AutoModelForCausalLM

facts = {"imported": imported, "connections": [], "traces": 0, "while loading": [], "after": []}
connect = socket.socket.connect

def watched(self, address):
    facts["connections"].append(repr(address))
    return connect(self, address)

def state():
    import datasets.config
    return [constants.HF_HUB_OFFLINE, constants.HF_HUB_DISABLE_TELEMETRY, datasets.config.HF_HUB_OFFLINE]

def noted(function):
    def loading(*arguments, **options):
        facts["while loading"].append([constants.HF_HUB_OFFLINE, constants.HF_HUB_DISABLE_TELEMETRY])
        return function(*arguments, **options)
    return loading

def traced(*arguments, **options):
    facts["traces"] += 1

socket.socket.connect = watched
langsmith.Client.create_run = langsmith.Client.update_run = langsmith.Client.multipart_ingest = traced
AutoModelForCausalLM.from_pretrained = noted(AutoModelForCausalLM.from_pretrained)
HuggingFaceEmbeddings.__init__ = noted(HuggingFaceEmbeddings.__init__)
before = dict(os.environ)
row = {"user_input": "Where?", "retrieved_contexts": ["In Tesk."], "response": "Tesk.", "reference": "In Tesk."}
for offline in (True, False):
    metrics = ["context_relevance", "semantic_similarity"]
    evaluator = RAGEvaluator({"metrics": metrics, "offline": offline, "judge": {"max_new_tokens": 32}})
    evaluator.evaluate([row])
    facts["after"].append(state())
facts["environment"] = changed()
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def evaluated() -> Any:
    tracing = {"LANGSMITH_TRACING": "true", "LANGCHAIN_TRACING_V2": "true", "LANGSMITH_API_KEY": "none"}
    return program(
        f"{CHANGED}import rag_evaluator.evaluator, rag_evaluator.sort{EVALUATE}",
        **tracing,
        HF_HUB_OFFLINE="0",
        TOKENIZERS_PARALLELISM="true",
    )


def test_importing_the_package_sets_nothing_but_the_switch_of_ragas(evaluated: Any) -> None:
    assert program(f"{CHANGED}print(json.dumps(changed()))") == {"RAGAS_DO_NOT_TRACK": "true"}
    assert evaluated["imported"] == {"RAGAS_DO_NOT_TRACK": "true"}


@pytest.mark.processes
def test_offline_holds_while_models_are_loaded_and_ends_with_it(evaluated: Any) -> None:
    assert evaluated["while loading"] == [[True, True], [True, True], [False, True], [False, True]]
    assert evaluated["after"] == [[False, False, False]] * 2
    assert not set(evaluated["environment"]) & set(SWITCHES)


def test_nothing_is_traced_and_no_connection_opened_although_the_user_traces_his_own_chains(evaluated: Any) -> None:
    assert evaluated["traces"] == 0
    assert evaluated["connections"] == []


DATASETS_LATER = """
from rag_evaluator.config.offline import hub
with hub(offline=True):
    import datasets.config
print(json.dumps([datasets.config.HF_HUB_OFFLINE, datasets.config.HF_DATASETS_OFFLINE]))
"""


@pytest.mark.parametrize(
    ("environment", "offline"), [({}, False), ({"HF_HUB_OFFLINE": "1"}, True), ({"HF_DATASETS_OFFLINE": "1"}, True)]
)
def test_a_library_first_imported_meanwhile_keeps_the_users_switch(
    environment: Mapping[str, str], offline: bool
) -> None:
    assert program(DATASETS_LATER, **environment) == [offline, offline]


@pytest.mark.parametrize("users", [False, True])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_calls_at_the_same_time_the_last_one_gives_the_switches_back(
    users: bool, order: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", users)
    calls = [ExitStack(), ExitStack()]
    calls[0].enter_context(hub(offline=True))
    calls[1].enter_context(hub(offline=False))
    assert constants.HF_HUB_OFFLINE
    calls[order[0]].close()
    assert (users or order[0] == 1) == constants.HF_HUB_OFFLINE
    calls[order[1]].close()
    assert users == constants.HF_HUB_OFFLINE
    with pytest.raises(OSError, match="broken"), hub(offline=True):
        raise OSError("broken")
    assert users == constants.HF_HUB_OFFLINE


def test_an_object_that_asks_another_machine_is_refused_while_the_run_is_offline() -> None:
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from openai import OpenAI
    from ragas.llms import llm_factory

    config = {"metrics": ["semantic_similarity"]}
    services = [ChatOpenAI(model="m", api_key="k"), llm_factory("m", client=OpenAI(api_key="k"))]
    for judge in services:
        with pytest.raises(ModelError, match=r"judge: .* asks api\.openai\.com, which is not this machine"):
            RAGEvaluator(config, judge=judge)
    with pytest.raises(ModelError, match=r"embeddings: OpenAIEmbeddings asks api\.openai\.com"):
        RAGEvaluator(config, embeddings=OpenAIEmbeddings(api_key="k"))
    assert RAGEvaluator({**config, "offline": False}, judge=services[0]).config.offline is False
    here = ChatOpenAI(model="m", api_key="k", base_url="http://127.0.0.1:8000/v1")
    assert RAGEvaluator(config, judge=here).config.offline is True
