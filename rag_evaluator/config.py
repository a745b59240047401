"""The configuration: what `config.yaml` may say, and how it is read and checked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from rag_evaluator.errors import ConfigError, did_you_mean

DEMO = "demo"
FolderName = Annotated[str, StringConstraints(pattern=r"^[\w][\w.\- ]*$", max_length=100)]


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, values are not changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class JudgeConfig(Section):
    """The generative model that judges."""

    model: str = DEMO
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device_map: str | dict[str, int | str] | None = "auto"
    model_kwargs: dict[str, Any] = Field(default_factory=dict)  # passed on to from_pretrained, so any value
    chat_template: str = "auto"
    max_new_tokens: int = Field(default=1024, ge=16)
    temperature: float = Field(default=0.0, ge=0.0, le=10.0)
    seed: int = Field(default=0, ge=0, lt=2**63)
    batch_size: int = Field(default=16, ge=1)


class EmbeddingsConfig(Section):
    """The embedding model behind answer_relevancy, answer_correctness and semantic_similarity."""

    model: str = DEMO
    batch_size: int = Field(default=64, ge=1)
    model_kwargs: dict[str, Any] = Field(default_factory=dict)  # passed on to SentenceTransformer
    encode_kwargs: dict[str, Any] = Field(default_factory=dict)  # passed on to SentenceTransformer.encode


class SortConfig(Section):
    """How `sort` orders contexts; its strategies are those of `rag_evaluator.ranking`."""

    k: int = Field(default=10, ge=1)
    top: bool = True
    fast: bool = True
    strategy: str = "insertion"
    both_orders: bool = True


class GenerateConfig(Section):
    """How `generate` writes reference answers."""

    fast: bool = True
    group_size: int = Field(default=20, ge=2)
    seed: int = Field(default=0, ge=0)
    support: bool = True
    replace: bool = False


class PromptsConfig(Section):
    """What to do where `prompts_dir` has no pack of the language."""

    adapt: bool = False
    adapt_instruction: bool = True


class Config(Section):
    """One evaluation. Paths are absolute once read by `load_config`."""

    name: FolderName = "run"
    dataset: Path | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    output_dir: Path = Path("results")
    language: str = Field(default="english", min_length=1)
    metrics: list[str] = Field(min_length=1)
    prompts_dir: Path = Path("prompts")
    prompts: PromptsConfig = PromptsConfig()
    judge: JudgeConfig = JudgeConfig()
    embeddings: EmbeddingsConfig = EmbeddingsConfig()
    sort: SortConfig = SortConfig()
    generate: GenerateConfig = GenerateConfig()
    offline: bool = True
    chunk_size: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    _source: str = PrivateAttr("config")

    @property
    def source(self) -> str:
        """What errors call the configuration: the name of its file."""
        return self._source

    @property
    def results_dir(self) -> Path:
        return self.output_dir / self.name


class UniqueKeyLoader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error: PyYAML would silently keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        own = [
            key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"
        ]  # what is merged in may be replaced
        keys = [self.construct_object(key, deep=True) for key in own]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                line = own[position].start_mark.line + 1
                raise ConfigError(f"{self.name}, line {line}: key '{key}' stands twice. Remove one of them.")
        return super().construct_mapping(node, deep)


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a YAML file, apply `key.sub=value` overrides, check everything, resolve paths from the file's folder.

    Raises `ConfigError` naming the file, the key and the nearest right one.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"{path}: no such configuration file. Copy config.yaml of the project and edit it.")
    data = _read_yaml(path)
    for override in overrides:
        _apply_override(data, override)
    return make_config(data, path.name, path.resolve().parent)


def default_config(overrides: Sequence[str] = (), **data: Any) -> Config:
    """A configuration without a file: the defaults, `data` and `key.sub=value` overrides. Raises `ConfigError`."""
    for override in overrides:
        _apply_override(data, override)
    return make_config(data, "--set")


def make_config(data: Mapping[str, Any], source: str = "config", base: Path | None = None) -> Config:
    """Check a mapping and resolve its paths from `base` (the current folder if None). Raises `ConfigError`."""
    try:
        config = Config.model_validate(dict(data))
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(source, detail) for detail in error.errors())) from None
    config._source = source
    try:
        return _resolve_paths(config, (base or Path.cwd()).resolve())
    except RuntimeError as error:  # pathlib's, for a '~user' that is none
        raise ConfigError(f"{source}: a path begins with '~': {error} Write it from '/'.") from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            loader = UniqueKeyLoader(file)
            loader.name = str(path.name)
            data = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(
            f"{path.name}{line}: not valid YAML: {error.problem}. Check colons and indentation."
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path.name}: cannot be read as UTF-8 YAML: {error}. Save it as UTF-8 text.") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path.name}: expected keys and values such as 'dataset: data.jsonl', got {data!r:.60}.")
    return data


def _apply_override(data: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {override!r}: expected key=value, for example --set judge.batch_size=8.")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {key}: the value {text!r} is not valid YAML ({error.__class__.__name__}).") from None
    *parents, last = key.strip().split(".")
    for parent in parents:
        if data.get(parent) is None:  # a section without keys is None in YAML
            data[parent] = {}
        data = data[parent]
        if not isinstance(data, dict):
            raise ConfigError(f"--set {key}: '{parent}' is a value, not a section.")
    data[last] = value


def _explain(source: str, detail: ErrorDetails) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(".")
    if detail["type"] == "extra_forbidden":
        *parents, last = detail["loc"]
        return f"{source}: '{path}' is not a known key.{did_you_mean(str(last), _fields_at(parents))}"
    if detail["type"] == "missing":
        return f"{source}: '{path}' is missing. Add it; the project's config.yaml shows every key."
    mistaken = detail["type"] == "string_type" and not isinstance(detail["input"], list | dict | None)
    quotes = " Put it in quotes." if mistaken else ""  # YAML reads no, 2024 and 1e3 as other things than text
    return f"{source}: '{path}' is {detail['input']!r:.80}: {detail['msg'][0].lower()}{detail['msg'][1:]}.{quotes}"


def _fields_at(parents: Sequence[int | str]) -> list[str]:
    model: type[BaseModel] = Config
    for parent in parents:
        annotation = model.model_fields[str(parent)].annotation
        assert isinstance(annotation, type) and issubclass(annotation, BaseModel)
        model = annotation
    return list(model.model_fields)


def _resolve_paths(config: Config, base: Path) -> Config:
    judge = config.judge.model_copy(
        update={
            "model": _model_path(config.judge.model, base),
            "chat_template": _template_path(config.judge.chat_template, base),
        }
    )
    embeddings = config.embeddings.model_copy(update={"model": _model_path(config.embeddings.model, base)})
    return config.model_copy(
        update={
            "dataset": None if config.dataset is None else base / config.dataset.expanduser(),
            "output_dir": base / config.output_dir.expanduser(),
            "prompts_dir": base / config.prompts_dir.expanduser(),
            "judge": judge,
            "embeddings": embeddings,
        }
    )


def _model_path(model: str, base: Path) -> str:
    """A folder (existing, or written like one) becomes absolute; 'demo' and hub ids stay as they are."""
    path = base / Path(model).expanduser()
    looks_local = model.startswith((".", "/", "~"))
    return str(path) if model != DEMO and (looks_local or path.is_dir()) else model


def _template_path(template: str, base: Path) -> str:
    """A file (existing, or written like one) becomes absolute; 'auto', 'none' and names of templates stay."""
    path = base / Path(template).expanduser()
    looks_local = "/" in template or "." in template or template.startswith("~")
    return str(path) if looks_local or path.is_file() else template
