"""Sites that are started for a demo."""

from __future__ import annotations

import asyncio
from pathlib import Path

from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site

HARBOUR = Path(__file__).parents[2] / "data" / "harbour"
TALKS = """
import socket, sys
print("listening on http://127.0.0.1:1", flush=True)
for stream in (sys.stdout, sys.stderr):
    stream.write("x" * 1_000_000 + "\\n")  # more than a pipe holds, and longer than a line may be
    stream.flush()
socket.create_connection(("127.0.0.1", PORT)).close()
sys.stdin.read()
"""


async def test_a_site_may_say_as_much_as_it_likes(tmp_path):
    said = asyncio.Event()
    server = await asyncio.start_server(lambda _reader, writer: (writer.close(), said.set()), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (tmp_path / "kb").symlink_to(HARBOUR / "kb")
    (tmp_path / "seed.yaml").write_text("name: talks\nsite: {script: site.py}\n")
    (tmp_path / "site.py").write_text(TALKS.replace("PORT", str(port)))
    async with server, start_seed_site(find_seed(str(tmp_path))) as url:
        assert url == "http://127.0.0.1:1"
        await asyncio.wait_for(said.wait(), 30)
