"""Trains the judge's byte-level BPE: any Unicode round-trips, digits stand alone, names are cut alike everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tools.demo_judge import words
from tools.demo_judge.facts import invented_name
from tools.demo_judge.languages import World
from tools.demo_judge.tasks import LANGUAGES, TASKS, heads, row

BOS, EOS, PAD = "<s>", "</s>", "<pad>"
CONTEXT_TOKENS = 8192

# In order: escapes of JSON, key separators, layout around newlines, lower-case words with the blank before them,
# capitalised words without it (so a name is the same tokens after a blank and after a quote), digits, the rest.
_PIECES = (
    r'\\["\\a-z]|": "?| ?[\[\]{}",]*(?:\n *[\[\]{}",]*)+| ?[\p{Ll}\p{Lo}\p{Lm}][\p{Ll}\p{Lo}\p{Lm}\p{M}]*'
    r"|[\p{Lu}\p{Lt}]+[\p{Ll}\p{M}]*|\p{N}|-+|\s|[^\s\p{L}\p{N}]"
)


def build_tokenizer(seed: int = 0, vocabulary: int = 4096) -> PreTrainedTokenizerFast:
    """A tokenizer trained on generated text; it puts `<s>` before a text and nothing after it."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[BOS, EOS, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(Random(seed)), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
    )
    return wrapped(tokenizer.to_str())


def wrapped(tokenizer: str) -> PreTrainedTokenizerFast:
    """The transformers tokenizer of a tokenizer's JSON."""
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer),
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        model_max_length=CONTEXT_TOKENS,
        clean_up_tokenization_spaces=False,
    )


def _corpus(rng: Random) -> Iterator[str]:
    for task in TASKS:
        for language in LANGUAGES.values():
            yield from heads(task, language.name) if task.prompts else ()
            for _ in range(200):
                made = row(task, World(rng, 0.5, language))
                yield made.body + made.answer
    for _ in range(10):
        yield " ".join(words.COMMON + words.NOUNS + words.ADJECTIVES + words.PROFESSIONS)
        yield " ".join(word.capitalize() for word in words.NOUNS) + " " + " ".join(word + "s" for word in words.NOUNS)
    for _ in range(500):
        yield "".join(_spanish(rng) for _ in range(5))
        yield " ".join(invented_name(rng, 1.0) for _ in range(5))


def _spanish(rng: Random) -> str:
    chosen = rng.choices(words.SPANISH, k=rng.randint(4, 9))
    return f"{' '.join(chosen).capitalize()}. "
