"""The folder in which workers meet: `journal/` with its manifest, finished chunks, and scores of unfinished ones.

    journal/manifest.json               the plan, written first; all workers must have the same
    journal/parts/000012.jsonl          a finished chunk, published by hard link: the first writer wins
    journal/scores/000012.<process>.jsonl   scores of an unfinished chunk, one line each, the moment they exist
    journal/workers/<process>.json      who works or worked; for `status` only
    journal/merged.json                 the result files have been written
    journal/tmp/                        files that are being written

No file is ever changed by another process than its writer, so there are no locks and nobody waits.
"""

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.jsonl import Appender, json_line, need_text, read_lines
from rag_evaluator.run.plan import Plan
from rag_evaluator.scores import Score

FORMAT = 1
NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
FOLDERS = ("parts", "scores", "workers", "tmp")
Start = Literal["continue", "fresh", "update"]
ScoreKey = tuple[str, str, str]  # sample digest, metric, signature


@dataclass(frozen=True)
class Part:
    """A finished chunk: its score lines, byte for byte as in `details.jsonl`, and its footer."""

    lines: Sequence[bytes]
    footer: Mapping[str, Any]


class Journal:
    """The journal of a results folder, opened for reading.

    Args:
        folder: results folder.

    Raises `ResultsError` if there is no journal.
    """

    def __init__(self, folder: Path) -> None:
        self.results = folder
        self.folder = folder / "journal"
        manifest = self._read_manifest()
        if manifest is None:
            raise ResultsError(f"{folder}: no run has begun here: there is no journal/manifest.json.")
        self.plan = Plan.from_json(manifest["plan"])
        self.about: Mapping[str, Any] = manifest["about"]
        self.digest = self.plan.digest

    def part_path(self, chunk: int) -> Path:
        return self.folder / "parts" / f"{chunk:06d}.jsonl"

    def published(self) -> set[int]:
        """The chunks that are finished, by anybody."""
        try:
            names = [path.name for path in (self.folder / "parts").iterdir()]
        except FileNotFoundError:
            return set()
        return {int(name[:-6]) for name in names if name[:-6].isdigit()} & set(range(self.plan.chunks))

    def missing(self) -> list[int]:
        """The chunks that are not finished."""
        return sorted(set(range(self.plan.chunks)) - self.published())

    def read_part(self, chunk: int) -> Part:
        """A finished chunk. Raises `ResultsError`, with its name, if it is damaged or belongs to another run."""
        path, mend = self.part_path(chunk), "Remove it, and the same command makes it again."
        try:
            *lines, last = path.read_bytes().splitlines(keepends=True)
            footer = json.loads(last)
            body = b"".join(lines)
            if footer["sha256"] != hashlib.sha256(body).hexdigest() or not last.endswith(b"\n"):
                raise ValueError("its checksum does not fit")
        except FileNotFoundError:
            raise ResultsError(f"{path}: this chunk is missing. The same command makes it again.") from None
        except OSError as error:
            raise ResultsError(f"{path}: cannot be read: {error}.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{path}: damaged ({error}). {mend}") from None
        if footer["plan"] != self.digest or footer["chunk"] != chunk:
            raise ResultsError(
                f"{path}: foreign: it is chunk {footer['chunk']} of the plan {footer['plan']}, expected chunk {chunk} "
                f"of {self.digest}. {mend}"
            )
        return Part(lines, footer)

    def read_footer(self, chunk: int) -> dict[str, Any]:
        """The footer of a finished chunk, its lines unread and unchecked; empty if it cannot be read."""
        try:
            with self.part_path(chunk).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                footer: dict[str, Any] = json.loads(file.read().splitlines()[-1])
                return footer
        except (OSError, ValueError, IndexError):  # told by `read_part` when it matters
            return {}

    def merged(self) -> dict[str, Any] | None:
        """What was noted when the result files were written; None if they have not been, or for another plan."""
        try:
            note: dict[str, Any] = json.loads((self.folder / "merged.json").read_bytes())
        except (OSError, ValueError):
            return None
        return note if note.get("plan") == self.digest else None

    def _read_manifest(self) -> dict[str, Any] | None:
        path = self.folder / "manifest.json"
        try:
            manifest: dict[str, Any] = json.loads(path.read_bytes())
            if manifest["format"] != FORMAT or Plan.from_json(manifest["plan"]).digest != manifest["digest"]:
                raise ValueError("it does not fit its digest, or another version wrote it")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ResultsError(f"{path}: cannot be read: {error}.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{path}: damaged ({error}). Start over with --fresh.") from None
        return manifest


