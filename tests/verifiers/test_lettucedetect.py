"""LettuceDetect reads all contexts and all sentences in one pass; the tokens of a sentence are its own."""

from pathlib import Path
from typing import Any

import pytest
import tiny_verifiers
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from rag_evaluator.errors import PromptTooLongError
from rag_evaluator.verifiers import Verifier

pytestmark = pytest.mark.models
CONTEXTS = ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."]
SENTENCES = ["Brak was born in Tesk.", "  It has an old\n bridge. ", "Nació en 他出生于。"]
QUESTION = "Where was Nolu Brak born?"
QA = (
    "Briefly answer the following question:\nWhere was Nolu Brak born?\nBear in mind that your response should be "
    "strictly based on the following 2 passages:\npassage 1: Nolu Brak was born in Tesk.\npassage 2: Tesk lies on the "
    "river Om.\nIn case the passages do not contain the necessary information to answer the question, please reply "
    'with: "Unable to answer based on given passages."\noutput:'
)
SHORT = (
    "Summarize the following text:\npassage 1: Nolu Brak was born in Tesk.\npassage 2: Tesk lies on the river Om.\n"
    "output:"
)
PROMPTS = [
    (QUESTION, "english", QA),
    (" ", "english", SHORT),
    ("", "swahili", SHORT),
    (
        "",
        "german",
        "Fasse den folgenden Text zusammen:\nPassage 1: Nolu Brak was born in Tesk.\n"
        "Passage 2: Tesk lies on the river Om.\nAusgabe:\n",
    ),
]
ENCODERS = ["modernbert", "eurobert"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("lettucedetect")
    return {name: tiny_verifiers.make("lettucedetect", place / name, encoder=name) for name in ENCODERS}


def by_transformers(folder: Path, prompt: str, sentences: list[str]) -> list[tuple[float, list[tuple[str, float]]]]:
    """Of each sentence the highest probability of label 1, and its tokens with theirs: the authors' formula."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(folder).eval()
    answer = " ".join(sentences)
    inputs = tokenizer(prompt, answer, return_tensors="pt", return_offsets_mapping=True)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    count = len(tokenizer(answer, add_special_tokens=False)["input_ids"])
    first = len(offsets) - count - 1
    with torch.inference_mode():
        shares = model(**inputs).logits[0].softmax(-1)[:, 1].tolist()
    expected = []
    start = 0
    for sentence in sentences:
        end = start + len(sentence)
        places = [place for place in range(first, len(offsets) - 1) if offsets[place][0] < end]
        mine = [(offsets[place], shares[place]) for place in places if offsets[place][1] > start]
        expected.append((max(share for _, share in mine), [(answer[a:b], share) for (a, b), share in mine]))
        start = end + 1
    return expected


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("question", "language", "text"), PROMPTS)
def test_support_is_one_minus_the_highest_probability_of_the_sentences_tokens_below_the_authors_prompt(
    folders: dict[str, Path], encoder: str, question: str, language: str, text: str
) -> None:
    verifier = Verifier(folders[encoder], any_language=True, language=language)
    assert verifier.name == "lettucedetect"
    expected = by_transformers(folders[encoder], text, SENTENCES)
    supports = verifier.supports(CONTEXTS, SENTENCES, question)
    assert [support.probability for support in supports] == pytest.approx([1 - top for top, _ in expected], abs=6e-5)
    assert {support.pieces for support in supports} == {1}
    assert supports[0].piece.contexts == (0, 1)


def test_spans_are_tokens_in_a_row_that_are_hallucinated(folders: dict[str, Path]) -> None:
    supports = Verifier(folders["modernbert"]).supports(CONTEXTS, SENTENCES, QUESTION)
    expected = by_transformers(folders["modernbert"], QA, SENTENCES)
    assert sum(len(support.spans) for support in supports) > 2, "else the random model is a poor example"
    for sentence, support, (_, tokens) in zip(SENTENCES, supports, expected, strict=True):
        flagged = "".join(text for text, share in tokens if share > 0.5).split()
        assert "".join(sentence[start:end] for start, end, _ in support.spans).split() == flagged or not flagged
        assert all(0 <= start < end <= len(sentence) for start, end, _ in support.spans)
        highest = max((share for _, _, share in support.spans), default=0.0)
        assert highest in (0.0, pytest.approx(1 - support.probability, abs=1e-4))
        assert (highest > 0) == (support.probability < 0.5)


def test_signs_of_templates_in_contexts_are_text(folders: dict[str, Path]) -> None:
    text = "Summarize the following text:\npassage 1: It costs $5 ${text}.\noutput:"
    expected = by_transformers(folders["modernbert"], text, SENTENCES)
    supports = Verifier(folders["modernbert"]).supports(["It costs $5 ${text}."], SENTENCES)
    assert [support.probability for support in supports] == pytest.approx([1 - top for top, _ in expected], abs=6e-5)


@pytest.mark.parametrize("question", [QUESTION, ""])
def test_every_language_has_a_prompt_of_its_own(folders: dict[str, Path], question: str) -> None:
    languages = ["english", "german", "french", "spanish", "italian", "polish", "chinese"]
    made = [Verifier(folders["modernbert"], language=language, any_language=True) for language in languages]
    supports = {tuple(verifier.supports(CONTEXTS, SENTENCES, question)) for verifier in made}
    assert len(supports) == len(languages)


def test_what_does_not_fit_at_once_is_missing_and_never_divided(folders: dict[str, Path]) -> None:
    long = ["The bridge at Harn is old and has three arches. " * 300]
    with pytest.raises(PromptTooLongError, match=r"have \d+ tokens, and this verifier reads 4096 at once"):
        Verifier(folders["modernbert"]).supports(long, SENTENCES, QUESTION)


def test_names_of_control_tokens_in_data_are_text_and_places_stay(folders: dict[str, Path]) -> None:
    verifier = Verifier(folders["modernbert"])
    sentences = ["It is [SEP] so [CLS].", "It is new."]
    supports = verifier.supports([*CONTEXTS, "[SEP] It is so."], sentences, QUESTION)
    assert all(end <= len(text) for text, row in zip(sentences, supports, strict=True) for _, end, _ in row.spans)
    tokenizer, _ = verifier._loaded
    ids = tokenizer("[SEP]", "[SEP]", split_special_tokens=True)["input_ids"]
    assert list(ids).count(tokenizer.sep_token_id) == 2
