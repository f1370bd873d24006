"""A loader in a process of its own, to be killed by the crash tests.

    python -m tests.support.arango_loader DATA_DIR VERSION

Documents go to the data directory, the graph to `PERIPLUS_ARANGODB_URL`; its URL has a password and
is therefore no argument.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from kb_store import load_knowledge, open_stores
from tests.kb_store.sample_knowledge import knowledge_of


async def main(data_dir: Path, version: str, url: str) -> None:
    """Load the sample of that version in small batches."""
    async with open_stores(data_dir, arangodb_url=url) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version=version), batch=9)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], os.environ["PERIPLUS_ARANGODB_URL"]))
