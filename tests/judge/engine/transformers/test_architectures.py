"""Our engine with many architectures; all of them: `python -m benchmarks.architectures`."""

from pathlib import Path

import pytest

from benchmarks.architecture_checks import check
from tools.architectures import ARCHITECTURES
from tools.random_models import save_model

pytestmark = pytest.mark.models

QUESTIONS = (0, 1, 34, 44)  # of the 48: 107 to 247 tokens, two times two that begin alike
QUICK = (
    "llama gpt2 qwen2-moe minimax-m2 "  # attention to everything
    "mistral-window phi3-window mixtral-window gemma2 gemma3 gemma4 gpt-oss olmo3 cohere2 exaone4-window granite-swa "
    "mimo-v2 deepseek-v2 deepseek-v3 minicpm3 dots1 "  # other attention
    "llama4 phi3-longrope llama-dynamic deepseek-v3.2 qwen3-next lfm2 nemotron-h jamba mamba mamba2 "  # plain
    "recurrent-gemma rwkv "  # each row alone
    "falcon bloom "  # without the attention interface
    "gemma3-vision qwen3.5-vision mistral3-vision qwen2.5-vl qwen3-vl"  # of text and images
).split()
ALONE = {
    "recurrent-gemma": "its logits change beside a longer row",
    "rwkv": "its logits change beside a longer row",
    "deepseek-v3.2": "its sparse attention selects among the padding, too",
}


@pytest.mark.parametrize("name", QUICK)
def test_an_architecture_takes_its_path_and_answers_like_the_model_alone_in_any_batch(
    name: str, tmp_path: Path
) -> None:
    finding = check(save_model(ARCHITECTURES[name], tmp_path), QUESTIONS, new_tokens=16)
    assert finding.error is None
    assert finding.way == ARCHITECTURES[name].way, finding.why
    assert finding.rows_alone == ALONE.get(name)
    assert finding.right or finding.way == "refused", finding
