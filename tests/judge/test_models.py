import json
import math
import re
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from aliases import ModelFolder
from langchain_core.embeddings import Embeddings
from transformers import AutoModelForCausalLM, AutoTokenizer, T5Config, pipeline

from rag_evaluator import ConfigError, Judge, ModelError, RAGEvaluator
from rag_evaluator.config import EmbeddingsConfig, JudgeConfig
from rag_evaluator.embeddings import LocalEmbeddings
from rag_evaluator.judge import find_judge
from tools.random_models import Architecture, save_model

KIND = "llama-bytelevel"


@pytest.fixture
def folder(model_folder: ModelFolder, tmp_path: Path) -> Path:
    """A copy of a good model folder, to be spoilt."""
    return Path(shutil.copytree(model_folder(KIND), tmp_path / "model"))


def judge_error(model: Path | str, **settings: Any) -> str:
    with pytest.raises(ModelError) as caught:
        Judge.from_config(JudgeConfig(model=str(model), **settings))
    return str(caught.value)


def embeddings_error(model: Path | str, **settings: Any) -> str:
    with pytest.raises(ModelError) as caught:
        LocalEmbeddings.from_config(EmbeddingsConfig(model=str(model), **settings))
    return str(caught.value)


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), "utf-8")


def test_a_folder_without_config_is_no_model_and_its_contents_are_listed(tmp_path: Path) -> None:
    assert judge_error(tmp_path).endswith("it has no config.json. It is empty.")
    (tmp_path / "notes.txt").write_text("x", "utf-8")
    told = f"model: {tmp_path} is not a model folder: it has no "
    assert judge_error(tmp_path) == f"judge.{told}config.json. It holds: notes.txt."
    assert embeddings_error(tmp_path) == f"embeddings.{told}modules.json or config.json. It holds: notes.txt."


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("/no/such/folder", "no such folder: "),
        ("./no-such-folder", "no such folder: "),
        ("some-org/no-such-model", "'"),
        ("a/b/c", "'"),
        ("what is this?", "'"),
        ("qwen3:8b", "'"),
    ],
)
def test_what_is_neither_a_folder_nor_in_the_cache_is_named_with_its_key(model: str, told: str) -> None:
    assert judge_error(model).startswith(f"judge.model: {told}{model}")
    assert embeddings_error(model).startswith(f"embeddings.model: {told}{model}")
    assert ("engine: server" in judge_error(model)) == (told == "'")


def test_a_hub_id_stays_as_it_is_when_the_network_may_be_used() -> None:
    assert find_judge(JudgeConfig(model="some-org/model"), offline=False).source == "some-org/model"


ADAPTERS = {"adapter_config.json": "{}", "adapter_model.safetensors": "", "adapter_model.bin": ""}


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_beside_a_model_is_refused_since_nothing_says_whether_it_counts(folder: Path, name: str) -> None:
    (folder / name).write_text(ADAPTERS[name], "utf-8")
    assert judge_error(folder).startswith(f"judge.model: {folder} holds an adapter ({name}).")


def test_weights_that_could_run_code_are_refused_unless_the_user_trusts_them(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    message = judge_error(folder)
    assert message.startswith(f"judge.model: {folder} has no *.safetensors file. It has pytorch_model.bin. Convert ")
    assert "judge.model_kwargs: {use_safetensors: false}" in message
    trusting = JudgeConfig(model=str(folder), model_kwargs={"use_safetensors": False})
    assert Judge.from_config(trusting).inner.engine.model.config.model_type == "llama"


def without(*patterns: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        for path in [path for pattern in patterns for path in folder.glob(pattern)]:
            path.unlink()

    return spoil


def cut_at(size: int) -> Callable[[Path], Any]:
    return lambda folder: (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:size])


def written(name: str, text: bytes) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_bytes(text)


def without_a_head(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def adapter_alone(folder: Path) -> None:
    without("config.json", "*.safetensors")(folder)
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "org/base"}', "utf-8")


FAULTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no tokenizer": (without("tokenizer*"), "has no tokenizer"),
    "no weights": (without("*.safetensors"), r"has no \*\.safetensors file\. It has no weights at all"),
    "an encoder-decoder model": (lambda folder: T5Config().save_pretrained(folder), r"encoder-decoder model \(t5\)"),
    "a vision-text model that encodes and decodes": (
        lambda folder: edit_config(folder, model_type="florence2", text_config={"is_encoder_decoder": True}),
        r"encoder-decoder model \(florence2\)",
    ),
    "no JSON": (written("config.json", b"{"), r"config\.json "),
    "no text": (written("config.json", b"\xff"), r"config\.json "),
    "half of the weights": (cut_at(20_000), r"model\.safetensors is damaged or not complete\. Download it again"),
    "no whole tokenizer": (written("tokenizer.json", b"{"), "the tokenizer of .* cannot be loaded"),
    "an unknown kind": (lambda folder: edit_config(folder, model_type="brand-new"), "model type `brand-new`"),
    "another shape": (lambda folder: edit_config(folder, hidden_size=64), "cannot be loaded: RuntimeError"),
    "a head that is missing": (without_a_head, r"lacks 1 of the model's weights \(lm_head\.weight\)"),
    "an adapter alone": (adapter_alone, r"Set judge\.adapter to this folder, and judge\.model to org/base"),
}


