"""The house itself: floors, pins, licences, and documents that say what is true."""

from __future__ import annotations

import ast
import builtins
import importlib.metadata
import importlib.util
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import warm

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

# In two halves each, so that this file does not name what it looks for.
REGISTRY_HOSTS = [
    f"{name}.{end}"
    for name, end in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry.npmjs", "org"),
        ("registry.yarnpkg", "com"),
        ("static.crates", "io"),
        ("index.crates", "io"),
        ("proxy.golang", "org"),
        ("repo.maven.apache", "org"),
        ("repo1.maven", "org"),
        ("deb.debian", "org"),
    ]
]
PACKAGE_SOURCES = re.compile("|".join([*map(re.escape, REGISTRY_HOSTS), "index" + "-url", "find" + "-links"]))


def _committed() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def _code(document: Path) -> str:
    """What a document shows as code: its fenced blocks and `spans`."""
    text = document.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return "\n".join([*blocks, *spans])


def _make_targets(ending: str = "") -> set[str]:
    """Return the targets of the Makefile. `ending`: of those with this sign at the end, what is before it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(rf"^([a-z-]+){ending}:", makefile, re.MULTILINE))


def test_imports_only_point_down_the_floors() -> None:
    assert [package for package in PACKAGES if importlib.util.find_spec(package) is None] == []
    assert lint_imports(cache_dir=None) == EXIT_STATUS_SUCCESS


def test_the_architecture_contracts_know_every_package() -> None:
    assert set(PYPROJECT["tool"]["importlinter"]["root_packages"]) == set(PACKAGES)


BINDING_CALLS = {"expose_binding", "expose_function", "route_web_socket"}
"""What puts a binding of the driver into the world of pages (decision 225)."""


def test_no_binding_of_the_driver_is_put_into_pages() -> None:
    folders = [
        ROOT / each for each in ("agent", "periplus", "web_pages", "loaders", "mcp_server", "kb_store")
    ]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    called = [
        (file.relative_to(ROOT).as_posix(), node.attr)
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in BINDING_CALLS
    ]
    assert files
    assert called == []


def test_no_committed_line_says_where_packages_come_from() -> None:
    told = []
    for path in _committed():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        told += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
            for number, line in enumerate(lines, start=1)
            if PACKAGE_SOURCES.search(line)
        ]
    assert told == []


def test_pins_are_names_and_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []


def test_every_dependency_of_the_product_and_the_tests_is_pinned() -> None:
    project = PYPROJECT["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pinned = {
        canonicalize_name(line.split("==")[0])
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    assert {canonicalize_name(Requirement(each).name) for each in asked} - pinned == set()


def test_nothing_the_product_depends_on_is_under_the_gpl() -> None:
    waiting = [Requirement(each) for each in PYPROJECT["project"]["dependencies"]]
    waiting += [Requirement(each) for each in PYPROJECT["project"]["optional-dependencies"]["mongo-arango"]]
    seen: set[str] = set()
    found = {}
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        metadata = importlib.metadata.metadata(name)
        licence = metadata.get("License-Expression") or metadata.get("License") or ""
        licence = " ".join(
            [licence[:80], *(each for each in metadata.get_all("Classifier") or [] if "License" in each)]
        )
        if re.search(r"\bA?GPL|General Public License|SSPL", licence) and "Lesser" not in licence:
            found[name] = licence
        waiting += [Requirement(each) for each in importlib.metadata.requires(name) or []]
    assert found == {}
    assert len(seen) > len(PYPROJECT["project"]["dependencies"])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_in_the_documents_exists(document: Path) -> None:
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)", _code(document)))
    patterns = tuple(_make_targets("%"))
    assert {each for each in named - _make_targets() if not each.startswith(patterns)} == set()


def test_the_readme_names_the_two_commands() -> None:
    assert {"demo", "test"} <= set(re.findall(r"^make (\w+)", _code(ROOT / "README.md"), re.MULTILINE))


def test_make_alone_lists_every_target() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"make ([a-z-]+)", listed)) == _make_targets()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_the_documents_exists(document: Path) -> None:
    commands = set(re.findall(r"\bperiplus ((?:kb )?[a-z]+(?:-[a-z]+)*)\b(?!\.)", _code(document)))
    assert {command: told for command in sorted(commands) if (told := _refused(command))} == {}


@cache
def _refused(command: str) -> str:
    """What `--help` of a command complains of; several documents name it."""
    helped = warm.run("periplus", *command.split(), "--help")
    return f"exit code {helped.returncode}: {helped.stderr}" if helped.returncode else ""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_scripts_are_well_formed() -> None:
    for script in ("scripts/setup.sh", ".ci/run"):
        subprocess.run(["bash", "-n", script], cwd=ROOT, check=True)
    assert re.findall(r"^make \w+", (ROOT / ".ci/run").read_text(), re.MULTILINE) == [
        "make lint",
        "make test",
    ]


def test_the_readme_lists_every_package() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    packages = readme.partition("## Packages")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `(\w+)/` \|", packages, re.MULTILINE))
    assert listed == set(PACKAGES) - {"seeds"}


def test_every_declared_error_is_raised_or_is_the_base_of_one_that_is() -> None:
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }

    def is_error(name: str) -> bool:
        known = getattr(builtins, name, None)
        if isinstance(known, type) and name not in bases:
            return issubclass(known, BaseException)
        return any(is_error(base) for base in bases.get(name, ()))

    derived = {base for each in bases.values() for base in each}
    declared = {name for name in bases if is_error(name)}
    assert len(declared) > 50
    made = {
        part
        for node in nodes
        if isinstance(node, ast.Call | ast.Raise)
        for func in [node.func if isinstance(node, ast.Call) else node.exc]
        if isinstance(func, ast.Name | ast.Attribute)
        for part in [func.id if isinstance(func, ast.Name) else func.attr]
    }
    # Some are handed to what makes them, as a value of a table: then their name is used outside of `except`.
    assert sorted(declared - derived - made - _named_as_values(nodes)) == []


def _named_as_values(nodes: list[ast.AST]) -> set[str]:
    """Names in dictionaries' values, arguments and assignments."""
    values = [node.values for node in nodes if isinstance(node, ast.Dict)]
    values += [
        [*node.args, *(each.value for each in node.keywords)] for node in nodes if isinstance(node, ast.Call)
    ]
    return {each.id for group in values for each in group if isinstance(each, ast.Name)}


