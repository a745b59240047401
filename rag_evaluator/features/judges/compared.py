"""All judges together, from their finished runs: `judges.json`, `judges.html`, and what a terminal shows."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from rag_evaluator.config import Config
from rag_evaluator.files import ACTIVITY, JsonDict, write_json
from rag_evaluator.results import PROGRAM, Conclusion, Grid, many_flagged, next_command
from rag_evaluator.tasks import open_run

from .candidates import NamedJudge
from .conclusion import RULES, sentences_of
from .feature import JudgesConfig
from .figures import figures_of, judged, of_rows, of_sentences, work_of
from .labels import ColumnLabels
from .page import picture, write_page
from .probed import probe_grid, probe_sentences, probed_by
from .running import costs_of
from .tables import agreement_grid, pairs_grid, work_grid


class ComparedJudges:
    """What finished runs say of their judges.

    Args:
        candidates: the judges, in order.
        labels: metric -> its labels; none: judges are only probed.
        base: the configuration of all.
        out: the folder of their runs.
        is_probed: whether each was probed, too.
    """

    def __init__(
        self,
        candidates: Sequence[NamedJudge],
        labels: Mapping[str, ColumnLabels],
        base: Config,
        out: Path,
        is_probed: bool,
    ) -> None:
        self.candidates = candidates
        self.labels = labels
        self.base = base
        self.page = out / "judges.html"
        self.file = out / "judges.json"
        self.margin = base.section(JudgesConfig).margin
        self.probed = probed_by(candidates) if is_probed else None
        self.runs = {each.name: open_run(each.config.results_dir) for each in candidates} if labels else {}
        self.costs = costs_of(out, candidates, "evaluate" if labels else "probe")
        self.seconds = {name: cost.seconds for name, cost in self.costs.items()}

    @cached_property
    @ACTIVITY.phase("comparing judges with labels")
    def figures(self) -> dict[str, JsonDict]:
        """Metric -> `rows`, `sentences` (None: labels are no spans), see `figures_of`, and `work`."""
        figures = {}
        for metric, labels in self.labels.items():
            runs = {name: judged(run, metric) for name, run in self.runs.items() if metric in run.summary}
            row = next(each.chosen[metric] for each in self.candidates if metric in each.chosen)
            sentences = of_sentences(runs, row, metric, labels, self.base)
            figures[metric] = {
                "rows": figures_of(of_rows(runs, metric, labels, self.base), self.margin),
                "sentences": None if sentences is None else figures_of(sentences, self.margin),
                "work": {name: work_of(each, metric) for name, each in runs.items()},
            }
        return figures

    @property
    def document(self) -> JsonDict:
        """What `judges.json` says: no time and no memory, so that the same runs give the same bytes."""
        about = {each.name: {"kind": each.kind, **each.about} for each in self.candidates}
        probe = {} if self.probed is None else {"probe": self.probed}
        return {"program": PROGRAM, "judges": about, "margin": self.margin, "metrics": self.figures, **probe}

    @cached_property
    def conclusion(self) -> Conclusion:
        """The sentences, and the next command."""
        sentences: list[str] = []
        for metric, figures in self.figures.items():
            sentences += sentences_of(metric, figures["rows"], self.seconds, self.margin)
            if figures["sentences"]:
                sentences += list(sentences_of(f"sentences of {metric}", figures["sentences"], {}, self.margin))[:1]
        for name, run in self.runs.items():
            of_labels = {metric: row for metric, row in run.summary.items() if metric in self.labels}
            sentences += [f"{name}: {text}" for text in many_flagged(of_labels)]
        sentences += [] if self.probed is None else probe_sentences(self.probed)
        return Conclusion(sentences, self._next(), RULES if self.labels else ())

    @cached_property
    def grids(self) -> list[Grid]:
        """The tables."""
        grids = []
        for metric, figures in self.figures.items():
            grids.append(agreement_grid(metric, figures["rows"], figures["work"]))
            if figures["sentences"]:
                grids.append(agreement_grid(f"sentences of {metric}", figures["sentences"], {}))
        if self.labels:
            work = {name: each["work"] for name, each in self.figures.items()}
            grids.append(work_grid(self.candidates, self.costs, work))
        return [*grids, *([] if self.probed is None else [probe_grid(self.probed, self.seconds)])]

    def to_json(self) -> JsonDict:
        """Return all of it, with what judges took."""
        costs = {name: vars(cost) for name, cost in self.costs.items()}
        return {**self.document, "costs": costs, "conclusion": self.conclusion.to_json(), "page": str(self.page)}

    def write(self) -> None:
        """Write `judges.json` and the page."""
        write_json(self.file, self.document)
        pictures = {name: picture(name, each["rows"], self.seconds) for name, each in self.figures.items()}
        pairs = [pairs_grid(name, each["rows"]) for name, each in self.figures.items()]
        write_page(self.page, self.conclusion, [*self.grids, *pairs], pictures)

    def _next(self) -> str:
        """A look at the rows of the first judge's run; nothing where judges have no labels."""
        first = self.candidates[0].config.results_dir
        return next_command(("view", first), ("report", first)) if self.labels else ""
