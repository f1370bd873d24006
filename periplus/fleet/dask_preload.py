"""Dask preload of local worker processes: detaches them from the terminal, so that only the command gets Ctrl-C.

The command then stops runs after their current step. If it dies, Dask ends its workers.
"""

from __future__ import annotations

from distributed import Worker

from kb_schema.operating_system import leave_terminal


def dask_setup(worker: Worker) -> None:
    """Dask calls this when a worker starts."""
    del worker
    leave_terminal()
