import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from transformers import AutoModelForCausalLM, AutoTokenizer, T5Config, pipeline

from rag_evaluator import Judge, ModelError, RAGEvaluator
from rag_evaluator.config import EmbeddingsConfig, JudgeConfig
from rag_evaluator.judge import find_judge, load_pipeline
from rag_evaluator.models import LocalEmbeddings, find_embeddings

KIND = "llama-bytelevel"
ModelFolder = Callable[..., Path]


@pytest.fixture
def folder(model_folder: ModelFolder, tmp_path: Path) -> Path:
    """A copy of a good model folder, to be spoilt."""
    return Path(shutil.copytree(model_folder(KIND), tmp_path / "model"))


def judge_error(model: Path | str, **settings: Any) -> str:
    with pytest.raises(ModelError) as caught:
        load_pipeline(JudgeConfig(model=str(model), **settings))
    return str(caught.value)


def embeddings_error(model: Path | str, **settings: Any) -> str:
    with pytest.raises(ModelError) as caught:
        LocalEmbeddings.from_config(EmbeddingsConfig(model=str(model), **settings))
    return str(caught.value)


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes), encoding="utf-8")


def test_a_folder_without_config_is_no_model_and_its_contents_are_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    assert judge_error(tmp_path) == (
        f"judge.model: {tmp_path} is not a model folder: it has no config.json. It holds: notes.txt."
    )
    assert embeddings_error(tmp_path) == (
        f"embeddings.model: {tmp_path} is not a model folder: it has no modules.json or config.json. "
        "It holds: notes.txt."
    )


def test_an_empty_folder_is_called_empty(tmp_path: Path) -> None:
    assert judge_error(tmp_path).endswith("it has no config.json. It is empty.")


@pytest.mark.parametrize("model", ["/no/such/folder", "./no-such-folder"])
def test_a_missing_folder_is_told_with_its_key(model: str) -> None:
    ways = "Give a model folder, a hub id, or 'demo', the toy. Where it is on another machine, run this there."
    expected = f"no such folder: {model}. {ways}"
    assert judge_error(model) == f"judge.model: {expected}"
    assert embeddings_error(model) == f"embeddings.model: {expected}"


@pytest.mark.parametrize("model", ["some-org/no-such-model", "a/b/c", "what is this?", "qwen3:8b"])
def test_a_hub_id_that_is_not_in_the_cache_is_an_error_while_offline(model: str) -> None:
    expected = f"'{model}' is no folder here and is not in the Hugging Face cache, and offline: true forbids"
    assert judge_error(model).startswith(f"judge.model: {expected}")
    assert embeddings_error(model).startswith(f"embeddings.model: {expected}")
    assert "engine: server" in judge_error(model)
    assert "engine: server" not in embeddings_error(model)


def test_a_hub_id_stands_for_itself_when_the_network_may_be_used() -> None:
    assert find_judge(JudgeConfig(model="some-org/model"), offline=False).source == "some-org/model"


def test_a_missing_tokenizer_is_told(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert judge_error(folder) == (
        f"judge.model: {folder} has no tokenizer (tokenizer.json). Copy the model's tokenizer files there."
    )


def test_an_encoder_decoder_model_is_refused_before_it_is_loaded(folder: Path) -> None:
    T5Config().save_pretrained(folder)
    assert judge_error(folder) == (
        "judge.model: this is an encoder-decoder model (t5); the judge needs a decoder-only (causal) language model "
        "such as Llama, Qwen or Mistral."
    )


@pytest.mark.parametrize("kind", ["bert", "electra"])
def test_an_encoder_is_refused_before_it_is_loaded(model_folder: ModelFolder, kind: str) -> None:
    folder = model_folder(kind)
    message = judge_error(folder)
    assert message.startswith(f"judge.model: {folder} is an encoder ({kind}, {kind.capitalize()}ForMaskedLM), which ")
    assert "needs a decoder-only (causal) language model" in message


@pytest.mark.parametrize("architectures", [["BertModel"], ["BertForSequenceClassification"], None])
def test_an_encoder_without_a_language_model_is_refused(
    model_folder: ModelFolder, tmp_path: Path, architectures: list[str] | None
) -> None:
    folder = Path(shutil.copytree(model_folder("bert"), tmp_path / "model"))
    edit_config(folder, architectures=architectures)
    assert "is an encoder (bert" in judge_error(folder)


def test_an_encoder_already_loaded_is_refused(model_folder: ModelFolder) -> None:
    with pytest.raises(ModelError, match=r"is an encoder \(bert"):
        Judge(loaded_by_transformers(model_folder("bert")))


def test_a_bert_that_was_trained_as_a_decoder_may_judge(model_folder: ModelFolder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder("bert"), tmp_path / "model"))
    edit_config(folder, is_decoder=True, architectures=["BertLMHeadModel"])
    assert find_judge(JudgeConfig(model=str(folder))).source == str(folder)


