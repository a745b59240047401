"""The second verdict of a certificate, beside what counting gives, in words."""

from collections.abc import Iterator
from typing import NamedTuple

from rag_evaluator.files import Json
from rag_evaluator.results import counted, more_labels, with_own_ends

COUNTING = "counting"  # the part of a certificate that has it, see `BaselineVerdict`
ITSELF = "itself"  # its key of a score that counts words
BEATS = "beats"
UNSETTLED = "not settled"
SAID = {
    BEATS: "beats counting {name}",
    "does not beat": "does not beat counting {name}",
    UNSETTLED: "not settled whether it beats counting {name}: {more}",
}
RULE = (
    "counting: the share of the content words of a text that the evidence has, and the number of its sentences, of "
    "which fewer are better; on all labelled rows, where a missing score counts half. Scores beat it if the 95 % "
    "interval of the difference of the AUCs is above 0; they do not if none of it is. More labels: with these a "
    "difference like this is shown with a chance of 80 %."
)


class Beside(NamedTuple):
    """A metric, or its statements, and the verdict. Any: JSON."""

    name: str
    figures: Json

    @property
    def said(self) -> str:
        """`not settled whether it beats counting words: about 400 more labels`."""
        name = self.figures["decisive"]
        number = more_labels(self.figures["more_labels"])
        if self.figures["baselines"][name]["difference"]["value"] <= 0:
            number += ", as its AUC is not higher here"
        words = SAID[self.figures["word"]].format(name=name, more=number)
        return f"{words}: it counts words" if self.figures.get(ITSELF) else words

    @property
    def areas(self) -> str:
        """`AUC 0.53 [0.40, 0.66], 0.80 [0.70, 0.88] by counting words (difference -0.27 [-0.40, -0.14]), ...`."""
        parts = (
            f"{with_own_ends(side['area'])} by counting {name} (difference {with_own_ends(side['difference'])})"
            for name, side in self.figures["baselines"].items()
        )
        labels = counted(self.figures["labels"], "label")
        return f"AUC {with_own_ends(self.figures['area'])}, {', '.join(parts)}, {labels}"

    def lines(self) -> Iterator[list[str]]:
        """Of a table: the AUC of the scores, then that of each baseline and how much less it is."""
        labels = str(self.figures["labels"])
        yield [self.name, "the scores", labels, with_own_ends(self.figures["area"]), ""]
        for name, side in self.figures["baselines"].items():
            yield ["", f"counting {name}", labels, with_own_ends(side["area"]), with_own_ends(side["difference"])]

    def sentence(self, subject: str) -> str:
        """`For faithfulness the judge does not beat counting words: AUC ...`."""
        said = f"{subject} {self.said}"
        if self.figures["word"] == UNSETTLED:
            said = f"it is {self.said.replace('whether it', f'whether {subject}')}"
        return f"For {self.name} {said}. {self.areas}."


def besides(metric: str, part: Json) -> Iterator[Beside]:
    """The verdict by labels of rows, and that of statements, where there is one that labels are enough for."""
    for name, figures in ((metric, part), (f"statements of {metric}", part.get("statements", {}))):
        beside = figures.get(COUNTING)
        if beside and (part["verdict"]["word"] != "too few labels" or beside["word"] != UNSETTLED):
            yield Beside(name, beside)
