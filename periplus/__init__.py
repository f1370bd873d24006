"""Settings, command line, servers and the Python API. Connects the other packages and contains no decisions of its own.

`from periplus import open_store, open_site, ...` is the Python API (docs/python.md). Its names are imported when they are
used, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kb_schema.run_records import RunResult
    from periplus.errors import UserError
    from periplus.python_api.browser_jobs import (
        Recording,
        SynthesizedWorkflow,
        demo,
        map_website,
        record,
        synthesize,
        verify,
    )
    from periplus.python_api.open_sites import Site, Store, open_site, open_store

__version__ = "0.1.0"
__all__ = [
    "Recording",
    "RunResult",
    "Site",
    "Store",
    "SynthesizedWorkflow",
    "UserError",
    "demo",
    "map_website",
    "open_site",
    "open_store",
    "record",
    "synthesize",
    "verify",
]

_JOBS, _SITES = "periplus.python_api.browser_jobs", "periplus.python_api.open_sites"
_MODULES = {
    "Recording": _JOBS,
    "RunResult": "kb_schema.run_records",
    "Site": _SITES,
    "Store": _SITES,
    "SynthesizedWorkflow": _JOBS,
    "UserError": "periplus.errors",
    "demo": _JOBS,
    "map_website": _JOBS,
    "open_site": _SITES,
    "open_store": _SITES,
    "record": _JOBS,
    "synthesize": _JOBS,
    "verify": _JOBS,
}
"""Name -> the module that has it."""
_OWN = ("agent", "kb_schema", "kb_store", "loaders", "mcp_server", "web_pages")


def __getattr__(name: str) -> Any:
    """Import a name of the Python API. Raises `ImportError` if a folder of the caller hides a package of ours."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _check_own_packages()
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def _check_own_packages() -> None:
    """Raise `ImportError` if the import path has another package of the same name first (decision 0109)."""
    home = Path(__file__).resolve().parents[1]
    for name in _OWN:
        found = find_spec(name)
        place = Path(found.origin).resolve() if found is not None and found.origin else None
        if place is None or not place.is_relative_to(home / name):
            raise ImportError(
                f"Periplus needs its own package {name!r} in {home / name}, but {place or 'none'} is imported instead: "
                "rename yours, take its folder off the import path (`pytest --import-mode=importlib` does), or use the command "
                "`periplus`"
            )
