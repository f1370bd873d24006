#!/usr/bin/env bash
# Lints the scripts that run in pages, with Biome, where Node.js is installed.
#
# They are one program in several files, so they are joined as they are sent to a page. Only then can
# undeclared and unused names be found. Lines are numbered within that program; comments name the files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly BIOME="@biomejs/biome@2.6.8"
readonly FOLDER=".tools/biome"

if ! command -v npm >/dev/null; then
    [ -z "${CI:-}" ] || { echo "lint: Node.js is not installed; CI lints the page scripts" >&2 && exit 1; }
    echo "lint: ! page scripts not linted: Node.js is not installed" >&2
    exit 0
fi
if [ "$(cat "$FOLDER/.installed" 2>/dev/null)" != "$BIOME" ]; then
    mkdir -p "$FOLDER"
    printf '{"private": true}\n' >"$FOLDER/package.json"
    npm install --prefix "$FOLDER" --silent --no-audit --no-fund --no-save "$BIOME"
    printf '%s\n' "$BIOME" >"$FOLDER/.installed"
fi
.venv/bin/python -c 'from agent.page.in_page_library import library_source; print(library_source())' >"$FOLDER/page.js"
# A visitor's page is a program of modules, the console has a script a page; they are linted as they are.
cp periplus/service/visits/static/*.js periplus/console/static/*.js "$FOLDER/"
cp biome.jsonc "$FOLDER/biome.jsonc"
cd "$FOLDER"
exec node_modules/.bin/biome lint --error-on-warnings --colors=off page.js visit.js view.js map.js runs.js