ADAPTERS = {"adapter_config.json": "{}", "adapter_model.safetensors": "", "adapter_model.bin": ""}


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_beside_a_model_is_refused_since_nothing_says_whether_it_counts(folder: Path, name: str) -> None:
    (folder / name).write_text(ADAPTERS[name], encoding="utf-8")
    assert judge_error(folder) == (
        f"judge.model: {folder} holds an adapter ({name}) beside a model, and it is not clear whether it counts. Merge "
        "it into the model with peft's merge_and_unload() and save_pretrained(), or move the adapter's files away: the "
        "engines transformers and vllm take the folder of an adapter as judge.adapter."
    )


def test_a_folder_with_an_adapter_alone_says_what_to_do(folder: Path) -> None:
    for path in folder.glob("*"):
        if "tokenizer" not in path.name:
            path.unlink()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "org/base"}', encoding="utf-8")
    assert judge_error(folder) == (
        f"judge.model: {folder} holds an adapter without its model. Set judge.adapter: {folder}, and judge.model: "
        "org/base."
    )


def test_weights_that_could_run_code_are_refused_unless_the_user_trusts_them(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    message = judge_error(folder)
    assert message.startswith(f"judge.model: {folder} has no *.safetensors file. It has pytorch_model.bin. Convert ")
    assert "judge.model_kwargs: {use_safetensors: false}" in message
    trusting = JudgeConfig(model=str(folder), model_kwargs={"use_safetensors": False})
    assert load_pipeline(trusting).pipeline.model.config.model_type == "llama"


def test_a_folder_without_weights_is_told(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert "has no *.safetensors file. It has no weights at all." in judge_error(folder)


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_broken_config_is_told_with_its_path(folder: Path, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode("latin-1"))
    assert judge_error(folder).startswith(f"judge.model: {folder}/config.json ")


@pytest.mark.parametrize("size", [0, 5, 700, 20_000])
def test_a_damaged_weights_file_is_told(folder: Path, size: int) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:size])
    message = judge_error(folder)
    assert message.startswith(f"judge.model: {folder} cannot be loaded: SafetensorError: ")
    assert message.endswith(". Check the model's files and model_kwargs.")


def test_a_damaged_weights_file_of_the_embeddings_is_told(tmp_path: Path) -> None:
    source = Path(find_embeddings(EmbeddingsConfig(), offline=True))
    shutil.copytree(source, tmp_path / "model", ignore=shutil.ignore_patterns("*.safetensors", "*.bin"))
    (tmp_path / "model" / "model.safetensors").write_bytes(b"not weights")
    message = embeddings_error(tmp_path / "model")
    assert message.startswith(f"embeddings.model: {tmp_path}/model cannot be loaded: SafetensorError: ")


@pytest.mark.parametrize("text", ["{", "{}"])
def test_a_damaged_tokenizer_is_told(folder: Path, text: str) -> None:
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    assert judge_error(folder).startswith(f"judge.model: the tokenizer of {folder} cannot be loaded: ")


def test_a_kind_of_model_that_transformers_does_not_know_is_told(folder: Path) -> None:
    edit_config(folder, model_type="brand-new")
    assert "model type `brand-new`" in judge_error(folder)


def test_weights_of_another_shape_are_told(folder: Path) -> None:
    edit_config(folder, hidden_size=64)
    assert judge_error(folder).startswith(f"judge.model: {folder} cannot be loaded: RuntimeError: ")


def test_arguments_that_a_model_does_not_know_are_told(folder: Path) -> None:
    assert "unexpected keyword argument 'nonsense'" in judge_error(folder, model_kwargs={"nonsense": 1})
    assert "unexpected keyword argument 'nonsense'" in embeddings_error("demo", model_kwargs={"nonsense": 1})
    assert "['nonsense']" in embeddings_error("demo", encode_kwargs={"nonsense": 1})


def test_a_model_that_loads_but_cannot_embed_is_no_embedding_model(folder: Path) -> None:
    message = embeddings_error(folder)  # a language model without a pad token
    assert message.startswith(f"embeddings.model: {folder} cannot be loaded: ValueError: Asking to pad")


def test_bad_folders_are_told_before_any_model_is_loaded(folder: Path, tmp_path: Path) -> None:
    (folder / "tokenizer.json").unlink()
    rows = [{"user_input": "q", "response": "r"}]
    judge = RAGEvaluator({"metrics": ["answer_relevancy"], "judge": {"model": str(folder)}})
    with pytest.raises(ModelError, match="has no tokenizer"):
        judge.check(rows)
    embeddings = RAGEvaluator({"metrics": ["answer_relevancy"], "embeddings": {"model": str(tmp_path)}})
    with pytest.raises(ModelError, match=r"embeddings\.model"):
        embeddings.check(rows)


