"""Questions before the first judgement: does the server obey, and is its model the one in the local folder?"""

from contextlib import aclosing

from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError
from rag_evaluator.judge.engine.server.dialects import Continuation, Dialect
from rag_evaluator.judge.engine.transformers.chat import PromptEncoder
from rag_evaluator.judge.engine.transformers.sequence import Vocabulary
from rag_evaluator.judge.grammar.tree import Text

QUESTION = "Which colour has the sky on a clear day? Answer with one word."
CONSTANT = '{"zq": 40716}'  # no model would say it
SAMPLE = 'Corvania, 1921: {"verdict": 1, "reason": "Nació en Tesk; 他出生于一座小城市。"}\n    Größe'
MOST = 64  # tokens


async def probe(dialect: Dialect, encoder: PromptEncoder, vocabulary: Vocabulary) -> None:
    """Raises `ModelError` if a server does not obey grammars, or has another tokenizer than the local folder."""
    try:
        await _check_grammar(dialect, encoder, vocabulary)
        await _check_tokenizer(dialect, encoder)
    except (JudgementError, JudgeLostError) as error:
        raise ModelError(f"judge.url: the server fails at a first question. {error}") from error


async def _check_grammar(dialect: Dialect, encoder: PromptEncoder, vocabulary: Vocabulary) -> None:
    continuation = Continuation(encoder.encode(QUESTION), Text(CONSTANT), MOST, MOST)
    text = b""
    async with aclosing(dialect.write(continuation)) as tokens:
        async for written in tokens:
            if written.token < vocabulary.size:
                text += vocabulary.texts[written.token]
    if not text.decode("utf-8", "replace").startswith(CONSTANT):
        raise ModelError(
            f"judge.url: the server was asked for {CONSTANT} by a grammar and wrote {text[:60]!r}: it ignores "
            "grammars, so its answers could not be used, or its tokens are not those of judge.model."
        )


async def _check_tokenizer(dialect: Dialect, encoder: PromptEncoder) -> None:
    text = await dialect.text_of(encoder.tokenizer(SAMPLE, add_special_tokens=False)["input_ids"])
    if text.strip() != SAMPLE.strip():
        raise ModelError(
            f"judge.model: its tokenizer is not that of the server's model, which reads {text[:60]!r} where "
            f"{SAMPLE[:60]!r} was meant. Give the folder of the model that is served."
        )
