"""Serves the trap site on a free port of this machine; says where; stops when its stdin ends.

Run by path: it knows nothing of the product.
"""

import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import uvicorn
from traps import make_app


def main() -> None:
    """Serve until stdin ends."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    port = listening.getsockname()[1]
    config = uvicorn.Config(make_app(port), log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)

    def wait() -> None:
        sys.stdin.read()
        server.should_exit = server.force_exit = True

    threading.Thread(target=wait, daemon=True).start()
    sys.stdout.write(f"listening on http://127.0.0.1:{port}\n")
    sys.stdout.flush()
    server.run(sockets=[listening])


main()