@pytest.mark.parametrize(("spoil", "told"), FAULTS.values(), ids=FAULTS)
def test_a_spoilt_folder_is_refused_with_its_key_and_what_is_wrong(
    folder: Path, spoil: Callable[[Path], Any], told: str
) -> None:
    spoil(folder)
    message = judge_error(folder)
    assert message.startswith("judge.model: ") and re.search(told, message), message


BERT = Architecture("Bert", head="ForMaskedLM")


@pytest.mark.parametrize("architecture", ["BertForMaskedLM", "BertForPreTraining"])
def test_an_encoder_is_refused_unless_it_was_trained_as_a_decoder(tmp_path: Path, architecture: str) -> None:
    folder = save_model(BERT, tmp_path / "model")
    edit_config(folder, architectures=[architecture])
    assert "is an encoder (bert" in judge_error(folder)
    with pytest.raises(ModelError, match=r"is an encoder \(bert"):
        Judge(loaded_by_transformers(folder))
    edit_config(folder, is_decoder=True, architectures=["BertLMHeadModel"])
    assert find_judge(JudgeConfig(model=str(folder))).source == str(folder)


def test_the_weights_of_an_embedding_model_are_no_judge(tmp_path: Path) -> None:
    from transformers import AutoModel

    folder = save_model(BERT, tmp_path / "model")
    AutoModel.from_pretrained(folder).save_pretrained(folder)
    assert "of the model's weights" in judge_error(folder)


@pytest.mark.parametrize(("name", "hint"), [("transformer", "Did you mean 'transformers'"), ("tgi", "not an engine")])
def test_an_unknown_engine_is_refused_before_anything_is_loaded(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=rf"judge\.engine is '{name}', .*{hint}"):
        RAGEvaluator({"metrics": ["context_relevance"], "judge": {"engine": name}}).signatures()


def test_arguments_that_a_model_does_not_know_are_reported(folder: Path) -> None:
    assert "unexpected keyword argument 'nonsense'" in judge_error(folder, model_kwargs={"nonsense": 1})
    assert "unexpected keyword argument 'nonsense'" in embeddings_error("demo", model_kwargs={"nonsense": 1})
    assert "['nonsense']" in embeddings_error("demo", encode_kwargs={"nonsense": 1})


def test_a_model_that_loads_but_cannot_embed_is_no_embedding_model(folder: Path) -> None:
    message = embeddings_error(folder)  # a language model without a pad token
    assert message.startswith(f"embeddings.model: {folder} cannot be loaded: ValueError: Asking to pad")
    cut_at(20)(folder)
    assert embeddings_error(folder).startswith(f"embeddings.model: {folder} cannot be loaded: SafetensorError: ")


def test_bad_folders_are_reported_before_any_model_is_loaded(folder: Path, tmp_path: Path) -> None:
    (folder / "tokenizer.json").unlink()
    rows = [{"user_input": "q", "response": "r"}]
    judge = RAGEvaluator({"metrics": ["answer_relevancy"], "judge": {"model": str(folder)}})
    with pytest.raises(ModelError, match="has no tokenizer"):
        judge.check(rows)
    embeddings = RAGEvaluator({"metrics": ["answer_relevancy"], "embeddings": {"model": str(tmp_path)}})
    with pytest.raises(ModelError, match=r"embeddings\.model"):
        embeddings.check(rows)


