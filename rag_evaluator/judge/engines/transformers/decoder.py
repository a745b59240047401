"""What both decoders need: memory and batch sizes, failed devices, trials of a model with rows, active sequences."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import psutil
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from rag_evaluator.config import USUAL_BATCH
from rag_evaluator.errors import JudgeLostError, JudgementError
from rag_evaluator.hub import main_memory
from rag_evaluator.judge.encoding.sequence import Decoded
from rag_evaluator.judge.protocol import Ids, Reply

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LENGTH = 2048  # tokens of a sequence that `batch_size: auto` reckons with; of longer ones fewer are decoded together
LEAST_PREFILL = 64  # tokens of a pass; fewer save little memory
CPU_HALF_MOST = 32  # in half precision; twice as many rows take 1.5 times as long (SmolLM2, 2 cores)
GPU_MOST = 256  # more would make no pass faster by much, and a run that is killed would lose more
SHARE = 0.5  # of the free memory may hold keys and values of a batch; the rest is for the passes and what is kept
NO_MEMORY = (  # in lower case, as in the messages of libraries
    "out of memory",  # "CUDA out of memory", "CUDA error: out of memory", HIP, XPU, MPS
    "outofmemory",  # hipErrorOutOfMemory
    "can't allocate memory",  # the CPU
    "status_alloc_failed",  # cuBLAS, cuDNN, hipBLAS, cuSPARSE, cuSOLVER
    "rocblas_status_memory_error",
    "nvml_success == r",  # the CUDA allocator's own assertion, when the device is full
)
NO_DEVICE = (  # after these a device cannot be used any more in this process
    "illegal memory access",
    "illegal address",
    "device-side assert",
    "unspecified launch failure",
    "uncorrectable ecc",
    "hardware error",
    "device lost",
    "gpu is lost",
)
UNCONVERTED = {"embedding", "__get__", "is_floating_point"}  # picks rows of a table, reads an attribute: no need of all
PLAIN = (torch.Tensor, torch.nn.Parameter)  # other weights may not be parted
PART = 16_384  # outputs of a layer that are computed together
SMALL = 50_000_000  # parameters, for which threads cost more to wake than they save
HALVES = (torch.bfloat16, torch.float16)
WINDOWS = ("sliding_window", "attention_chunk_size", "attention_window_size", "window_size")
SHORT = 9  # tokens of the row that is tried alone and beside a long one
STEPS = 2  # tokens after it: the first is computed from the prompt, the second from the cache
# floating point operations that the trial may take: some seconds
CPU_WORK = 1e12
GPU_WORK = 1e15
BatchSizeSetting = int | Literal["auto"]
Outcome = Reply | JudgementError
Logits = Callable[[Sequence[Ids], int], torch.Tensor]
Item = TypeVar("Item")
Answer = TypeVar("Answer")
logger = logging.getLogger(__name__)


def free_bytes(model: "PreTrainedModel") -> int:
    """Bytes that the devices of a loaded model have left, in sum."""
    devices = {parameter.device for parameter in model.parameters()}
    return sum(_free(device) for device in devices)


def held_bytes(model: "PreTrainedModel") -> int:
    """Bytes that are held now: of a model on GPUs by its tensors and those beside them, else by this process."""
    if on_gpus(model):
        return sum(map(torch.cuda.memory_allocated, {parameter.device for parameter in model.parameters()}))
    return int(psutil.Process().memory_info().rss)


def on_gpus(model: "PreTrainedModel") -> bool:
    return all(parameter.device.type == "cuda" for parameter in model.parameters())


def _free(device: torch.device) -> int:
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + unused)
    return main_memory()[1]


@dataclass
class BatchSize:
    """How many sequences are decoded together: at most what the user allows, the memory holds, and errors have left.

    Attributes:
        most: the user's limit.
        room: bytes for the sequences' keys and values.
        slot_bytes: what one token of one sequence takes of them; 0 if it is not known.
        row_bytes: what a sequence takes beside its tokens: recurrent states.
        prefill: tokens of prompts that are packed into one pass at most; 0 where none are.
    """

    most: int
    room: int
    slot_bytes: int
    row_bytes: int = 0
    prefill: int = 0

    @classmethod
    def of(cls, model: "PreTrainedModel", asked: BatchSizeSetting, slot_bytes: int, row_bytes: int = 0) -> "BatchSize":
        """The batch size that the user asks for, or the one that the memory which a loaded model leaves allows.

        The latter is a power of two, so that two runs on the same kind of device have the same batches although some
        megabytes more or less are free; for the same reason no times are measured.
        """
        size = cls(USUAL_BATCH if asked == "auto" else asked, int(SHARE * free_bytes(model)), slot_bytes, row_bytes)
        if asked == "auto" and (slot_bytes or row_bytes):
            on_cpu = CPU_HALF_MOST if model.dtype in HALVES else USUAL_BATCH
            size.most = GPU_MOST if on_gpus(model) else on_cpu
            size.most = 1 << (size.that_fit(LENGTH).bit_length() - 1)
        return size

    def that_fit(self, length: int) -> int:
        """How many sequences of a length in tokens fit; at least one."""
        needed = self.slot_bytes * length + self.row_bytes
        return max(1, min(self.most, self.room // needed)) if needed else self.most

    def run_or_halve(self, handle: Callable[[Sequence[Item]], list[Answer]], items: Sequence[Item]) -> list[Answer]:
        """`handle(items)`; without enough memory it is called again with half as many, which stays the limit.

        So do the tokens of a pass; with one item they alone are halved.
        """
        while True:
            size = min(self.most, len(items))
            try:
                return handle(items)
            except (RuntimeError, MemoryError) as error:
                if (size == 1 and self.prefill <= LEAST_PREFILL) or not out_of_memory(error):
                    raise
                self.most = max(size // 2, 1)
                self.prefill = min(self.prefill, max(self.prefill // 2, LEAST_PREFILL))
                tokens = f" and {self.prefill} tokens a pass" if self.prefill else ""
                logger.warning("out of memory with %d sequences: going on with %d%s", size, self.most, tokens)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def out_of_memory(error: BaseException) -> bool:
    """Whether a library failed for lack of memory, on any device; most raise a plain `RuntimeError`."""
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(sign in text for sign in NO_MEMORY)


@contextmanager
def device_watched() -> Iterator[None]:
    """Raises `JudgeLostError` where a device failed so that every later call will fail, too."""
    try:
        yield
    except RuntimeError as error:
        if not out_of_memory(error) and any(sign in str(error).lower() for sign in NO_DEVICE):
            raise JudgeLostError(f"the device failed: {str(error).splitlines()[0]}") from error
        raise


@contextmanager
def threads_for(model: "PreTrainedModel") -> Iterator[None]:
    """A small model on a CPU computes on one thread inside."""
    threads = torch.get_num_threads()
    if model.device.type != "cpu" or model.num_parameters() > SMALL:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass
class ActiveSequence:
    """A sequence and the tokens to feed next: of its prompt, its last choice, what the grammar forces after it."""

    sequence: Decoded
    feed: list[int]

    def follow(self) -> None:
        """Take what the grammar forces next, so that it is fed without a pass of its own."""
        while forced := self.sequence.next_forced():
            token = forced[0]
            self.sequence.push(token)
            self.feed.append(token)

    def take(self, token: int) -> None:
        """Accept the token that was chosen after all of the feed."""
        self.sequence.push(token)
        self.feed = [token]
        self.follow()


class InParts(TorchFunctionMode):
    """Inside, the layer of a large vocabulary is computed in parts: kernels copy weights of another order."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        is_plain = func is torch.nn.functional.linear and type(args[1]) in PLAIN and set(args[2:]) <= {None}
        if is_plain and len(args[1]) > PART:
            return torch.cat([self.compute(func, (args[0], part)) for part in args[1].split(PART)], dim=-1)
        return self.compute(func, args, kwargs or {})

    def compute(self, func: Callable[..., Any], args: Any, kwargs: Any = MappingProxyType({})) -> Any:
        return func(*args, **kwargs)


