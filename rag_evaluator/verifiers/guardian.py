"""Granite Guardian 3.0 to 4.1: a model that writes, asked whether a text is not grounded; one pass, nothing written.

Format: github.com/ibm-granite/granite-guardian, evaluation/models (Apache-2.0). Its yes means that the text is not
grounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evaluator.errors import ModelError
from rag_evaluator.verifiers.batches import Reader, next_logits

# Any in this module: objects of transformers and torch, messages of a chat.

DAY = "26 Jul 2024"  # of templates that name the day: the same prompt on every day
FIXED_DAY = f"{{% macro strftime_now(format) %}}{DAY}{{% endmacro %}}"
SCORE = "<think>\n</think>\n<score>"  # what the newer models write before yes or no when they do not think
BLOCK = (
    "<guardian><no-think>As a judge agent, assess whether the provided text meets the given judging criteria using all "
    "available information, including conversations, documents, and tools. Provide your score immediately without "
    "explanation. Output empty <think>\n</think> tags followed by your score in <score></score> tags.\n\n"
    "### Criteria: A text is considered ungrounded or unfaithful if it includes information lacking support from, or "
    "directly contradicting, the provided document(s). This risk arises when the text fabricates details, "
    "misinterprets the content, or makes unsupported extrapolations beyond what is explicitly stated in the "
    "document(s).\n\n"
    "### Scoring Schema: If the last assistant's text meets the criteria, return 'yes'; otherwise, return 'no'."
)


@dataclass(frozen=True)
class Generation:
    """How a generation of Granite Guardian is asked.

    Attributes:
        mark: what only its chat template names; empty: the rest.
        role: of the message that is the premise; empty: the premise is a document.
        block: the message after the sentence; empty: none.
        opening: what stands before the answer.
        variables: of the chat template.
    """

    mark: str
    role: str = ""
    block: str = ""
    opening: str = SCORE
    variables: Mapping[str, Any] = field(default_factory=dict)


GENERATIONS = (
    Generation("criteria_id", variables={"guardian_config": {"criteria_id": "groundedness"}, "think": False}),  # 3.3
    Generation("risk_name", "context", opening="", variables={"guardian_config": {"risk_name": "groundedness"}}),  # 3.0
    Generation("", block=BLOCK),  # 4.1
)


def written(tokenizer: Any, premise: str, hypothesis: str) -> str:
    """The prompt up to the place of yes or no. Raises `ModelError` for a tokenizer without a chat template."""
    template = tokenizer.chat_template
    if not isinstance(template, str):
        raise ModelError("verifier.model: the folder has no chat template, which Granite Guardian is asked with.")
    asked = next(row for row in GENERATIONS if row.mark in template)
    messages = [(asked.role, premise), ("assistant", hypothesis), ("user", asked.block)]
    prompt = tokenizer.apply_chat_template(
        [{"role": role, "content": text} for role, text in messages if role and text],
        documents=None if asked.role else [{"doc_id": "0", "text": premise}],
        chat_template=FIXED_DAY + template,
        tokenize=False,
        add_generation_prompt=True,
        **asked.variables,
    )
    return f"{prompt}{asked.opening}"


def reader(tokenizer: Any) -> Reader:
    """What gives the share of no among yes and no, in any spelling, where the answer begins, (batch,)."""
    import torch

    names = {index: tokenizer.decode([index]).strip().lower() for index in range(len(tokenizer))}
    yes, no = ([index for index, name in names.items() if name == word] for word in ("yes", "no"))
    if not yes or not no:
        raise ModelError("verifier.model: its tokenizer has no token for 'yes' or none for 'no'.")

    def read(model: Any, inputs: dict[str, Any]) -> Any:
        scores = next_logits(model, inputs).log_softmax(-1)
        both = torch.stack([scores[:, yes].logsumexp(-1), scores[:, no].logsumexp(-1)], -1)
        return both.softmax(-1)[:, 1]

    return read
