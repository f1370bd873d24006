"""Draws the knowledge base of an exploration and writes it: no browser is needed."""

from __future__ import annotations

from loaders import FolderInTheWay, write_folder
from loaders.cartography import Chart, chart
from periplus.errors import UserError
from periplus.mapping.places import MapFolder


def drawn(folder: MapFolder, *, name: str | None = None) -> Chart:
    """The knowledge base of what is in the folder, written beside it.

    Raises `KnowledgeError` for a folder that cannot be read, `UserError` where nothing was seen or the
    knowledge cannot be written.
    """
    if not folder.exploration.pages():
        raise UserError(
            f"no page was seen: {folder.path}", fix="see whether the site can be opened, then map it again"
        )
    signed_out = folder.signed_out if folder.signed_out.exists else None
    result = chart(folder.exploration, signed_out=signed_out, name=name)
    try:
        write_folder(result.knowledge, folder.knowledge)
    except FolderInTheWay as exc:
        raise UserError(str(exc), fix="name another folder with --out") from exc
    except OSError as exc:
        raise UserError(
            f"{folder.knowledge} cannot be written: {exc.strerror}", fix="name another with --out"
        ) from exc
    return result