@pytest.mark.parametrize(
    "workflow",
    [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))],
    ids=lambda path: path.stem,
)
def test_every_action_of_a_workflow_is_pinned_by_hash_and_says_its_version(workflow: Path) -> None:
    used = re.findall(r"uses: *(.*)", workflow.read_text(encoding="utf-8"))
    assert used
    assert [each for each in used if not re.match(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    if workflow.name != "action.yml":  # an action has those of the workflow that uses it
        assert yaml.safe_load(workflow.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}


def test_every_composed_service_has_limits_of_processor_and_memory() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    assert {"periplus", "rooms", "mongo"} <= services.keys()
    for name, service in services.items():
        assert float(service.get("cpus", 0)) > 0, name
        assert re.fullmatch(r"\d+[mg]", str(service.get("mem_limit"))), name


def test_compose_has_no_password_of_its_own() -> None:
    """`tests/test_compose.py` reads the file as Compose does."""
    compose = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    secrets = re.findall(r"\$\{(\w*(?:PASSWORD|SECRET|KEY)\w*)(:[-+?])?([^${}]*)", compose)
    assert secrets
    assert [name for name, how, word in secrets if how in ("", ":-") and word] == []
    assert ("PERIPLUS_API_KEY", ":?", "set it in .env") in secrets


def test_messages_cut_what_they_quote_by_excerpt() -> None:
    """Redaction sees by the ellipsis that a text was cut, perhaps in the middle of a secret (decision 228)."""
    cut = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in ("agent", "web_pages")
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FormattedValue)
        and node.conversion == ord("r")
        and isinstance(node.value, ast.Subscript)
        and isinstance(node.value.slice, ast.Slice)
        and node.value.slice.lower is None
    ]
    assert not cut, "use kb_schema.excerpts.excerpt"
