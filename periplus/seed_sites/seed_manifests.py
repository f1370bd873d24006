"""Seeds: example knowledge with a matching site, described by a `seed.yaml`.

A seed is data: its site runs as a separate process and is never imported.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from periplus.errors import UserError

MANIFEST = "seed.yaml"


class SeedSite(BaseModel):
    """How to start the seed's site: a Python module, or a script next to the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    module: str | None = None
    script: str | None = None
    arguments: tuple[str, ...] = ()


class Seed(BaseModel):
    """A seed's manifest, with its folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str = ""
    description: str = ""
    knowledge: str = "kb"
    site: SeedSite = SeedSite()
    default_flow: str | None = None
    context: dict[str, Any] = Field(default_factory=dict)
    """Global values of its runs, such as the account."""
    files: str | None = None
    """The folder of sample files; available to runs as `files`."""
    folder: Path

    @property
    def knowledge_folder(self) -> Path:
        """Return the folder of its knowledge base."""
        return self.folder / self.knowledge


def find_seed(name: str) -> Seed:
    """Return the built-in seed with this name, or the seed in this folder. Raises `UserError`."""
    folder = Path(name)
    if not (folder / MANIFEST).is_file():
        folder = _find_shipped_folder() / name
    manifest = folder / MANIFEST
    if not manifest.is_file():
        known = ", ".join(sorted(path.parent.name for path in _find_shipped_folder().glob(f"*/{MANIFEST}")))
        raise UserError(
            f"no demo {name!r}", fix=f"built-in demos: {known or 'none'}; or name a folder with a {MANIFEST}"
        )
    try:
        data = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    except yaml.YAMLError as exc:
        raise UserError(f"{manifest} is not YAML: {exc}", fix="correct the file") from exc
    if not isinstance(data, dict):
        raise UserError(f"{manifest} is empty", fix="see seeds/spadeworks/seed.yaml for an example")
    try:
        return Seed.model_validate({**data, "folder": folder.resolve()})
    except ValidationError as exc:
        problem = exc.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise UserError(f"{manifest}: {where}: {problem['msg']}", fix="correct that field") from exc


def _find_shipped_folder() -> Path:
    spec = find_spec("seeds")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else Path("seeds")
