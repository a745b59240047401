"""Packs that ragas saved before `metrics.collections`: other file names and fields, mapped to today's prompts."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluator.prompts.pack import Key, Models, Pack, check_examples, read_pack

logger = logging.getLogger(__name__)
Example = dict[str, Any]  # JSON

NLI = ("n_l_i_statement_prompt",)
STATEMENTS = ("statement_generator_prompt", "long_form_answer_prompt")
PRECISION = "context_precision_prompt"
LEGACY_NAMES: Mapping[Key, Sequence[str]] = {
    ("faithfulness", "statement_generator_prompt"): [f"faithfulness_{name}" for name in STATEMENTS],
    ("faithfulness", "nli_statement_prompt"): [f"faithfulness_{name}" for name in NLI],
    ("answer_relevancy", "prompt"): ["answer_relevancy_response_relevance_prompt"],
    ("context_precision_with_reference", "prompt"): [
        f"llm_context_precision_with_reference_{PRECISION}",
        f"context_precision_{PRECISION}",
    ],
    ("context_precision_without_reference", "prompt"): [
        f"llm_context_precision_without_reference_{PRECISION}",
        f"context_utilization_{PRECISION}",
    ],
    ("context_recall", "prompt"): ["context_recall_context_recall_classification_prompt"],
    ("answer_correctness", "statement_generator_prompt"): [f"answer_correctness_{name}" for name in STATEMENTS],
    ("answer_correctness", "correctness_classifier_prompt"): ["answer_correctness_correctness_classifier"],
    ("factual_correctness", "prompt"): ["factual_correctness_claim_decomposition_prompt"],
    ("factual_correctness", "nli_prompt"): [f"factual_correctness_{name}" for name in NLI],
    ("noise_sensitivity", "statement_prompt"): [f"noise_sensitivity_{name}" for name in STATEMENTS],
    ("noise_sensitivity", "faithfulness_prompt"): [f"noise_sensitivity_{name}" for name in NLI],
    ("context_entity_recall", "prompt"): ["context_entity_recall_extract_entities_prompt"],
}
"""Today's prompt -> what the file of ragas 0.2 and 0.3 is called, without language and ending; newest first."""
RENAMED: Mapping[tuple[Key, str], Mapping[str, str]] = {
    (("noise_sensitivity", "statement_prompt"), "input"): {"answer": "text"},
}
"""(prompt, side of an example) -> what a field was called -> what it is called."""


def legacy_path(folder: Path, key: Key, name: str) -> Path | None:
    """The file in which an older ragas saved this prompt, if the folder has one.

    Args:
        name: of the language, as `Language.name` has it.
    """
    paths = [folder / f"{legacy}_{name}.json" for legacy in LEGACY_NAMES.get(key, ())]
    return next((path for path in paths if path.is_file()), None)


def is_legacy(path: Path, pack: Pack, key: Key) -> bool:
    """Whether ragas saved it: by its name, or by its hash of the source, which is a number there."""
    today = path.name.startswith(f"{key[0]}_{key[1]}_")
    named = any(path.name.startswith(f"{legacy}_") for legacy in LEGACY_NAMES.get(key, ()))
    return (named and not today) or not isinstance(pack.original_hash, str)


def load_pack(path: Path, original: Models, key: Key | None = None) -> Pack:
    """Read a pack file, of any version of ragas, and check it against its prompt's models.

    Raises `PromptError` naming file and key.
    """
    pack = read_pack(path)
    if key is not None and is_legacy(path, pack, key):
        pack = bring_up_to_date(pack, key, original, path)
    check_examples(pack, original, path)
    return pack


def bring_up_to_date(pack: Pack, key: Key, original: Models, path: Path) -> Pack:
    """The pack with its examples in today's fields; a field that no longer exists is left out with a warning.

    Examples of another kind than expected are left as they are; validation reports them.
    """
    if not all(isinstance(example, dict) for example in pack.examples):
        return pack
    gone: set[str] = set()
    models = {"input": original.input_model, "output": original.output_model}
    examples = []
    for saved in pack.examples:
        example = {**saved}
        for mend in MENDS.get(key, ()):
            example = mend(example)
        for side, model in models.items():
            if isinstance(example.get(side), dict):
                renamed = RENAMED.get((key, side), {})
                fields = {renamed.get(name, name): value for name, value in example[side].items()}
                gone |= {f"{side}.{name}" for name in fields.keys() - model.model_fields.keys()}
                example[side] = {name: value for name, value in fields.items() if name in model.model_fields}
        examples.append(example)
    if gone:
        logger.warning(
            "%s: %s: no longer a field of this prompt, left out (the pack was saved by ragas %s)",
            path,
            ", ".join(sorted(gone)),
            pack.ragas_version,
        )
    return replace(pack, examples=examples)


def _join_sentences(example: Example) -> Example:
    """In the first releases of ragas 0.2 each sentence had a list of simpler statements; now there is one list."""
    output = example.get("output")
    sentences = output.get("sentences") if isinstance(output, dict) else None
    if not isinstance(sentences, list) or not all(isinstance(sentence, dict) for sentence in sentences):
        return example
    statements = [statement for sentence in sentences for statement in sentence.get("simpler_statements", [])]
    return {**example, "output": {"statements": statements}}


def _with_levels(example: Example) -> Example:
    """Claims had their levels in the class; those of the default were saved."""
    return {**example, "input": {"atomicity": "low", "coverage": "low", **example.get("input", {})}}


MENDS: Mapping[Key, Sequence[Callable[[Example], Example]]] = {
    **{key: [_join_sentences] for key, names in LEGACY_NAMES.items() if any(STATEMENTS[1] in name for name in names)},
    ("factual_correctness", "prompt"): [_with_levels],
}
