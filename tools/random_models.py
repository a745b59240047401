"""Folders of models with random weights, of any architecture that transformers has, as a user's model folder is.

All have the demo judge's tokenizer, float32 and a size of some hundred thousand weights.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rag_evaluator.demo import DEMO_JUDGE

Way = Literal["packed", "plain", "refused"]
"""How our engine runs a model; refused: it does not load."""
SHAPE: dict[str, Any] = {  # of a model's text; a configuration gets those that it knows
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
    "initializer_range": 0.3,  # so large that what a row sees changes what it answers
}
UNUSED = 32  # logits more than the tokenizer has entries, as real models have
NOISE = 0.1  # added to vectors: new ones are all 0 or all 1, so that a lost one would not show


@dataclass(frozen=True)
class Architecture:
    """A model class of transformers, and what our engine is expected to do with it.

    Attributes:
        name: what its classes begin with: `{name}Config`, `{name}{head}`.
        about: what is special, for people.
        way: how the engine is expected to run it.
        settings: of its text, beside `SHAPE`.
        head: what the name of its model class ends with.
        text: what the class of its text's configuration begins with, where that is not `name`.
        rest: settings beside those of its text, of a model that has more parts; empty: its text alone is a model.
    """

    name: str
    about: str = ""
    way: Way = "packed"
    settings: Mapping[str, Any] = field(default_factory=dict)
    head: str = "ForCausalLM"
    text: str | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model_class(self) -> str:
        """Its name in transformers."""
        return self.name + self.head


def save_model(architecture: Architecture, folder: Path, seed: int = 0) -> Path:
    """Save a model with random weights, and its tokenizer."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(DEMO_JUDGE)
    tokenizer.save_pretrained(folder)
    random_model(architecture, len(tokenizer) + UNUSED, seed).save_pretrained(folder)
    return folder


def random_model(architecture: Architecture, vocab_size: int, seed: int = 0) -> Any:
    """A model with random weights. Any: transformers gives models no common type."""
    import torch
    import transformers

    torch.manual_seed(seed)
    model = getattr(transformers, architecture.model_class)(_config(architecture, vocab_size))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += NOISE * torch.randn_like(parameter)
    return model


def _config(architecture: Architecture, vocab_size: int) -> Any:
    """The configuration. Any: transformers gives no common type for what it holds."""
    import transformers

    text_class = getattr(transformers, f"{architecture.text or architecture.name}Config")
    known = _names(text_class)
    shape = {key: value for key, value in SHAPE.items() if key in known}
    text = text_class(**{**shape, "vocab_size": vocab_size, **architecture.settings})
    if not architecture.rest:
        return text
    return getattr(transformers, f"{architecture.name}Config")(text_config=text.to_dict(), **architecture.rest)


def _names(config_class: Any) -> set[str]:
    """Settings that a configuration has, by all of their names."""
    names = set(inspect.signature(config_class.__init__).parameters)
    return names | set(getattr(config_class, "__dataclass_fields__", {})) | set(config_class.attribute_map)