@pytest.mark.parametrize(
    ("places", "refused"),
    [
        ({"": "cpu"}, False),
        ({"": 0}, False),
        ({"a": 0, "b": 1}, False),
        ({"a": "cuda:0", "b": "cpu"}, True),
        ({"a": 0, "b": "disk"}, True),
    ],
)
def test_only_weights_that_are_copied_at_every_step_are_refused(
    places: dict[str, Any], refused: bool, model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = AutoModelForCausalLM.from_pretrained

    def spread(*arguments: Any, **named: Any) -> Any:
        model, report = load(*arguments, **named)
        model.hf_device_map = places
        return model, report

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", spread)
    with pytest.raises(ModelError, match="1 of its 2 parts") if refused else nullcontext():
        Judge.from_config(JudgeConfig(model=str(model_folder(KIND))))


def test_a_model_that_no_metric_needs_may_be_missing() -> None:
    config = {"metrics": ["exact_match"], "judge": {"model": "./none"}, "embeddings": {"model": "./none"}}
    results = RAGEvaluator(config).evaluate([{"response": "a", "reference": "a"}])
    assert results.summary()["exact_match"]["mean"] == 1.0


ROW = {"user_input": "Where was Nolu Brak born?", "retrieved_contexts": ["In Tesk."], "response": "In Tesk."}
SETTINGS = {"metrics": ["context_relevance"], "judge": {"max_new_tokens": 32}}


def loaded_by_transformers(folder: Path) -> Any:
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return pipeline("text-generation", model=model, tokenizer=tokenizer)


@pytest.mark.parametrize(
    "load",
    [lambda folder: Judge.from_config(JudgeConfig(model=str(folder))).pipeline, loaded_by_transformers],
    ids=["langchain", "hf"],
)
def test_a_pipeline_already_loaded_scores_as_one_that_is_configured(
    model_folder: ModelFolder, load: Callable[[Path], Any]
) -> None:
    folder = model_folder(KIND)
    handed_in = RAGEvaluator(SETTINGS, judge=load(folder)).evaluate([ROW])
    configured = RAGEvaluator({**SETTINGS, "judge": {"max_new_tokens": 32, "model": str(folder)}}).evaluate([ROW])
    assert handed_in.summary()["context_relevance"]["coverage"] == 1.0
    assert list(handed_in.details()) == list(configured.details())


@pytest.mark.parametrize("name", ["judge", "embeddings"])
def test_something_that_is_no_model_cannot_be_handed_in(name: str) -> None:
    with pytest.raises(ModelError, match=rf"{name}: expected a .*folder.* received int"):
        RAGEvaluator(SETTINGS, **{name: 3})


def test_models_can_be_handed_in_by_folder(model_folder: ModelFolder) -> None:
    folder = model_folder(KIND)
    given = RAGEvaluator({"metrics": SETTINGS["metrics"]}, judge=folder, embeddings="somewhere")
    assert (given.config.judge.model, given.config.embeddings.model) == (str(folder), "somewhere")
    configured = RAGEvaluator({"metrics": SETTINGS["metrics"], "judge": {"model": str(folder)}})
    assert given.signatures() == configured.signatures()


class CountingEmbeddings(Embeddings):
    """The vector of a text is its length and its number of vowels; every text embedded is noted."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(list(texts))
        return [[float(len(text)), float(sum(letter in "aeiou" for letter in text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("questions and answers are embedded alike")


def test_within_a_run_each_distinct_text_is_embedded_once() -> None:
    model = CountingEmbeddings()
    pairs = [("one", "two"), ("one", "three"), ("two", "one"), ("one", "two")]
    rows = [{"response": response, "reference": reference} for response, reference in pairs]
    results = RAGEvaluator({"metrics": ["semantic_similarity"]}, embeddings=model).evaluate(rows)
    assert sorted(text for call in model.calls for text in call) == ["one", "three", "two"]
    similarity = 11 / math.sqrt(13 * 10)  # of (3, 2) for one and (3, 1) for two: 3*3 + 2*1 = 11
    values = results.to_pandas()["semantic_similarity"].tolist()
    assert values == pytest.approx([similarity, (15 + 4) / math.sqrt(13 * 29), similarity, similarity])


def test_an_embedding_that_fails_costs_only_its_own_score() -> None:
    class Fragile(CountingEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if "bad" in texts:
                raise RuntimeError("out of paper")
            return super().embed_documents(texts)

    rows = [{"response": text, "reference": "good"} for text in ("good", "bad", "goad")]
    results = RAGEvaluator({"metrics": ["semantic_similarity"]}, embeddings=Fragile()).evaluate(rows)
    assert [score.reason for score in results.scores["semantic_similarity"]] == [None, "out of paper", None]


def test_the_demo_embeddings_know_what_is_similar() -> None:
    embeddings = LocalEmbeddings.from_config(EmbeddingsConfig())
    cat, kitten, tax = embeddings.embed_texts(["The cat sleeps.", "A kitten is sleeping.", "Taxes are due in May."])
    assert len(cat) == 384
    assert math.hypot(*cat) == pytest.approx(1.0, abs=1e-5)
    assert sum(map(float.__mul__, cat, kitten)) > 0.6 > 0.2 > sum(map(float.__mul__, cat, tax))


def test_a_vector_has_the_same_bits_in_any_company() -> None:
    texts = [f"{word} was born in {place}." for word in ("Anna", "Otto", "Tom") for place in ("Tesk", "Rome", "Bern")]
    vectors = [LocalEmbeddings.from_config(EmbeddingsConfig()).embed_texts(texts[:size])[0] for size in (1, 2, 3, 5, 9)]
    assert all(vector == vectors[0] for vector in vectors)


def test_a_folder_of_static_embeddings_has_no_config_and_works(tmp_path: Path) -> None:
    import tiny_models
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    static = StaticEmbedding(tiny_models.byte_level(["<s>"]), embedding_dim=8)
    SentenceTransformer(modules=[static]).save(str(tmp_path))
    assert not (tmp_path / "config.json").exists()
    embeddings = LocalEmbeddings.from_config(EmbeddingsConfig(model=str(tmp_path)))
    assert len(embeddings.embed_text("Nolu Brak")) == 8
