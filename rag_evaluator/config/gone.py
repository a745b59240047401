"""What earlier versions had, and what to use in its place: the answer to an old key or command."""

from collections.abc import Mapping

KEYS: Mapping[str, str] = {
    "judges": "Run each judge alone (--set judge.model=MODEL --set name=NAME), then compare the runs with 'compare'.",
    **dict.fromkeys(
        ("probe.pairs", "probe.reliable", "probe.false_alarms", "probe.useless"),
        "The limits of the words are fixed, and probe.json has every figure. Remove it.",
    ),
    "testset.all_filters": "The first filter that leaves a question out is the last that it is asked. Remove it.",
    "testset.names": "Columns have the names of ragas: rename those of testset.jsonl. Remove it.",
    "testset.second_judge": "Score the test set with the other model as judge, and compare the runs.",
    "keep_prompts": "rag_evaluator.read_questions(FOLDER) gives every question in full. Remove it.",
    "judge.dialect": "Every server is asked by chats with a JSON schema. Remove it.",
    "weight": "Each row counts once. Draw rows in the proportions of your users' questions, or see the figures of each "
    "kind of row: --set group_by=[COLUMN]",
    "judge.vllm.python": "vLLM runs in this process: install it beside the program (docs/engines.md), or start "
    "'vllm serve' and set judge.engine: server.",
    "judge.vllm.start_timeout": "vLLM runs in this process, and loading is waited for. Remove it.",
    "retrieval.reranker.gains": "The gain of nDCG is the verdict by retrieval.reranker.threshold. Remove it.",
    "prompts.adapt_instruction": "Instructions are translated with the examples. Remove it.",
    "custom_metrics.language": "A question is asked as it is written, in the language of the run: remove it.",
    **{
        f"metric_options.{metric}.{key}": "It was of verdicts: cascade. Write verdicts: verifier, or verdicts: judge."
        for metric in ("faithfulness", "context_recall", "factual_correctness", "noise_sensitivity")
        for key in ("doubtful", "audit")
    },
}
"""Key of the configuration, as in messages -> what to do."""
DEFAULTS: Mapping[str, object] = {
    "judge.dialect": "auto",
    "judge.vllm.start_timeout": 900.0,
    "keep_prompts": False,
    "prompts.adapt_instruction": True,
    "retrieval.reranker.gains": "binary",
    "probe.pairs": 20,
    "probe.reliable": 0.8,
    "probe.false_alarms": 0.15,
    "probe.useless": 0.7,
    "testset.all_filters": False,
    "testset.names": "ragas",
}
"""Of those whose default was not empty, the default: runs of old saved it, though nobody had set it."""
COMMANDS: Mapping[str, str] = {
    "plan": "Type check in its place: it says what a run takes. How many rows a difference needs, compare says.",
    "doctor": "Type check, without a configuration: it shows versions and devices.",
}
"""Command -> what to do."""
