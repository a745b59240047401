"""Hands the prompts of a language to the metrics: the English ones, or packs of a folder, else of the package."""

import json
import logging
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rag_evaluator.config import LANGUAGES, Language, file_name, find_language, misspelt
from rag_evaluator.errors import PromptError
from rag_evaluator.files import JsonDict, short_digest
from rag_evaluator.judge import PromptText
from rag_evaluator.ragas_library import BasePrompt
from rag_evaluator.resources import command, packaged
from rag_evaluator.results import Frame, put_together

from .own import CustomInput, OwnPrompt
from .pack import (
    ENGLISH,
    PACKAGED,
    SHELL,
    CustomQuestion,
    Key,
    Pack,
    load_pack,
    pack_file,
    pack_files,
    pack_path,
    prompt_names,
)

LEVELS = ("atomicity", "coverage")  # values of the input that choose the examples; they are never translated
UNSHOWN = (("groundedness", "prompt"),)  # small judges agree with people better without: benchmarks/worth.md
MARK = "input: "  # comes before the input in every prompt of ragas
LETTER = "é"  # shows whether the text keeps letters that are not ASCII
logger = logging.getLogger(__name__)


def english_pack(prompt: "BasePrompt[Any, Any]") -> Pack:
    """Instruction and examples of a ragas prompt, read from its text where ragas keeps them in a function."""
    if not hasattr(prompt, "instruction"):
        instruction, examples = _read_text(prompt)
    else:
        instruction = prompt.instruction
        by_level = getattr(prompt, "_all_examples", None)
        pairs = [pair for pairs in by_level.values() for pair in pairs] if by_level else prompt.examples
        examples = [{"input": _shown(inputs), "output": _shown(outputs)} for inputs, outputs in pairs]
    pack = Pack(ENGLISH, instruction, examples)
    return Pack(ENGLISH, instruction, examples, original_hash=pack.digest)


def _shown(model: BaseModel) -> JsonDict:
    """What a prompt shows of an example: nothing of fields that may be left out and are."""
    return model.model_dump(exclude_none=True)


def _read_text(prompt: "BasePrompt[Any, Any]") -> tuple[str, list[JsonDict]]:
    """Instruction and examples read from a prompt's text: noise sensitivity keeps them in a function."""
    empty = prompt.input_model.model_construct(
        **{name: [] if name == "statements" else "" for name in prompt.input_model.model_fields}
    )
    text = prompt.to_string(empty)
    instruction = text.split("\nPlease return the output in a JSON format", 1)[0]
    shown = text.split("-----EXAMPLES-----", 1)[1].split("Now perform the same", 1)[0]
    pairs = re.findall(r"Input: (\{.*?\n\})\nOutput: (\{.*?\n\})\n", shown, flags=re.DOTALL)
    names = list(prompt.input_model.model_fields)
    return instruction, [
        {
            "input": dict(zip(names, json.loads(inputs).values(), strict=True)),
            "output": json.loads(outputs),
        }
        for inputs, outputs in pairs
    ]


def _find_frame(prompt: "BasePrompt[Any, Any]", values: JsonDict) -> Frame | None:
    text = prompt.to_string(prompt.input_model(**values))
    start = text.rfind(MARK) + len(MARK)
    try:
        shown, end = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        return None
    if not isinstance(shown, dict) or list(shown.values()) != list(values.values()):
        return None
    when = {name: value for name, value in values.items() if name in LEVELS}
    keys = {name: key for name, key in zip(values, shown, strict=True) if name != key}
    frame = Frame(when, text[:start], text[end:], keys, LETTER not in text[start:end])
    return frame if frame.text(values) == text else None


class PackPrompt(BasePrompt[BaseModel, BaseModel]):
    """A ragas prompt whose instruction and examples come from a pack.

    Where the input has levels (atomicity and coverage of claims), only the examples of the same levels are shown.
    """

    def __init__(self, pack: Pack, original: "BasePrompt[Any, Any]") -> None:
        self.input_model = original.input_model
        self.output_model = original.output_model
        self.instruction = pack.instruction
        self.language = pack.language
        self.all_examples = [
            (self.input_model(**example["input"]), self.output_model(**example["output"])) for example in pack.examples
        ]

    def to_string(self, data: BaseModel) -> str:
        self.examples = [example for example in self.all_examples if _levels(example[0]) == _levels(data)]
        return super().to_string(data)


