"""What is read of the model's folder on this machine: tokenizer, template, window; no weights."""

from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.adapter_folder import refuse_adapter_files
from rag_evaluator.judge.engine.transformers.chat import PromptEncoder
from rag_evaluator.judge.engine.transformers.model_folder import refuse_gguf
from rag_evaluator.judge.engine.transformers.sequence import Vocabulary
from rag_evaluator.judge.engine.transformers.templates import check_template
from rag_evaluator.judge.engine.transformers.tokenizer import read_tokenizer, window_of
from rag_evaluator.models.hub import find_model, load_failure
from rag_evaluator.offline import hub


@dataclass(frozen=True)
class LocalModel:
    """Tokenizer and window of a model.

    Attributes:
        folder: where they were read, or a hub id.
        window: tokens of prompt and answer together.
    """

    folder: str
    encoder: PromptEncoder
    vocabulary: Vocabulary
    window: int

    @staticmethod
    def find(config: JudgeConfig, offline: bool) -> str:
        """The folder, or a hub id. Raises `ModelError`."""
        refuse_adapter_files(Path(config.model))
        refuse_gguf(Path(config.model), needed=("config.json", "tokenizer.json"))
        source = find_model(config.model, offline)
        check_template(config.chat_template, Path(source))
        return source

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> "LocalModel":
        """Raises `ModelError`."""
        source = cls.find(config, offline)
        from transformers import AutoConfig

        try:
            with hub(offline):
                model = AutoConfig.from_pretrained(source, local_files_only=offline, trust_remote_code=False)
                tokenizer = read_tokenizer(source, local_files_only=offline, trust_remote_code=False)
        except ModelError:
            raise
        except Exception as error:  # json and huggingface_hub each raise kinds of their own
            raise ModelError(f"judge.model: {source} cannot be loaded: {load_failure(error)}") from error
        size = max(int(model.get_text_config().vocab_size), len(tokenizer))
        vocabulary = Vocabulary(tokenizer, size)
        return cls(source, PromptEncoder.of(tokenizer, config), vocabulary, window_of(model, tokenizer))
