"""What a worker process of this machine does first: leaves the terminal, so that Ctrl-C is for the command alone.

The command then lets runs end after their step. Should it die, Dask ends its workers.
"""

from __future__ import annotations

import os

from distributed import Worker


def dask_setup(worker: Worker) -> None:
    """Dask's name for what is called when a worker begins."""
    del worker
    os.setsid()
