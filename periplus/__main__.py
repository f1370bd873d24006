"""`python -m periplus`."""

import sys
from pathlib import Path


def _leave_out_the_current_folder() -> None:
    """Take the current folder off the import path, unless it is the one with this package (decision 0109).

    `python -m` puts it first, and a folder `agent` of the user's own would be imported instead of ours.
    """
    first = Path(sys.path[0] or ".").resolve() if sys.path else None
    if first == Path.cwd().resolve() and first != Path(__file__).resolve().parents[1]:
        del sys.path[0]


if __name__ == "__main__":
    _leave_out_the_current_folder()
    from periplus.cli import main

    main()
