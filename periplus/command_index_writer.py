"""Write `command_index.json`, the options of every command, from the commands themselves (decision 0116).

`python -m periplus.command_index_writer` writes it; with `--check` it only says whether the file is up to date.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import types
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, DefaultPlaceholder, OptionInfo

from periplus.cli import COMMANDS
from periplus.command_index import INDEX, digest_sources

_NOT_IN_HELP = frozenset({"callback", "cls", "typer_instance", "default"})
"""Settings that hold functions and classes of the command itself, or that the signature tells."""


def describe_commands() -> str:
    """Return the text of the index: JSON, one line for each command, which a merge can take apart."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(_describe_entry(lazy.module), ensure_ascii=False)}"
        for name, lazy in COMMANDS.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _describe_entry(module_name: str) -> dict[str, Any]:
    module = importlib.import_module(module_name)
    sources = sorted(_find_sources(module, INDEX.parent.parent))
    return {"sources": sources, "digest": digest_sources(sources), "app": _describe_app(module.app)}


def _find_sources(module: types.ModuleType, root: Path) -> set[str]:
    """Return the files that declare options: the module, and what it imports of ours that uses typer."""
    found: set[str] = set()
    left = [module]
    while left:
        each = left.pop()
        source = Path(str(each.__file__)).relative_to(root).as_posix()
        if source in found:
            continue
        found.add(source)
        names = (getattr(value, "__module__", None) for value in vars(each).values())
        near = {value for value in vars(each).values() if isinstance(value, types.ModuleType)}
        near |= {sys.modules[name] for name in names if isinstance(name, str) and name in sys.modules}
        near |= {sys.modules[name] for name in _imported_by(each) if name in sys.modules}
        left.extend(one for one in near if one.__name__.startswith("periplus.") and hasattr(one, "typer"))
    return found


def _imported_by(module: types.ModuleType) -> set[str]:
    """Return the modules named in the module's `from ... import` lines: an alias does not know its module."""
    lines = inspect.getsource(module).splitlines()
    return {line.split()[1] for line in lines if line.startswith("from periplus") and " import " in line}


def _describe_app(app: typer.Typer) -> dict[str, Any]:
    told: dict[str, Any] = {
        "settings": _describe_settings(app.info),
        "markup": app.rich_markup_mode,
        "commands": [_describe_function(each.callback, each) for each in app.registered_commands],
        "groups": [
            {"settings": _describe_settings(each), "app": _describe_app(each.typer_instance)}
            for each in app.registered_groups
            if each.typer_instance is not None
        ],
    }
    if app.registered_callback is not None:
        told["callback"] = _describe_function(app.registered_callback.callback, app.registered_callback)
    return told


def _describe_settings(info: Any) -> dict[str, Any]:
    """Return what was given for a command, an option or a group, without what is left as it is by default."""
    usual = vars(type(info)())
    return {
        name: value
        for name, value in vars(info).items()
        if name not in _NOT_IN_HELP and not isinstance(value, DefaultPlaceholder)
        if value != usual[name] and value is not None and value != []
    }


def _describe_function(function: Any, info: Any) -> dict[str, Any]:
    hints = get_type_hints(function, include_extras=True)
    return {
        "name": function.__name__,
        "function": f"{function.__module__}:{function.__name__}",
        "help": inspect.getdoc(function),
        "settings": _describe_settings(info),
        "parameters": [
            _describe_parameter(each, hints[each.name], function.__name__)
            for each in inspect.signature(function).parameters.values()
            if hints[each.name] is not typer.Context
        ],
    }


def _describe_parameter(parameter: inspect.Parameter, hint: Any, function: str) -> dict[str, Any]:
    declared = hint.__metadata__[0] if get_origin(hint) is Annotated else None
    if not isinstance(declared, OptionInfo | ArgumentInfo):
        raise TypeError(
            f"{function}({parameter.name}): expected Annotated[..., typer.Option() or typer.Argument()]"
        )
    settings = _describe_settings(declared)
    names = [
        *([declared.default] if isinstance(declared.default, str) else []),
        *(declared.param_decls or ()),
    ]
    if names:  # in an annotation, typer takes the first name for a default value until it reads the function
        settings["param_decls"] = names
    if "autocompletion" in settings:
        completion = settings["autocompletion"]
        settings["autocompletion"] = f"{completion.__module__}:{completion.__name__}"
    told: dict[str, Any] = {
        "name": parameter.name,
        "kind": "option" if isinstance(declared, OptionInfo) else "argument",
        "type": _describe_type(get_args(hint)[0]),
        "settings": settings,
    }
    if parameter.default is not inspect.Parameter.empty:
        default = parameter.default
        default = default.value if isinstance(default, Enum) else default
        told["default"] = str(default) if isinstance(default, Path) else default
    return told


def _describe_type(declared: Any) -> dict[str, Any]:
    origin, inner = get_origin(declared), get_args(declared)
    if origin in {Union, types.UnionType} and len(inner) == 2 and inner[1] is types.NoneType:
        return {"is": "optional", "of": _describe_type(inner[0])}
    if origin is list:
        return {"is": "list", "of": _describe_type(inner[0])}
    if origin is Literal:
        return {"is": "literal", "values": list(inner)}
    if isinstance(declared, type) and issubclass(declared, Enum):
        values = {each.name: each.value for each in declared}
        return {"is": "enum", "name": declared.__name__, "values": values}
    if declared in {str, int, float, bool} or declared is Path:
        return {"is": declared.__name__}
    raise TypeError(f"{declared!r}: add this type to _describe_type and to command_index._build_type")


def main(arguments: list[str]) -> int:
    """Write the file, or with `--check` compare it. Return the exit code."""
    text = describe_commands()
    if arguments == ["--check"]:
        return 0 if INDEX.read_text(encoding="utf-8") == text else 1
    INDEX.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
