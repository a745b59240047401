"""`Models`: a `HuggingFacePipeline`, `HuggingFaceEmbeddings` and a verifier, found, signed, loaded, wrapped for ragas.

The pipeline is loaded in `judge/engines/transformers/loading.py`, the embeddings in `embeddings.py`.
"""

from typing import Any

from rag_evaluator.config import Config, find_language
from rag_evaluator.dataset import APPEND
from rag_evaluator.embeddings import EmbeddingsSource
from rag_evaluator.errors import ConfigError
from rag_evaluator.judge import source_of
from rag_evaluator.metrics import Metrics, Recorder, Rewrites, checked_times, signatures_of
from rag_evaluator.prompts import REWRITING, Prompts
from rag_evaluator.scorer import Scorer
from rag_evaluator.verifiers import AsyncReranker, Calibration, VerifierSource, reranker_of


class Models:
    """The models of an evaluation; each is loaded when it is first needed.

    Args:
        config, judge, embeddings, verifier: as `RAGEvaluator` takes them.

    Attributes:
        config: the same with the models that were given.
        history: what becomes of the turns before a question; the default until rows that have some are known.

    Raises `ModelError` for objects that cannot do the work.
    """

    def __init__(self, config: Config, judge: Any = None, embeddings: Any = None, verifier: Any = None) -> None:
        self.judge = source_of(judge, config.judge, config.offline)
        self.embeddings = EmbeddingsSource(embeddings, config.embeddings, config.offline)
        self.verifier = VerifierSource(verifier, config.verifier, config.language, config.offline)
        sections = {
            "judge": self.judge.config,
            "embeddings": self.embeddings.config,
            "verifier": self.verifier.config,
        }
        self.config = config.model_copy(update=sections)
        self.history = APPEND

    def signatures(self, metrics: Metrics, prompts: Prompts) -> dict[str, str]:
        """Return for each metric what one of its scores depends on. Finds the models that it uses, loads none.

        Raises `ConfigError` for a calibration of another judge, language or question.
        """
        config = self.config
        models = self.judge, self.embeddings, self.verifier
        options = config.responses, config.refusals, self.history
        lines = signatures_of(metrics, config.language, prompts, *models, *options)
        if path := config.verifier.calibration:
            calibration = Calibration.read(path)
            if why := calibration.refusal(lines.get(calibration.metric, "")):
                raise ConfigError(f"verifier.calibration: {path} does not fit this run: {why}. Make one for it.")
        return lines

    def scorer(self, metrics: Metrics, prompts: Prompts) -> Scorer:
        """Load the models that the metrics use, and make ragas metrics of them and the prompts. Raises `ModelError`."""
        rows = metrics.values()
        judge = self.judge.load() if REWRITING in prompts or any(row.judge for row in rows) else None
        embeddings = self.embeddings.load() if any(row.embeddings for row in rows) else None
        verifier = self.verifier.load() if any(row.verifier == "model" for row in rows) else None
        reranker = next((AsyncReranker(reranker_of(row.reranker)) for row in rows if row.reranker), None)
        greedy = judge is not None and bool(judge.capabilities.greedy)
        language = find_language(self.config.language)
        llm = Recorder(judge, {})
        made = {
            name: row.create(llm, embeddings, language, greedy, verifier, reranker) for name, row in metrics.items()
        }
        rewrites = None
        if judge is not None and REWRITING in prompts:
            rewrites = Rewrites(judge, self.judge.signature, prompts[REWRITING])
        for (name, attribute), prompt in prompts.items():
            if name in made:
                setattr(made[name], attribute, prompt)
        checked_times(metrics, self.judge, self.config)  # now the judge's capabilities are known
        return Scorer(made, metrics, judge, embeddings, language, rewrites)