def test_a_model_that_no_metric_needs_may_be_missing() -> None:
    config = {"metrics": ["exact_match"], "judge": {"model": "./none"}, "embeddings": {"model": "./none"}}
    results = RAGEvaluator(config).evaluate([{"response": "a", "reference": "a"}])
    assert results.summary()["exact_match"]["mean"] == 1.0


ROW = {"user_input": "Where was Nolu Brak born?", "retrieved_contexts": ["In Tesk."], "response": "In Tesk."}
SETTINGS = {"metrics": ["context_relevance"], "judge": {"max_new_tokens": 32}}


def loaded_by_transformers(folder: Path) -> Any:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    return pipeline("text-generation", model=model, tokenizer=tokenizer)


@pytest.mark.parametrize(
    "load",
    [lambda folder: load_pipeline(JudgeConfig(model=str(folder))), loaded_by_transformers],
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


def test_something_that_is_no_model_cannot_be_handed_in() -> None:
    with pytest.raises(ModelError, match=r"judge: expected a model folder.* received int"):
        RAGEvaluator(SETTINGS, judge=3)
    with pytest.raises(ModelError, match=r"embeddings: expected a folder.* received int"):
        RAGEvaluator(SETTINGS, embeddings=3)


def test_models_can_be_handed_in_by_folder(model_folder: ModelFolder) -> None:
    folder = model_folder(KIND)
    given = RAGEvaluator({"metrics": SETTINGS["metrics"]}, judge=folder, embeddings="somewhere")
    assert (given.config.judge.model, given.config.embeddings.model) == (str(folder), "somewhere")
    configured = RAGEvaluator({"metrics": SETTINGS["metrics"], "judge": {"model": str(folder)}})
    assert given.signatures() == configured.signatures()
    with pytest.raises(ModelError, match="nowhere"):
        RAGEvaluator(SETTINGS, judge="nowhere/at/all").signatures()


class CountingEmbeddings(Embeddings):
    """The vector of a text is its length and its number of vowels; every text embedded is noted."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(list(texts))
        return [[float(len(text)), float(sum(letter in "aeiou" for letter in text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("questions and answers are embedded alike")


def test_each_distinct_text_is_embedded_once_and_vectors_keep_the_order_of_the_texts() -> None:
    model = CountingEmbeddings()
    embeddings = LocalEmbeddings(model)
    assert embeddings.embed_texts(["bee", "a", "bee", "xyz"]) == [[3, 2], [1, 1], [3, 2], [3, 0]]
    assert embeddings.embed_texts(["xyz", "new", "a"]) == [[3, 0], [3, 1], [1, 1]]
    assert embeddings.embed_text("bee") == [3, 2]
    assert embeddings.embed_texts([]) == []
    assert model.calls == [["bee", "a", "xyz"], ["new"]]


def test_within_a_run_each_distinct_text_is_embedded_once() -> None:
    model = CountingEmbeddings()
    pairs = [("one", "two"), ("one", "three"), ("two", "one"), ("one", "two")]
    rows = [{"response": response, "reference": reference} for response, reference in pairs]
    results = RAGEvaluator({"metrics": ["semantic_similarity"]}, embeddings=model).evaluate(rows)
    assert sorted(text for call in model.calls for text in call) == ["one", "three", "two"]
    similarity = 11 / math.sqrt(13 * 10)  # of (3, 2) for one and (3, 1) for two: 3*3 + 2*1 = 11
    values = results.to_pandas()["semantic_similarity"].tolist()
    assert values == pytest.approx([similarity, (15 + 4) / math.sqrt(13 * 29), similarity, similarity])


def test_a_row_without_a_column_is_nan_with_the_reason_and_the_others_are_scored() -> None:
    rows = [
        {"response": "one", "reference": "one"},
        {"response": "one"},
        {"response": "", "reference": ""},
        {"response": "two", "reference": "two"},
    ]
    results = RAGEvaluator({"metrics": ["semantic_similarity"]}, embeddings=CountingEmbeddings()).evaluate(rows)
    scores = results.scores["semantic_similarity"]
    assert [score.reason for score in scores] == [
        None,
        "no reference in this row",
        "no response and no reference in this row",
        None,
    ]
    assert [score.missing for score in scores] == [False, True, True, False]
    assert results.summary()["semantic_similarity"]["mean"] == pytest.approx(1.0)


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


def test_a_checkpoint_that_lacks_weights_is_refused(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert "lacks 1 of the model's weights (lm_head.weight); it would judge at random" in judge_error(folder)