class WorkerJournal(Journal):
    """The journal as one worker sees it, who may write.

    Args:
        folder: results folder; made if it is not there.
        plan: what this worker is going to do.
        about: what `manifest.json` of the results says; kept from whoever was first.
        process: file name of this process, see `workers.process_name`.
        start: `continue` refuses a folder of another plan, `fresh` forgets what is there, `update` keeps the scores
            that still hold.

    Raises `ResultsError` if the folder cannot be written, or if it holds another plan: the message names what changed.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        about: Mapping[str, Any],
        process: str,
        start: Start = "continue",
    ) -> None:
        self.results, self.folder, self.process = folder, folder / "journal", process
        with writing(self.folder):
            if start == "fresh":
                self._forget()
            for name in FOLDERS:
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            old = self._read_manifest()
            if old is not None and start == "update":
                old = self._keep_what_holds(Plan.from_json(old["plan"]), plan, about)
            if old is None:
                self._publish("manifest.json", _json(_manifest(plan, about)), self.folder / "manifest.json")
        super().__init__(folder)
        changes = plan.changes(self.plan)
        if changes:
            raise ResultsError(
                f"{folder} holds scores of another run. Changed: {'; '.join(changes)}. Choose another name or "
                "output_dir, keep the scores that still hold with --update, or start over with --fresh."
            )

    def begin(self, chunk: int) -> Appender:
        """This process's own file for the scores of a chunk."""
        path = self.folder / "scores" / f"{chunk:06d}.{self.process}.jsonl"
        with writing(path):
            return Appender(path)

    def scores_of(self, chunk: int) -> dict[ScoreKey, dict[str, Any]]:
        """What anybody, dead or alive, has scored of an unfinished chunk. Missing scores are not kept."""
        found: dict[ScoreKey, dict[str, Any]] = {}
        for path in sorted((self.folder / "scores").glob(f"{chunk:06d}.*.jsonl")):
            try:
                for _, record in read_lines(path, _check_line):
                    if record.get("value") is not None:
                        found[record["sample"], record["metric"], record["signature"]] = record
            except FileNotFoundError:  # its chunk has just been published
                continue
        return found

    def publish(self, chunk: int, lines: Sequence[bytes], note: Mapping[str, Any]) -> bool:
        """Publish a finished chunk; False if somebody else was first. Raises `ResultsError` (a full disk)."""
        with writing(self.folder):
            manifest = self._read_manifest()
            if manifest is None or manifest["digest"] != self.digest:
                raise ResultsError(f"{self.folder}: another run with --fresh or --update took this folder over.")
            body, rows = b"".join(lines), self.plan.rows_of(chunk)
            footer = {
                "chunk": chunk,
                "plan": self.digest,
                "rows": [rows.start, rows.stop],
                "scores": len(lines),
                "sha256": hashlib.sha256(body).hexdigest(),
                **note,
            }
            return self._publish(f"{chunk:06d}", body + json_line(footer), self.part_path(chunk))

    def clear(self, chunk: int) -> None:
        """Remove the scores of a chunk that is published."""
        for path in (self.folder / "scores").glob(f"{chunk:06d}.*.jsonl"):
            path.unlink(missing_ok=True)

    def withdraw(self, chunk: int) -> None:
        """Make a finished chunk unfinished; what was scored in it is kept."""
        target = self.folder / "scores" / f"{chunk:06d}.withdrawn.{self.process}.jsonl"
        with writing(self.folder):
            try:
                self.part_path(chunk).rename(target)
            except FileNotFoundError:  # somebody else was first
                return

    def note_merged(self, note: Mapping[str, Any]) -> None:
        """The result files are written: what is left of dead workers' scores is of no use any more."""
        self._replace("merged.json", {"plan": self.digest, **note})
        for path in (self.folder / "scores").glob("*.jsonl"):
            path.unlink(missing_ok=True)

    def note_worker(self, note: Mapping[str, Any]) -> None:
        self._replace(f"workers/{self.process}.json", note)

    def try_again(self, run: str | None) -> bool:
        """Withdraw chunks in which another try may make a missing score; whether there are any.

        Workers of the run that merged them do not: their other workers have just tried.
        """
        note = self.merged() or {}
        if not note.get("again") or (run is not None and note.get("run") == run):
            return False
        for chunk in note["again"]:
            self.withdraw(chunk)
        (self.folder / "merged.json").unlink(missing_ok=True)
        return True

    def _publish(self, name: str, data: bytes, target: Path) -> bool:
        """Write a file whole and link it to its place, unless there is one: the first writer wins."""
        temporary = self.folder / "tmp" / f"{name}.{self.process}"
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            won = _link(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
        return won

    def _replace(self, name: str, value: Mapping[str, Any]) -> None:
        with writing(self.folder / name):
            temporary = self.folder / "tmp" / f"{Path(name).name}.{self.process}"
            temporary.write_bytes(_json(value))
            temporary.replace(self.folder / name)

    def _forget(self) -> None:
        (self.folder / "merged.json").unlink(missing_ok=True)
        for name in FOLDERS:
            if (self.folder / name).exists():
                shutil.rmtree(self.folder / name)
        (self.folder / "manifest.json").unlink(missing_ok=True)

    def _keep_what_holds(self, old: Plan, plan: Plan, about: Mapping[str, Any]) -> dict[str, Any]:
        """Withdraw all chunks of the old plan and write the new one: scores are found again by their keys."""
        plan = plan.with_chunk_size(old.chunk_size)
        if plan.changes(old):
            (self.folder / "merged.json").unlink(missing_ok=True)
            for path in (self.folder / "parts").glob("*.jsonl"):
                path.rename(self.folder / "scores" / f"{path.stem}.withdrawn.{self.process}.jsonl")
            self._replace("manifest.json", _manifest(plan, about))
        return _manifest(plan, about)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns errors of the file system into a `ResultsError` that names the place."""
    try:
        yield
    except FileExistsError:
        raise  # for whoever asked for a new file
    except OSError as error:
        place = error.filename or path
        reason = error.strerror or str(error)
        raise ResultsError(
            f"{place}: cannot be written: {reason}. Free space or choose another output_dir; what was scored is kept."
        ) from error


def now() -> float:
    """Seconds since the epoch, to the millisecond."""
    return round(time.time(), 3)


def _link(source: Path, target: Path) -> bool:
    """Give a finished file its name, unless there is one."""
    try:
        os.link(source, target)
    except FileExistsError:
        return source.stat().st_nlink == 2  # NFS may say so after it has linked
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if target.exists():
            return False
        source.rename(target)  # two at the same moment: the later one wins, both are whole
    return True


def _sync_folder(folder: Path) -> None:
    """A new name is safe from a power cut once its folder is on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _manifest(plan: Plan, about: Mapping[str, Any]) -> dict[str, Any]:
    return {"format": FORMAT, "digest": plan.digest, "plan": plan.to_json(), "about": dict(about)}


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode("utf-8")


def _check_line(record: Mapping[str, Any]) -> None:
    """A score line, or the footer of a chunk that was withdrawn."""
    if "sha256" not in record:
        Score.from_json(record)
        for key in ("sample", "metric", "signature"):
            need_text(record[key])
