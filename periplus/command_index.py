"""The options of every command, read from a generated file, so that help needs no command's imports.

`command_index.json` is written by `python -m periplus.command_index_writer` (decision 0116). An entry holds a digest of
the modules that declare the command's options: an entry that no longer fits them is not used.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.main import get_command_name

INDEX = Path(__file__).with_name("command_index.json")

_PLAIN: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "Path": Path}
_Function = Callable[..., Any]


def read_indexed_app(
    name: str, index: Path = INDEX, *, run: tuple[str, ...] | None = None, only: str | None = None
) -> typer.Typer | None:
    """Return the declaration of a top-level command without its functions.

    `run`: the subcommand to be run, below `name`; its function is imported. `only`: a subcommand; if there is one of
    this name, the others are left out.
    None if the command has no entry, or an entry that does not fit the modules of this installation.
    """
    entry = _read(index).get(name)
    if entry is None:
        return None
    try:
        current = digest_sources(entry["sources"])
    except OSError:
        return None
    return _build_app(entry["app"], run, only) if current == entry["digest"] else None


def digest_sources(sources: Iterable[str]) -> str:
    """Return a digest of source files, given relative to the folder above `periplus/`. Raises `OSError`."""
    found = hashlib.sha256()
    for source in sources:
        found.update(source.encode() + b"\0" + (INDEX.parent.parent / source).read_bytes())
    return found.hexdigest()[:16]


@cache
def _read(index: Path) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read


def _build_app(told: dict[str, Any], run: tuple[str, ...] | None, only: str | None = None) -> typer.Typer:
    app = typer.Typer(**told["settings"], rich_markup_mode=told["markup"], add_completion=False)
    if "callback" in told:
        callback = told["callback"]
        app.callback(**callback["settings"])(_get_function(callback, imported=run is not None))
    alone = len(told["commands"]) == 1 and not told["groups"] and "callback" not in told
    commands, groups = _select(told, only)
    if len(commands) == 1 and not groups and not alone and "callback" not in told:
        app.callback()(lambda: None)  # else typer takes the only command for the whole application
    for command in commands:
        imported = run == (() if alone else (_get_name(command),))
        app.command(**command["settings"])(_get_function(command, imported=imported))
    for group in groups:
        below = run[1:] if run and run[0] == group["settings"]["name"] else None
        app.add_typer(_build_app(group["app"], below), **group["settings"])
    return app


def _select(told: dict[str, Any], only: str | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return commands and groups: those named `only`, or all if none is."""
    commands = [each for each in told["commands"] if _get_name(each) == only]
    groups = [each for each in told["groups"] if each["settings"]["name"] == only]
    return (commands, groups) if commands or groups else (told["commands"], told["groups"])


def _get_name(command: dict[str, Any]) -> str:
    return command["settings"].get("name") or get_command_name(command["name"])


def _get_function(told: dict[str, Any], *, imported: bool) -> _Function:
    return _import_function(told["function"]) if imported else _build_function(told)


def _import_function(path: str) -> _Function:
    module, _, name = path.partition(":")
    found: _Function = getattr(importlib.import_module(module), name)
    return found


def _build_function(told: dict[str, Any]) -> _Function:
    """Return a function with the options and the help of a command's own. It is never called."""

    def undone(**_: Any) -> None:
        raise AssertionError("internal error (please report it): the index of commands runs nothing")

    kinds = {"option": typer.Option, "argument": typer.Argument}
    parameters: list[inspect.Parameter] = []
    for each in told["parameters"]:
        declared = _build_type(each["type"])
        settings = dict(each["settings"])
        names = settings.pop("param_decls", ())
        if "autocompletion" in settings:
            settings["autocompletion"] = _find_when_called(settings["autocompletion"])
        declared = Annotated[declared, kinds[each["kind"]](*names, **settings)]
        default: Any = inspect.Parameter.empty
        if "default" in each:
            default = each["default"]
            kind = each["type"]["is"]
            default = _build_type(each["type"])(default) if kind in {"enum", "Path"} and default else default
        parameters.append(
            inspect.Parameter(
                each["name"], inspect.Parameter.KEYWORD_ONLY, default=default, annotation=declared
            )
        )
    undone.__name__, undone.__doc__ = told["name"], told["help"]
    undone.__annotations__ = {each.name: each.annotation for each in parameters}
    undone.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # typer reads it
    return undone


def _build_type(told: dict[str, Any]) -> Any:
    match told["is"]:
        case "optional":
            return _build_type(told["of"]) | None
        case "list":
            return list[_build_type(told["of"])]  # type: ignore[misc] # known only now
        case "enum":
            return StrEnum(told["name"], told["values"])
        case "literal":
            return Literal[tuple(told["values"])]
        case plain:
            return _PLAIN[plain]


def _find_when_called(path: str) -> _Function:
    """Return a completion that imports the command's own, `module:name`, when a value is completed."""

    def complete(ctx: typer.Context, incomplete: str) -> Any:
        return _import_function(path)(ctx, incomplete)

    return complete