class InFloat32(InParts):
    """Inside, each function of torch gets float32 in place of half precision: numbers, and types that it is to make.

    A weight is converted where it is used and freed afterwards.
    """

    def compute(self, func: Callable[..., Any], args: Any, kwargs: Any = MappingProxyType({})) -> Any:
        if func.__name__ in UNCONVERTED:
            return tree_map(_float32, func(*args, **kwargs))
        return func(*tree_map(_float32, args), **tree_map(_float32, dict(kwargs)))


def in_float32(model: "PreTrainedModel", compute: Callable[[], Answer]) -> tuple[Answer, bool]:
    """What a function makes of a model in float32, so that no difference is one of rounding; and whether it did so.

    In bfloat16 the last bit decides which experts a token gets, and logits change then as much as by a fault. Quantised
    models, and those for which float32 fails (no memory for the largest weight), compute in their own type.
    """
    if not getattr(model, "hf_quantizer", None):
        try:
            with InFloat32():
                return compute(), True
        except Exception as error:  # kernels that know no float32 raise errors of any kind
            logger.debug("the model cannot be computed in float32: %s", error, exc_info=True)
    return compute(), model.dtype == torch.float32


def _float32(item: Any) -> Any:
    if isinstance(item, torch.Tensor) and item.dtype in HALVES:
        return item.detach().to(torch.float32)
    return torch.float32 if isinstance(item, torch.dtype) and item in HALVES else item