class TracedPrompt:
    """Replaces a prompt in a ragas metric; its text brings the input it was made from to the judge."""

    def __init__(self, prompt: "BasePrompt[Any, Any]", name: str, pack: Pack) -> None:
        self.prompt = prompt
        self.name = name
        self.pack = pack
        self.language = pack.language
        self.source = pack.digest
        self.examples = pack.examples

    def without_examples(self) -> "TracedPrompt":
        """The same question without examples."""
        bare = copy(self)
        bare.source = short_digest(f"no examples of {self.source}")
        bare.examples = []
        bare.prompt = PackPrompt(replace(self.pack, examples=()), self.prompt)
        bare.__dict__.pop("frames", None)
        return bare

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The text around the input, for each set of examples; none where no input can be found in it."""
        inputs = [example["input"] for example in self.pack.examples]
        levels = {tuple(values[name] for name in LEVELS if name in values): values for values in inputs}
        texts: dict[type, Any] = {list: [LETTER], str: LETTER}  # in place of those of an example
        frames = [
            _find_frame(
                self.prompt,
                {name: value if name in LEVELS else texts.get(type(value), value) for name, value in values.items()},
            )
            for values in levels.values()
        ]
        return tuple(frame for frame in frames if frame is not None)

    def to_string(self, data: BaseModel) -> PromptText:
        text = self.prompt.to_string(data)
        values = data.model_dump(mode="json", exclude_none=True)
        again = put_together(self.frames, values) == text
        return PromptText(text, data, self.name, self.source, values if again else None, self.examples)


Prompts = dict[Key, TracedPrompt]


def with_examples(prompts: Prompts, shown: str) -> Prompts:
    """The prompts as they are asked; `shown` is `judge.examples`. Those of `UNSHOWN` never show theirs."""
    return {
        key: prompt if shown == "all" and key not in UNSHOWN else prompt.without_examples()
        for key, prompt in prompts.items()
    }


class QuestionPrompt(TracedPrompt):
    """The prompt of a user's own metric: its question in the prompt around all of them.

    Args:
        shell: instruction, and the examples of a question that has none.
        question: in the same language.
    """

    def __init__(self, shell: Pack, question: CustomQuestion) -> None:
        self.question = question.text
        self.scale = {str(label): text for label, text in question.scale.items()}
        examples = [
            {
                "input": {"question": self.question, "scale": self.scale, "values": example["values"]},
                "output": {"reason": example["reason"], "label": example["label"]},
            }
            for example in question.examples
        ]
        pack = Pack(shell.language, shell.instruction, examples or shell.examples)
        super().__init__(PackPrompt(pack, OwnPrompt("custom", "prompt")), SHELL[1], pack)
        asked = [pack.digest, self.question, self.scale]
        self.source = short_digest(json.dumps(asked, ensure_ascii=False))

    def ask(self, values: Mapping[str, str]) -> PromptText:
        """The question about the columns of a row."""
        return self.to_string(CustomInput(question=self.question, scale=self.scale, values=dict(values)))


@dataclass(frozen=True)
class PackSet:
    """The prompts of metrics, `sort` or `generate` in a language.

    Attributes:
        originals: the English prompts.
        language: as users write it.
        folder: where packs are; a pack that is not there is taken from those that come with the package.
    """

    originals: "Mapping[Key, BasePrompt[Any, Any]]"
    language: str
    folder: Path

    @cached_property
    def spoken(self) -> Language:
        """The language that is meant. Raises `ConfigError` for a name that cannot be one."""
        return find_language(self.language)

    def find(self, *folders: Path) -> tuple[dict[Key, Path], dict[Key, Path]]:
        """The pack files: those that exist, and those that are missing.

        Each is looked for in `folder`, then in `folders`. In each of them a file under the name of an older ragas
        counts where there is none under today's. None is missing in English.
        """
        name = self.spoken.name
        existing = {}
        missing = {}
        for key in self.originals:
            paths = (pack_file(place, key, name) for place in (self.folder, *folders))
            path = next((path for path in paths if path is not None), None)
            if path is not None:
                existing[key] = path
            elif name != ENGLISH:
                missing[key] = pack_path(self.folder, key, name)
        return existing, missing

    def load(self) -> dict[Key, TracedPrompt]:
        """The prompts: those of the packs, in English those of ragas and ours where no pack says something else.

        Raises `PromptError` naming every pack that is missing, or the first that does not fit its prompt.
        """
        for path in self.unread():
            logger.warning(
                "%s is not used: no prompt has this name. Names are <metric>_<prompt>_%s.json, as in %s",
                path,
                self.spoken.name,
                packaged("orig_prompts"),
            )
        if self.spoken.name == ENGLISH:
            usual = {key: TracedPrompt(prompt, key[1], english_pack(prompt)) for key, prompt in self.originals.items()}
            packs = self._of_packs(self.find()[0])
            return {**usual, **{key: prompt for key, prompt in packs.items() if prompt.source != usual[key].source}}
        paths, missing = self.find(*PACKAGED)
        question = misspelt(self.language)
        if question and not self.originals:  # BLEU and ROUGE find the words of the languages that are known
            logger.warning("%s", question)
        if missing and not question and self.spoken.name not in LANGUAGES:
            raise PromptError(
                f"language '{self.language}' is not known. Known are {', '.join(LANGUAGES)}; "
                f"'{command('prompts', 'adapt', '--language', self.spoken.name)}' makes prompts in another one."
            )
        if missing:
            begin = f"{question} If not:" if question else f"language '{self.language}':"
            raise PromptError(
                f"{begin} {len(missing)} of {len(self.originals)} prompt packs are missing in {self.folder}: "
                f"{', '.join(path.name for path in missing.values())}. Set prompts.adapt: true, or run "
                f"'{command('prompts', 'adapt')} --language {self.spoken.name}' and review what it wrote, or translate "
                f"the files of {packaged('orig_prompts')} under these names, or set language: english."
            )
        return self._of_packs(paths)

    def unread(self) -> list[Path]:
        """Files of the folder that look like packs of the language and are none: a wrong name, or a code at its end."""
        names = {f"{start}_{self.spoken.name}" for start in prompt_names()}
        ends = tuple(f"_{end}" for end in (self.spoken.name, file_name(self.language), *self.spoken.codes))
        paths = [path for path in pack_files(self.folder, self.spoken.name) if path.stem.endswith(ends)]
        return [path for path in paths if path.stem not in names]

    def _of_packs(self, paths: Mapping[Key, Path]) -> dict[Key, TracedPrompt]:
        packs = {key: (load_pack(path, self.originals[key]), self.originals[key]) for key, path in paths.items()}
        return {key: TracedPrompt(PackPrompt(pack, prompt), key[1], pack) for key, (pack, prompt) in packs.items()}


def _levels(data: BaseModel) -> tuple[Any, ...]:
    return tuple(getattr(data, level, None) for level in LEVELS)
