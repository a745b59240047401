"""A run of `sort` or `generate`: prompts, judge and records brought together, all checked before a model loads."""

import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rag_evaluator.config import Config
from rag_evaluator.files.atomic import safe_names, write_json
from rag_evaluator.files.jsonl import Records
from rag_evaluator.judge.cached import KEYS, Asker
from rag_evaluator.judge.source import source_of
from rag_evaluator.models.event_loop import run
from rag_evaluator.prompts.adapt.adapt import ready_prompts
from rag_evaluator.tasks.ranking import Ranking, Sorter, SortOptions
from rag_evaluator.tasks.references import GenerateOptions, Generator, Reference

Result = TypeVar("Result")
Progress = Callable[[int, int], None]
Texts = Sequence[Sequence[str]]


class Run:
    """What a function needs to ask the judge.

    Args:
        owner: `sort` or `generate`.
        config: language, prompts, judge.
        judge: in place of the configured judge; see `GivenJudge`.

    Attributes:
        asked: questions that reached the judge, those of earlier runs not counted.
        seconds: wall time, loading of the model not counted.

    Raises `RagEvaluatorError` for missing prompts or models.
    """

    def __init__(self, owner: str, config: Config, judge: Any = None) -> None:
        self.owner, self.started = owner, time.time()
        self.judge = source_of(judge, config.judge, config.offline)
        self.prompts = ready_prompts([owner], config, self.judge.load, lambda: self.judge.signature)
        self.asked, self.seconds = 0, 0.0

    def work(self, folder: Path, fresh: bool, task: Callable[[Asker], Coroutine[Any, Any, Result]]) -> Result:
        """Run a task that asks; what the judge says is kept in `folder/journal` for later runs.

        A judge that nothing tells from another of its kind is always asked anew.
        """
        judge = run(self.judge.load())
        kept = self.judge.identity is not None
        records = Records(folder / "journal" / f"{self.owner}.jsonl", KEYS, fresh) if kept else None
        asker = Asker(judge, self.judge.signature, records)
        begun = time.perf_counter()
        try:
            result: Result = run(task(asker))
        finally:
            self.asked, self.seconds = asker.asked, time.perf_counter() - begun
            if records is not None:
                records.close()
        return result

    def sort(
        self, questions: Sequence[str], contexts: Texts, options: SortOptions, folder: Path, fresh: bool, told: Progress
    ) -> list[Ranking]:
        """The rankings, in the order of the questions."""
        count = _Count(len(questions), told)
        return self.work(
            folder,
            fresh,
            lambda asker: Sorter(asker, self.prompts, options).sort_all(questions, contexts, lambda *_: count.one()),
        )

    def generate(
        self,
        questions: Sequence[str],
        contexts: Texts,
        options: GenerateOptions,
        folder: Path,
        fresh: bool,
        told: Progress,
        answers: Path,
    ) -> list[Reference]:
        """The references, in the order of the questions; each is written into the folder `answers` as it is made."""
        count, names = _Count(len(questions), told), safe_names(questions)
        if not questions:
            return []

        def done(position: int, reference: Reference) -> None:
            write_json(answers / f"GT_{names[position]}.json", reference.to_json())
            count.one()

        return self.work(
            folder,
            fresh,
            lambda asker: Generator(asker, self.prompts, options).generate_all(questions, contexts, done),
        )


class _Count:
    """Tells how many questions are done."""

    def __init__(self, total: int, told: Progress) -> None:
        self.done, self.total, self.told = 0, total, told
        told(0, total)

    def one(self) -> None:
        self.done += 1
        self.told(self.done, self.total)
