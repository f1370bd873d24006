"""How many tokens a text is to a model: one counter for every benchmark that measures answers.

The tokenizer is a package of npm whose vocabulary (o200k_base, a common one of 200,000 tokens) is
inside it; it is installed into `.tools/tokens` the first time and never committed. Other models' tokenizers
differ by some 20 %, in either direction.

    python benchmarks/tokens.py FILE...     a line for each file
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGE = "gpt-tokenizer"
VERSION = "4.0.0"
FOLDER = Path(__file__).resolve().parent.parent / ".tools" / "tokens"
_SCRIPT = f"""
import {{ countTokens }} from '{PACKAGE}/encoding/o200k_base';
let given = '';
process.stdin.setEncoding('utf8');
for await (const part of process.stdin) given += part;
console.log(JSON.stringify(JSON.parse(given).map((text) => countTokens(text, {{ allowedSpecial: 'all' }}))));
"""


class NoTokenizer(Exception):
    """Tokens cannot be counted here. `reason` says what is missing."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def count(texts: Sequence[str]) -> list[int]:
    """The tokens of each text. Raises `NoTokenizer` where Node or its package cannot be had."""
    node = _installed()
    done = subprocess.run(
        [node, "--input-type=module", "--eval", _SCRIPT],
        cwd=FOLDER, input=json.dumps(list(texts)), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise NoTokenizer(f"the tokenizer failed: {done.stderr.strip()[-500:]}")
    counts: list[int] = json.loads(done.stdout)
    return counts


def npm_install(folder: Path, *packages: str) -> str:
    """Install npm packages into a folder unless it has them. Returns the path of `node`.

    `packages` are `name@version`. Raises `NoTokenizer`.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NoTokenizer("Node and npm are not installed")
    if all(_has(folder, package) for package in packages):
        return node
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts", *packages],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise NoTokenizer(f"npm could not install {', '.join(packages)}: {done.stderr.strip()[-500:]}")
    return node


def _installed() -> str:
    return npm_install(FOLDER, f"{PACKAGE}@{VERSION}")


def _has(folder: Path, package: str) -> bool:
    name, _, version = package.rpartition("@")
    manifest = folder / "node_modules" / name / "package.json"
    return manifest.is_file() and json.loads(manifest.read_text(encoding="utf-8"))["version"] == version


def main(paths: Sequence[str]) -> None:
    """Tell the size of files."""
    texts = [Path(path).read_text(encoding="utf-8") for path in paths]
    for path, number in zip(paths, count(texts), strict=True):
        print(f"{number:>8}  {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
