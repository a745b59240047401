"""Tokenizers of every decoder: the bytes of their tokens are right, or the model is refused with a way out."""

import json
import string
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import tiny_models
from pydantic import BaseModel, create_model
from tiny_models import CORPUS, KINDS, Kind, byte_level, metaspace_bpe, metaspace_unigram
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, pipeline

from rag_evaluator import Judge, JudgementError, ModelError
from rag_evaluator.config import JudgeConfig

SPM = ["<unk>", "<s>", "</s>"]
SIGNS = list(string.printable.replace("\r", "").replace("\x0b", "").replace("\x0c", ""))
TEXT = '{"a": "Nació en Corvania, según dicen", "verdict": 1}'
Make = Callable[[list[str]], Tokenizer]


class Verdict(BaseModel):
    reason: str
    verdict: Literal[0, 1]


def unigram(specials: list[str], signs: list[str] = SIGNS, corpus: list[str] = CORPUS) -> Tokenizer:
    """As T5 and XLNet have it, and GPT-NeoX of rinna: no bytes to fall back to."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=500, show_progress=False, special_tokens=specials, unk_token="<unk>", initial_alphabet=signs
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def with_decoder(make: Make, decoder: decoders.Decoder | None) -> Make:
    def made(specials: list[str]) -> Tokenizer:
        tokenizer = make(specials)
        tokenizer.decoder = decoder
        return tokenizer

    return made


def word_piece(specials: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(special_tokens=specials, show_progress=False))
    return tokenizer


def with_suffixes(specials: list[str]) -> Tokenizer:
    """As the first GPT has it."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    trainer = trainers.BpeTrainer(special_tokens=specials, end_of_word_suffix="</w>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


PIECES = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
BYTES_AND_METASPACE = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
KNOWN: dict[str, Make] = {
    "byte level": byte_level,
    "byte level in a sequence": with_decoder(byte_level, decoders.Sequence([decoders.ByteLevel()])),
    "SentencePiece BPE": metaspace_bpe,
    "SentencePiece Unigram": metaspace_unigram,
}


def fast(make: Make, end: str | None = "</s>") -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=make([*SPM]), eos_token=end, unk_token="<unk>")


@pytest.mark.parametrize("make", KNOWN.values(), ids=KNOWN)
def test_tokens_have_the_bytes_that_their_tokenizer_writes(make: Make) -> None:
    tokenizer = fast(make)
    vocabulary = tiny_models.judge_of(tokenizer).inner.engine.vocabulary
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert b"".join(vocabulary.texts[token] for token in ids).removeprefix(b" ").decode() == TEXT
    assert tokenizer.decode(ids) == TEXT  # the reference: what the tokenizer itself makes of them
    assert not any("▁" in text.decode("utf-8", "ignore") for text in vocabulary.texts)
    if "<0x0A>" in tokenizer.get_vocab():
        assert vocabulary.texts[tokenizer.get_vocab()["<0x0A>"]] == b"\n"


REFUSED: dict[str, Make] = {
    "WordPiece": word_piece,
    "BPE with suffixes": with_suffixes,
    "no decoder": with_decoder(byte_level, None),
    "Metaspace": unigram,
    "bytes and Metaspace": with_decoder(metaspace_unigram, BYTES_AND_METASPACE),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_a_tokenizer_that_cannot_write_under_a_grammar_is_refused_with_a_remedy(make: Make) -> None:
    tokenizer = fast(make)
    with pytest.raises(ModelError, match=r"^judge\.model: .*grammar .*engine: server"):
        tiny_models.judge_of(tokenizer)


def test_a_tokenizer_of_another_model_is_refused() -> None:
    tokenizer = fast(byte_level)
    told = rf"do not belong together: the tokenizer has the token {len(tokenizer) - 1}, .* {len(tokenizer) - 5} tokens"
    with pytest.raises(ModelError, match=told):
        tiny_models.judge_of(tokenizer, len(tokenizer) - 5)


def test_a_forced_text_that_the_tokenizer_cannot_write_costs_its_judgement_and_names_the_sign(tmp_path: Path) -> None:
    kind = replace(KINDS["mistral-metaspace-bpe"], tokenizer=with_decoder(unigram, PIECES))
    judge = Judge.from_config(JudgeConfig(model=str(tiny_models.make(kind, tmp_path)), max_new_tokens=48))
    cat = create_model("Cat", animal=(Literal["猫"], ...), verdict=(Literal[0, 1], ...))
    with pytest.raises(JudgementError, match="tokenizer has no token for '猫', which the answer must contain"):
        judge.generate("Which animal?", cat)
    assert judge.generate("Which verdict?", Verdict).verdict in (0, 1)  # the others go on


def ordinary_first(specials: list[str]) -> Tokenizer:
    """A tokenizer without any special token, so that the first id is an ordinary sign."""
    return byte_level([])


@pytest.mark.parametrize("pad", [None, "!"])
def test_without_an_end_no_ordinary_token_ends_an_answer(tmp_path: Path, pad: str | None) -> None:
    kind = Kind(ordinary_first, [], KINDS["llama-bytelevel"].model, eos_token=None, pad_token=None)
    folder = tiny_models.make(kind, tmp_path)
    if pad:
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps(json.loads(path.read_bytes()) | {"pad_token": pad}))
    judge = Judge.from_config(JudgeConfig(model=str(folder), max_new_tokens=48))
    engine = judge.inner.engine  # type: ignore[attr-defined]
    vocabulary = engine.vocabulary
    assert all(end >= vocabulary.size for end in vocabulary.engine.eos_tokens)
    requests = [judge.inner.request(f"Is {count} right?", Verdict) for count in range(5)]
    replies = engine.handle(requests)
    assert all(Verdict.model_validate_json(reply.text) for reply in replies)
    plain = tiny_models.plain_of(judge)
    assert [reply.token_ids for reply in replies] == [plain.decode([request])[0].token_ids for request in requests]


def test_a_pad_token_that_was_added_for_batches_has_no_number_and_is_never_chosen(tmp_path: Path) -> None:
    folder = tiny_models.make(Kind(ordinary_first, [], KINDS["llama-bytelevel"].model, eos_token=None), tmp_path)
    made = pipeline("text-generation", model=AutoModelForCausalLM.from_pretrained(folder), tokenizer=str(folder))
    made.tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    judge = Judge(made, JudgeConfig(max_new_tokens=48))
    assert judge.generate("Is it so?", Verdict).verdict in (0, 1)
