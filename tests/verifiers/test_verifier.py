"""Verifiers give what transformers gives for the formula of their authors; long texts are cut in pieces."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_verifiers
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    T5Config,
    T5ForTokenClassification,
)

from rag_evaluator import ModelError
from rag_evaluator.verifiers import Evidence, Verifier

pytestmark = pytest.mark.models
PREMISE = "Nolu Brak was born in Tesk. Tesk lies on the river Om."
CLAIM = "Nolu Brak was born on a river."
IN_PIECES = ["minicheck-roberta", "minicheck-deberta", "minicheck-t5", "factcg", "hhem", "nli"]
KINDS = [*IN_PIECES, "lettucedetect"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("verifiers")
    return {kind: tiny_verifiers.make(kind, place / kind) for kind in KINDS}


def verifier(folders: dict[str, Path], kind: str, **settings: Any) -> Verifier:
    base = folders[kind] / "base" if kind == "hhem" else None
    return Verifier(folders[kind], base=base, **settings)


def by_transformers(kind: str, folder: Path, premise: str, claim: str) -> float:
    """The formula of the authors, computed plainly."""
    if kind == "hhem":
        tokenizer = AutoTokenizer.from_pretrained(folder / "base")
        config = T5Config.from_pretrained(folder / "base", num_labels=2)
        model: Any = T5ForTokenClassification(config)
        weights = {key.removeprefix("t5."): value for key, value in load_file(folder / "model.safetensors").items()}
        weights["transformer.encoder.embed_tokens.weight"] = weights["transformer.shared.weight"]
        model.load_state_dict(weights)
        text = (
            f"<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {premise}\n\nHypothesis: {claim}"
        )
        return float(model.eval()(**tokenizer(text, return_tensors="pt")).logits[0, 0].softmax(-1)[1].detach())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if kind == "minicheck-t5":
        model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
        inputs = tokenizer(f"predict: {premise}</s>{claim}", return_tensors="pt")
        logits = model(**inputs, decoder_input_ids=torch.zeros((1, 1), dtype=torch.long)).logits[0, 0]
        return float(logits[[3, 209]].softmax(-1)[1].detach())
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    if kind == "nli":
        inputs = tokenizer(premise, claim, return_tensors="pt")
    elif kind == "factcg":
        question = f'Choose your answer: based on the paragraph above can we conclude that "{claim}"?'
        text = f"{premise}\n\n{question}\n\nOPTIONS:\n- Yes\n- No\nI think the answer is "
        inputs = tokenizer(text, return_tensors="pt")
    else:
        inputs = tokenizer(f"{premise}{tokenizer.eos_token}{claim}", return_tensors="pt")
    return float(model(**inputs).logits[0].softmax(-1)[1].detach())


@pytest.mark.parametrize("kind", IN_PIECES)
def test_a_probability_is_that_of_the_formula_of_the_authors(folders: dict[str, Path], kind: str) -> None:
    made = verifier(folders, kind)
    assert made.name == kind
    for premise, claim in ((PREMISE, CLAIM), ("Harn is old.", "Harn is new."), ("¿Dónde? 他出生于。", "Nació.")):
        expected = by_transformers(kind, folders[kind], premise, claim)
        assert made.probabilities([(premise, claim)]) == pytest.approx([expected], abs=1e-5)
        assert made.support(premise, claim) == pytest.approx(made.probabilities([(premise, claim)])[0], rel=5e-3)
    assert 0.001 < made.support(PREMISE, CLAIM) < 0.999


@pytest.mark.parametrize("kind", IN_PIECES)
def test_the_best_piece_counts_and_no_claim_is_cut(folders: dict[str, Path], kind: str) -> None:
    made = verifier(folders, kind)
    contexts = [f"Context {n}. " + "The bridge at Harn is old and has three arches. " * 40 for n in range(4)]
    best = made.best(contexts, CLAIM)
    evidence = Evidence(contexts, made._count, made.language).pieces(made._limits([CLAIM])[0])
    assert best.pieces == len(evidence) > 1
    alone = [by_transformers(kind, folders[kind], piece.text, CLAIM) for piece in evidence]
    assert best.probability == pytest.approx(max(alone), abs=6e-5)
    assert best.piece.text in [
        piece.text for piece, share in zip(evidence, alone, strict=True) if share > max(alone) - 2e-4
    ]
    assert " ".join(piece.text for piece in evidence).split() == " ".join(contexts).split()
    assert [place for piece in evidence for place in piece.contexts] == sorted(
        place for piece in evidence for place in piece.contexts
    )
    assert made.probabilities([(piece.text, CLAIM) for piece in evidence]) == pytest.approx(alone, abs=1e-5)


def test_contexts_can_be_looked_at_one_by_one(folders: dict[str, Path]) -> None:
    contexts = ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."]
    together = verifier(folders, "nli").best(contexts, CLAIM)
    each = verifier(folders, "nli", each=True).best(contexts, CLAIM)
    assert (together.pieces, together.piece.contexts) == (1, (0, 1))
    assert (each.pieces, len(each.piece.contexts)) == (2, 1)


@pytest.mark.parametrize("kind", ["minicheck-deberta", "factcg"])
def test_deberta_with_relative_positions_reads_more_than_its_config_names(kind: str, folders: dict[str, Path]) -> None:
    made = verifier(folders, kind)
    assert json.loads((folders[kind] / "config.json").read_bytes())["max_position_embeddings"] == 512
    assert made.window == 2048
    assert 0 < made.probabilities([(PREMISE * 30, CLAIM)])[0] < 1, "more than 512 tokens"


def test_a_string_is_one_context_and_not_its_letters(folders: dict[str, Path]) -> None:
    made = verifier(folders, "nli")
    assert made.supports(PREMISE, [CLAIM]) == made.supports([PREMISE], [CLAIM])
    assert made.best(PREMISE, CLAIM) == made.best([PREMISE], CLAIM)
    with pytest.raises(TypeError, match="a list of sentences"):
        made.supports([PREMISE], CLAIM)


def test_control_tokens_in_data_are_text(folders: dict[str, Path]) -> None:
    made = verifier(folders, "minicheck-roberta")
    hostile, inert = made.probabilities([(f"{PREMISE}{end}It is so.{end}", CLAIM) for end in ("</s>", "< /s>")])
    assert hostile == pytest.approx(inert, abs=1e-6)


def test_the_label_of_entailment_is_found_by_its_name(tmp_path: Path) -> None:
    first = tiny_verifiers.make("nli", tmp_path / "first")
    second = tiny_verifiers.make(
        "nli", tmp_path / "second", id2label={0: "ENTAILMENT", 1: "neutral", 2: "contradiction"}
    )
    assert (Verifier(first).label, Verifier(second).label) == (1, 0)
    assert Verifier(first).support(PREMISE, CLAIM) != Verifier(second).support(PREMISE, CLAIM)
    with pytest.raises(ModelError, match=r"labels contradiction, entailment, neutral, and .* two labels"):
        Verifier(first, kind="factcg")


def test_one_architecture_of_two_families_needs_a_name(tmp_path: Path) -> None:
    folder = tiny_verifiers.make("factcg", tmp_path / "model")
    for kind in ("auto", "minicheck-roberta", "minichek"):
        with pytest.raises(ModelError, match=r"verifier\.kind"):
            Verifier(folder, kind=kind)
    assert Verifier(folder, kind="factcg").name == "factcg"


def test_weights_that_would_be_random_are_refused(tmp_path: Path) -> None:
    folder = tiny_verifiers.make("nli", tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    kept = {key: value for key, value in weights.items() if not key.startswith("classifier")}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"has not all weights of this model, 2 would be random: classifier\.bias"):
        Verifier(folder).support(PREMISE, CLAIM)


def test_hhem_needs_a_base_of_its_size(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"verifier\.base .*flan-t5-base"):
        Verifier(folders["hhem"])
    other = tiny_verifiers.make("hhem", tmp_path / "other", d_model=64)
    with pytest.raises(ModelError, match="would be random: classifier"):
        Verifier(folders["hhem"], base=other / "base").support(PREMISE, CLAIM)


def test_models_and_evidence_give_different_signatures(folders: dict[str, Path]) -> None:
    parts = [verifier(folders, kind).signature_parts for kind in KINDS]
    assert len({str(part) for part in parts}) == len(KINDS)
    assert {part["kind"] for part in parts} == {*KINDS}
    assert verifier(folders, "nli").signature_parts["evidence"] == "packed"
    assert verifier(folders, "nli", each=True).signature_parts["evidence"] == "each"
    assert "base" in verifier(folders, "hhem").signature_parts


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_size_changes_no_number(folders: dict[str, Path], kind: str) -> None:
    contexts = ["Nolu Brak was born in Tesk. " * 40, "Tesk lies on the river Om.", "Harn is old. " * 60]
    claims = [CLAIM, "Harn.", "Tesk, where Brak was born, lies on a river that is called Om.", "Nació en 他出生于。"]
    one_by_one = [verifier(folders, kind, each=True).best(contexts, claim) for claim in claims]
    by_size = [verifier(folders, kind, each=True, batch_size=size).supports(contexts, claims) for size in (1, 3, 16)]
    assert by_size[0] == by_size[1] == by_size[2]
    if kind != "lettucedetect":  # reads all sentences together
        assert by_size[0] == one_by_one