def rope_switch(config: Any) -> int | None:
    """The length in tokens beyond which a row gets other rope factors; None if all lengths have the same.

    transformers takes the factors for all rows of a batch from the longest (`modeling_rope_utils`). Dynamic
    factors stay the same, since `window_of` ends where they begin to grow.
    """
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [kind for kind in rope.values() if isinstance(kind, dict)] or [rope]  # per kind of layer, or one for all
    switches = {
        "longrope": [kind.get("original_max_position_embeddings") for kind in kinds],
        "dynamic": [getattr(config, "max_position_embeddings", None) for _ in kinds],
    }
    lengths = [switches[name][i] for i, kind in enumerate(kinds) if (name := kind.get("rope_type")) in switches]
    return min(map(int, filter(None, lengths)), default=None)


def why_alone(model: "PreTrainedModel", logits: Logits, window: int) -> str | None:
    """Why each row must be decoded alone; None if rows may be in one batch.

    Tried out with a short row, alone and beside one that is longer than the model's attention window.

    Args:
        logits: `(rows, steps, vocab)` logits after each of some sequences, and the tokens that follow.
        window: tokens of prompt and answer together that the model can read.
    """
    config = model.config.get_text_config()
    if any(name.startswith("index_topk") for name in config.to_dict()):  # a short trial would not show it
        return "its sparse attention selects among the padding, too"

    def trial(short: Ids, long: Ids) -> str | None:
        rows = [short], [short, long]
        (alone, beside), exact = in_float32(model, lambda: [logits(row, STEPS)[0].float() for row in rows])
        difference = (alone - beside).abs().max()
        scale = alone.abs().max()
        limit = 1e-4 if exact else 0.2  # in bfloat16 the experts of a token may change
        return None if bool(difference <= limit * scale) else "its logits change beside a longer row"

    return try_rows(model, window, STEPS, trial)


def try_rows(
    model: "PreTrainedModel",
    window: int,
    steps: int,
    trial: Callable[[Ids, Ids], Answer],
) -> Answer:
    """What a trial with a short row and a long one gives; without enough memory the long one is made shorter.

    Args:
        steps: tokens that follow the rows in the trial.
    """
    size = int(model.config.get_text_config().vocab_size)
    length = _trial_length(model, window, steps)
    while True:
        short, long = (tuple((a * i + b) % size for i in range(n)) for a, b, n in ((7, 3, SHORT), (11, 5, length)))
        try:
            return trial(short, long)
        except RuntimeError as error:
            if not out_of_memory(error) or length <= 2 * SHORT:
                raise
            length //= 2


def _trial_length(model: "PreTrainedModel", window: int, steps: int) -> int:
    """Tokens of the longer row: past the attention window if that takes seconds, and within the first rope factors."""
    config = model.config.get_text_config()
    sizes = [getattr(config, name, None) for name in WINDOWS]
    reach = max((size for size in sizes if isinstance(size, int)), default=0)
    work = CPU_WORK if model.device.type == "cpu" else GPU_WORK
    affordable = int(work / (2 * 2 * max(model.num_parameters(), 1)))  # two rows, a multiplication and an addition
    longest = min(window, rope_switch(config) or window) - steps
    return min(max(min(reach + SHORT, affordable), 4 * SHORT), longest)
