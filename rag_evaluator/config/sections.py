"""The sections of the configuration: keys, types and defaults."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from rag_evaluator.errors import ConfigError

from .paths import BY_JUDGE as BY_JUDGE
from .paths import DEMO as DEMO
from .paths import NO_FOLDER, FullPath, ModelPath, expand, in_folder, template_path, verifier_path

AnySection = TypeVar("AnySection", bound="Section")
Text = Annotated[str, Field(min_length=1)]
USUAL_BATCH = 16
"""What `batch_size: auto` is where no memory is measured; on a CPU more brings little."""
_ON_OR_OFF = BeforeValidator(lambda value: ("off", "on")[value] if isinstance(value, bool) else value)
"""YAML reads `on` and `off` as true and false."""
Reasons = Literal["full", "short", "none"]
THOUGHTS = ("thinking_tokens", "thinking_markers")  # a server thinks by itself, as long as its own settings say
OWN_KEYS: Mapping[str, frozenset[str]] = {
    "transformers": frozenset({"dtype", "device_map", "keep_unpacked", "model_kwargs", "adapter", *THOUGHTS}),
    "server": frozenset({"url", "api_key_env", "served_model"}),
    "vllm": frozenset({"vllm", "dtype", "adapter", *THOUGHTS}),
}
"""Engine -> the keys that not every engine reads; engines that are not listed read all."""
OF_SERVERS = ("api_key_env", "piece")
OF_FOLDERS = ("kind", "base", "any_language")
"""Keys of a verifier that is asked by `url`, and of one that is loaded here."""
AUTO = "auto"
FAST = "vllm"
USUAL = "transformers"
"""As an engine: the fast one where it can run, else the usual one."""
MERGE = "Merge it into its base model with peft's merge_and_unload() and save_pretrained()"


def _no_truth_value(number: Any) -> Any:  # Any: whatever the user wrote
    """YAML reads yes as true, which pydantic would take for 1."""
    if isinstance(number, bool):
        raise ValueError("input should be a number")
    return number


Number = Annotated[float, BeforeValidator(_no_truth_value)]
"""A number in a list or a mapping; the numbers that are keys of a section need no mark."""


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, values are not changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _without_empty_sections(cls, section: Any) -> Any:  # Any: whatever the user wrote
        """A key of which only the name is there, `judge:`, is null in YAML: it counts as left out."""
        if not isinstance(section, Mapping):
            return section
        return {name: value for name, value in section.items() if value is not None or not cls._is_default(name)}

    @field_validator("*", mode="wrap")
    @classmethod
    def _without_truth_values(cls, value: Any, read: ValidatorFunctionWrapHandler) -> Any:  # Any: as written, and read
        """A number is no yes or no."""
        made = read(value)
        if type(made) in (int, float):
            _no_truth_value(value)
        return made

    @classmethod
    def _is_default(cls, name: str) -> bool:
        """Whether null stands for the default: not where it says something, nor of the language."""
        field = cls.model_fields.get(name)
        if field is None or name == "language":
            return False
        return not field.is_required() and type(None) not in get_args(field.annotation)


def section_of(annotation: Any) -> type[Section] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, Section) else None


class VllmConfig(Section):
    """What `engine: vllm` gives vLLM beside the model.

    Attributes:
        args: of its engine, as `vllm serve` takes them.
    """

    args: list[str] = Field(default_factory=list)

    def option(self, *names: str) -> str | None:
        """The value of an option in `args`, as `--name value` or `--name=value`; the last one, as vLLM takes it."""
        for place in reversed(range(len(self.args))):
            name, equals, value = self.args[place].partition("=")
            if name.replace("_", "-") in names:
                return value if equals else next(iter(self.args[place + 1 :]), None)
        return None


def model_of(judge: Mapping[str, Any]) -> str:
    """The model of a judge's section: of a server whose `model` nobody has set, its name there, or its address.

    Any: JSON.
    """
    is_unknown = judge.get("engine") == "server" and judge.get("model") == DEMO
    return str((judge.get("served_model") or judge.get("url")) if is_unknown else judge.get("model"))


class JudgeConfig(Section):
    """The generative model that judges.

    Attributes:
        engine: what runs the model, a name of `ENGINES`: `transformers` or `vllm` in this process, or a `server` that
            you have started; auto: `vllm` where a GPU and vLLM are, else `transformers`.
        model: a model folder, a GGUF file, a hub id that is in the cache, or `demo`, a bundled toy. Of a server: a
            folder with its tokenizer, by which prompts that it cuts are found; `demo`: it is not known.
        dtype: of the weights; auto: as they were saved, of a GGUF file bfloat16.
        device_map: auto: one GPU if the model fits it, else all; without a GPU the CPU is used. A GPU that is named and
            not here is an error.
        keep_unpacked: whether a GGUF file is unpacked once, and kept beside the cache of the hub (`HF_HOME`).
        model_kwargs: passed on to `from_pretrained`, `quantization_config` for instance.
        chat_template: auto: the tokenizer's, with a warning if it has none; or `none`, or a Jinja file.
        max_new_tokens: of one answer, at most. A list of statements, claims, names or questions has twice the tokens of
            the text that it is made from, if that is less; its score is missing if it needs more.
        temperature: 0 is greedy: the same input gives the same score.
        seed: of sampling; used only when `temperature` is above 0.
        batch_size: prompts decoded together at most; auto: as many as fit the memory of a GPU; on a CPU 16, 32 in half
            precision. Of a server, requests that are open at a time; auto: 32, 256 for vLLM.
        adapter: folder of a LoRA adapter, as peft saves it, that belongs to `model`; not for a `server`.
        thinking: whether the model thinks before it answers.
        thinking_tokens: what a thought may take; one that needs more is cut.
        thinking_markers: what stands before a thought and after it, for models whose way to think is not known.
        reasons: what the judge writes before a verdict to say why: all that it likes, at most 100 characters, nothing.
            Fewer tokens are quicker; other scores are made.
        examples: whether its prompts show examples: all of them, or none. A small model may repeat them.
        history: what of the turns before a question metrics see, where there is no `standalone_question`: `append`: all
            of them, then the question; `rewrite`: the question as the judge writes it anew; `ignore`: nothing.
        url: of a server: `http://127.0.0.1:8000/v1` or `unix:/run/judge.sock`.
        api_key_env: of a server: the environment variable that holds its key.
        served_model: of a server: the model's name there; null: the only one it has.
        vllm: of the engine `vllm`: its arguments.
    """

    engine: str = "transformers"
    model: ModelPath = DEMO
    adapter: Annotated[str, in_folder(lambda path, base: str(base / expand(path)))] | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device_map: str | dict[str, int | str] | None = "auto"
    keep_unpacked: bool = True
    model_kwargs: dict[str, Any] = Field(default_factory=dict)  # passed on to from_pretrained, so any value
    chat_template: Annotated[str, in_folder(template_path)] = "auto"
    max_new_tokens: int = Field(default=1024, ge=16)
    temperature: float = Field(default=0.0, ge=0.0, le=10.0)
    seed: int = Field(default=0, ge=0, lt=2**63)
    batch_size: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    thinking: Annotated[Literal["off", "on"], _ON_OR_OFF] = "off"
    thinking_tokens: int = Field(default=512, ge=1)
    thinking_markers: tuple[Text, Text] | None = None
    reasons: Reasons = "full"
    examples: Literal["all", "none"] = "all"
    history: Literal["append", "rewrite", "ignore"] = "append"
    url: str | None = None
    api_key_env: str | None = None
    served_model: str | None = None
    vllm: VllmConfig = Field(default_factory=VllmConfig)
    _because: str = PrivateAttr("")
    _key: str = PrivateAttr("")  # private: it is never written

    @property
    def because(self) -> str:
        """Why the engine was chosen, where it was `auto`; else empty."""
        return self._because

    @property
    def key(self) -> str:
        """The key of the server, where a client of it was given; else empty."""
        return self._key

    @property
    def model_name(self) -> str:
        """The model, as `model_of` names it: `demo` is the toy."""
        return model_of(dict(self))


class EmbeddingsConfig(Section):
    """The embedding model behind answer_relevancy, answer_correctness and semantic_similarity.

    Attributes:
        model: a sentence-transformers folder, a hub id that is in the cache, or `demo` (all-MiniLM-L6-v2, English).
        batch_size: texts that are embedded together.
        model_kwargs: passed on to `SentenceTransformer`, for instance `{device: cuda:1}`.
        encode_kwargs: passed on to `encode`, for instance `{normalize_embeddings: true}`.
    """

    model: ModelPath = DEMO
    batch_size: int = Field(default=64, ge=1)
    model_kwargs: dict[str, Any] = Field(default_factory=dict)  # passed on to SentenceTransformer
    encode_kwargs: dict[str, Any] = Field(default_factory=dict)  # passed on to SentenceTransformer.encode


class VerifierConfig(Section):
    """What says whether a text supports a sentence, for groundedness and its neighbours.

    Attributes:
        url: of a server that answers `POST /v1/systemone`: `http://127.0.0.1:8080`; null: the model runs here.
        model: a folder, a hub id that is in the cache; `judge`: the judge is asked yes or no; or
            `words`: the share of a sentence's words that the evidence has, a baseline that counts and does not read. Of
            a server: its name there.
        kind: a name of `VERIFIERS`; auto: recognised from the folder's config.json.
        base: of HHEM: the folder of flan-t5-base, for its configuration and tokenizer.
        batch_size: pairs of evidence and sentence computed together; auto: as suits the device. Of a server, requests
            that are open at a time; auto: 32.
        threshold: from this probability on a sentence counts as supported; labels of sentences can give one.
        evidence: `packed`: contexts in their order in as few pieces as the model can read; `each`: context by context,
            so that the one that supports a sentence is named.
        any_language: also take texts in a language that the model was not made for.
        combine: `words`: its words count beside what the judge says: those that the evidence has.
        calibration: calibration.json, by which labels of sentences say what both mean; docs/small-judges.md.
        api_key_env: of a server: the environment variable that holds its key.
        piece: of a server: the longest evidence it is given at once, in tokens of three bytes.
    """

    url: str | None = None  # before `model`, see `in_folder`
    model: Annotated[Text, in_folder(verifier_path)] = BY_JUDGE
    kind: Text = "auto"
    base: Annotated[ModelPath, Field(min_length=1)] | None = None
    batch_size: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    threshold: float = Field(default=0.5, gt=0.0, lt=1.0)
    evidence: Literal["packed", "each"] = "packed"
    any_language: bool = False
    combine: Literal["none", "words"] = "none"
    calibration: FullPath | None = None
    api_key_env: str | None = None
    piece: int = Field(default=1000, ge=32)
    key: ClassVar[str] = ""  # of `JudgeConfig`, where a client is given

    @property
    def by_judge(self) -> bool:
        return self.model == BY_JUDGE

    @property
    def has_folder(self) -> bool:
        """Whether it is a model of its own, with a folder."""
        return not self.url and self.model not in NO_FOLDER


class RerankerConfig(Section):
    """The model that says whether a retrieved context is relevant, with `match: reranker`.

    Attributes:
        model: a folder or a hub id that is in the cache: a cross-encoder with one label, such as bge-reranker-v2-m3, or
            Qwen3-Reranker.
        threshold: the probability from which a context counts as relevant.
        batch_size: contexts computed together; auto: as suits the device.
    """

    model: Annotated[ModelPath, Field(min_length=1)] | None = None
    threshold: float = Field(default=0.5, gt=0.0, lt=1.0)
    batch_size: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"


class RetrievalConfig(Section):
    """What the metrics `retrieval_*` compare.

    Attributes:
        k: the first contexts that count; None: all that were retrieved. Fewer retrieved contexts are no fault.
        match: what decides whether a retrieved context is relevant: the judge, equal text after normalisation, enough
            common character n-grams, or a reranker.
        overlap: how many of the shorter text's n-grams are enough.
        reranker: the model of `match: reranker`.
    """

    k: int | None = Field(default=None, ge=1)
    match: Literal["judge", "exact", "overlap", "reranker"] = "judge"
    overlap: float = Field(default=0.6, gt=0.0, le=1.0)
    reranker: RerankerConfig = RerankerConfig()


class SortConfig(Section):
    """How `sort` orders and compares contexts: the settings of the function and of the command.

    Attributes:
        k: number of contexts for `sim`, `overlap`, nDCG@k and P@k.
        top: compare the first k of both orders, else the last.
        fast: leave out contexts that do not hold the answer before sorting; else sort all.
        strategy: how contexts are ordered: `insertion` or `merge` (few rounds, full batches).
        both_orders: show each pair in both orders, so that a preference for one place cancels out.
    """

    k: int = Field(default=10, ge=1)
    top: bool = True
    fast: bool = True
    strategy: Literal["insertion", "merge"] = "insertion"
    both_orders: bool = True


class GenerateConfig(Section):
    """How `generate` writes reference answers: the settings of the function and of the command.

    Attributes:
        fast: groups of contexts are answered from together; else every context is asked alone.
        group_size: contexts in a group at most.
        seed: of the shuffle before groups are made.
        support: ask which contexts support the answer.
        replace: of the command: write references also for rows that have one.
    """

    fast: bool = True
    group_size: int = Field(default=20, ge=2)
    seed: int = Field(default=0, ge=0)
    support: bool = True
    replace: bool = False


class PromptsConfig(Section):
    """What to do where `prompts_dir` has no pack of the language.

    Attributes:
        adapt: make the packs that are missing with the judge, before the first score; else they are an error.
    """

    adapt: bool = False


def check_engine_keys(config: JudgeConfig, place: Callable[..., str]) -> None:
    """Raises `ConfigError` for keys of another engine, and for one that is missing.

    Args:
        config: keys at their defaults count as not set: a saved configuration has them all.
        place: where a key was written.
    """
    defaults = JudgeConfig()
    keys = OWN_KEYS[FAST] | OWN_KEYS[USUAL] if config.engine == AUTO else OWN_KEYS.get(config.engine)
    if keys is None:
        return
    for name in sorted(frozenset().union(*OWN_KEYS.values()) - keys):
        if getattr(config, name) != getattr(defaults, name):
            instead = f"{MERGE}, and serve the result" if name == "adapter" else "Remove it"
            owners = " or ".join(repr(engine) for engine, keys in OWN_KEYS.items() if name in keys)
            raise ConfigError(
                f"{place('judge', name)}: 'judge.{name}' does not apply to the engine '{config.engine}'. "
                f"{instead}, or set judge.engine to {owners}."
            )
    if config.engine == "server" and config.url is None:
        raise ConfigError(
            f"{place('judge', 'engine')}: 'judge.url' is missing, which the engine 'server' needs. Give the server's "
            "address, for instance http://127.0.0.1:8000/v1 or unix:/run/judge.sock."
        )


def check_verifier_keys(config: VerifierConfig, place: Callable[..., str]) -> None:
    """As `check_engine_keys`: a server has other keys than a folder."""
    for name in OF_FOLDERS if config.url else OF_SERVERS:
        if getattr(config, name) != getattr(VerifierConfig(), name):
            state = "set" if config.url else "not set"
            raise ConfigError(
                f"{place('verifier', name)}: 'verifier.{name}' does not apply where 'verifier.url' is {state}. "
                "Remove or add one."
            )
    if config.url and config.model in NO_FOLDER:
        raise ConfigError(
            f"{place('verifier', 'url')}: 'verifier.model' is missing: give the name that the model has on the server."
        )
    if config.combine != "none" and (config.calibration or not config.by_judge):
        other = "verifier.calibration" if config.calibration else f"verifier.model {config.model}"
        raise ConfigError(
            f"{place('verifier', 'combine')}: 'verifier.combine' is for verifier.model: {BY_JUDGE}, without a "
            f"calibration, and there is {other}. Remove one of them."
        )
