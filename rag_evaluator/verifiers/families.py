"""`VERIFIERS`: the families of verifiers, one row each: what they read, where their score is, what they were made for.

Formats, lengths and formulas are those of their authors: MiniCheck (Tang et al. 2024), FactCG (Lei et al. 2025),
HHEM-2.1 (Vectara), LettuceDetect (Kovács and Recski 2025), cross-encoders for natural language inference.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_evaluator.config import find_language
from rag_evaluator.errors import ModelError
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.hub import read_settings

Settings = Json


@dataclass(frozen=True)
class Family:
    """A row of `VERIFIERS`.

    Attributes:
        architecture: in config.json; one that begins with `For` is what names end with.
        model: class of transformers that has its weights.
        reads: where its score is: `label`, the share of a label of the whole text; `first`, the same at the first
            token; `tokens`, the share of a token in the first step of a decoder; `spans`, the labels of the
            sentence's tokens.
        template: the text, with {premise}, {hypothesis} and {eos}; empty: a pair of texts.
        piece: the longest premise that it is given at once, in `unit`.
        window: tokens of premise, sentence and template together at most.
        languages: that it was made for, by name; empty: many, none is refused. `languages_of` knows those of a model.
        supported: label, or token id, that says that the text supports the sentence.
        other: token id that says that it does not.
    """

    architecture: str
    model: str = "AutoModelForSequenceClassification"
    reads: Literal["label", "first", "tokens", "spans"] = "label"
    template: str = ""
    piece: int = 400
    window: int = 512
    unit: Literal["tokens", "words"] = "tokens"
    languages: Sequence[str] = ("english",)
    supported: int | str = 1
    other: int = 0


VERIFIERS: Mapping[str, Family] = {
    "minicheck-roberta": Family("RobertaForSequenceClassification", template="{premise}{eos}{hypothesis}"),
    "minicheck-deberta": Family(
        "DebertaV2ForSequenceClassification", template="{premise}{eos}{hypothesis}", window=2048
    ),
    "minicheck-t5": Family(
        "T5ForConditionalGeneration",
        "AutoModelForSeq2SeqLM",
        "tokens",
        "predict: {premise}{eos}{hypothesis}",
        piece=500,
        unit="words",
        window=2048,
        supported=209,
        other=3,
    ),
    "factcg": Family(
        "DebertaV2ForSequenceClassification",
        template="{premise}\n\nChoose your answer: based on the paragraph above can we conclude that "
        '"{hypothesis}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is ',
        piece=550,
        unit="words",
        window=2048,
    ),
    "hhem": Family(
        "HHEMv2ForSequenceClassification",
        "T5ForTokenClassification",
        "first",
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        "Premise: {premise}\n\nHypothesis: {hypothesis}",
    ),
    "nli": Family("ForSequenceClassification", languages=(), supported="entailment"),
    "lettucedetect": Family(
        "ForTokenClassification",
        "AutoModelForTokenClassification",
        "spans",
        piece=4096,
        window=4096,
        languages=("english", "german", "french", "spanish", "italian", "polish", "chinese", "hungarian"),
        supported=0,
    ),
}


def settings_of(folder: Path, key: str = "verifier.model") -> JsonDict:
    """The config.json of a model's folder. Raises `ModelError`, which names the key of the configuration."""
    return read_settings(folder / "config.json", key)


def labels_of(settings: Settings) -> dict[int, str]:
    """Index -> name of each label, in lower case."""
    return {int(index): str(name).lower() for index, name in (settings.get("id2label") or {}).items()}


def supported_label(settings: Settings, family: Family) -> int:
    """The index of the label that says yes. Raises `ModelError` where that would be a guess."""
    labels = labels_of(settings)
    label = family.supported
    if isinstance(label, int):
        indices = [label] if family.reads != "label" or len(labels) in (0, 2) else []
    else:
        indices = [index for index, name in labels.items() if name.startswith(label)]
    if len(indices) != 1:
        expected = "two labels" if isinstance(label, int) else f"one label '{label}' in id2label of its config.json"
        raise ModelError(
            f"verifier.model: it has the labels {', '.join(labels.values()) or '(none)'}, and a model of this kind has "
            f"{expected}. Which index means what is never guessed. Try another verifier.kind."
        )
    return indices[0]


def family_name(folder: Path, kind: str = "auto") -> str:
    """The family of a model by its config.json and, where several have the same, the name of its folder.

    Args:
        kind: a name of `VERIFIERS`; `auto` recognises it.

    Raises `ModelError`.
    """
    if kind not in ("auto", *VERIFIERS):
        raise ModelError(f"verifier.kind is '{kind}': expected auto or one of {', '.join(VERIFIERS)}.")
    settings = settings_of(folder)
    architecture = next(iter(settings.get("architectures") or ()), "")
    ends = architecture[architecture.rfind("For") :]
    fitting = [name for name, family in VERIFIERS.items() if family.architecture in (architecture, ends)]
    if kind in fitting:
        return kind
    if kind != "auto":
        raise ModelError(
            f"verifier.kind is {kind}, which is a {VERIFIERS[kind].architecture}; {folder} has a {architecture}."
        )
    candidates = [name for name in fitting if _is_marked(name, folder, settings)]
    if len(candidates) == 1:
        return candidates[0]
    raise ModelError(
        f"verifier.model: {folder} has a {architecture or 'model of no named architecture'}, which does not tell its "
        f"kind. Say which with verifier.kind: {', '.join(VERIFIERS)}; nli is any classifier with a label "
        "'entailment', lettucedetect any classifier of tokens with two labels."
    )


def _is_marked(name: str, folder: Path, settings: Settings) -> bool:
    """Whether labels or the folder's name tell a family from others of its architecture."""
    labels = list(labels_of(settings).values())
    named = names_of(folder, settings)
    is_nli = any(label.startswith("entail") for label in labels)
    marks = {
        "nli": is_nli,
        "hhem": True,
        "lettucedetect": len(labels) in (0, 2),
        "minicheck-roberta": not is_nli and ("minicheck" in named or labels == ["0", "1"]),
    }
    return marks.get(name, not is_nli and name.partition("-")[0] in named)


def languages_of(name: str, folder: Path) -> Sequence[str]:
    """Languages that a model of a family was made for; empty: many.

    Names of LettuceDetect's folders tell theirs: `lettucedect-610m-eurobert-de-v1`.
    """
    languages = VERIFIERS[name].languages
    if name != "lettucedetect":
        return languages
    codes = re.findall(r"(?<![a-z0-9])[a-z]{2}(?![a-z0-9])", names_of(folder, settings_of(folder)))
    meant = [find_language("zh" if code == "cn" else code).name for code in codes]
    return [language for language in meant if language in languages][-1:] or languages


def check_language(name: str, folder: Path, language: str) -> None:
    """Raises `ModelError` for a language that a model was not made for."""
    languages = languages_of(name, folder)
    if languages and language not in languages:
        raise ModelError(
            f"verifier: {folder} is a {name}, made for {', '.join(languages)}; the language is {language}. Take a "
            "verifier of that language, or one of kind nli, which have many. To take this one all the same: "
            "verifier.any_language: true."
        )


def names_of(folder: Path, settings: Settings) -> str:
    """The names of a model in lower case: of its folder, of its repository in the hub's cache, in its config.json."""
    folder = folder.resolve()
    repository = folder.parent.parent.name if folder.parent.name == "snapshots" else ""
    return f"{folder.name} {repository} {settings.get('_name_or_path', '')}".lower()
