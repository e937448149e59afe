"""Translates shards with Ray: on the cores of this machine, or of all machines of a cluster.

Ray starts a worker for each core, gives it one shard after another, and gives the shard of a worker
that dies to another one.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError, RequestError
from regard.tasks.translation.shards import Job, Shard, translate_shard

if TYPE_CHECKING:
    from regard.tasks.translation.translator import Translator


def require_package() -> None:
    try:
        import ray.data  # noqa: F401
    except ImportError as error:
        raise RequestError(
            f"--on ray: the package cannot be loaded ({error}); "
            'install it with `pip install "regard[ray]"`'
        ) from None


@contextmanager
def cluster() -> Iterator[Any]:
    """Ray, connected to the cluster of this machine or of RAY_ADDRESS; where there is none, one of
    this machine's cores, for as long as it is needed. Nothing is reported to Ray's authors.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # dying workers are no news to us
    require_package()
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        try:
            ray.init(address="auto", **quiet)
        except ConnectionError as error:
            if address := os.environ.get("RAY_ADDRESS"):
                raise RequestError(
                    f"RAY_ADDRESS {address}: no cluster answers there ({error}); start it, or "
                    "unset RAY_ADDRESS to use this machine alone"
                ) from None
            try:
                ray.init(address="local", include_dashboard=False, **quiet)
            except Exception as failure:  # Ray has no class for this
                raise RequestError(
                    f"--on ray: no cluster starts on this machine ({failure}); if it is busy, try "
                    "again later"
                ) from None
        yield ray
    finally:
        ray.shutdown()


def translate(shards: Sequence[Shard], job: Job, workers: int = 0) -> Iterator[int]:
    """Translate shards, and tell how many lines each of them had that is finished. 0 workers are as
    many as the cluster has cores.
    """
    with cluster() as ray:
        cores = int(ray.cluster_resources().get("CPU", 1))
        workers = min(workers or cores, len(shards))
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        text = job.text()
        rows = [{"source": str(each.source), "lines": each.lines, "job": text} for each in shards]
        # A block for each shard: Ray gives blocks to workers.
        found = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            ShardWorker,
            batch_size=1,
            batch_format="numpy",
            num_cpus=1,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers),
        )
        for row in found.iter_rows():
            if row["error"]:
                raise RequestError(row["error"])
            yield int(row["lines"])


class ShardWorker:
    """A worker of Ray. It loads the translator when its first shard comes."""

    def __init__(self) -> None:
        self._translator: Translator | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        [source], [job] = batch["source"], batch["job"]
        return {"lines": batch["lines"], "error": [self.translate(Path(source), Job.read(job))]}

    def translate(self, source: Path, job: Job) -> str:
        """Translate a shard, and return the sentence of what was wrong, or nothing."""
        if not source.parent.is_dir():
            return (
                f"{source.parent}: is not on every machine of the cluster; all must see the "
                "same folders"
            )
        try:
            if self._translator is None:
                self._translator = job.translator()
            translate_shard(self._translator, job, source)
        except RegardError as error:
            return str(error)
        return ""
