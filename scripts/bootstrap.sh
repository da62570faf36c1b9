#!/bin/sh
# Makes .venv from a clean clone: a pinned uv by pip, then the locked requirements by uv, then honed itself (editable).
# Needs only Python 3.11 or newer with its venv module. Quick when nothing changed; safe to interrupt and run again.
# `bootstrap.sh EXTRA` then installs requirements/EXTRA.txt on top; a change of the locks takes it away again.
# Index and certificate settings come from the machine (pip's and uv's own variables and files), never from here.
set -eu
cd "$(dirname "$0")/.."

venv=.venv
stamp=$venv/.honed-stamp

say() { printf 'bootstrap: %s\n' "$*"; }
die() { printf 'bootstrap: error: %s\n' "$*" >&2; exit 1; }

find_python() {
    for name in "${PYTHON:-python3.11}" python3.11 python3 python; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    die "no Python 3.11 or newer found; install it, or name it: make setup PYTHON=/path/to/python3.11"
}

digest() { "$1" - <<'EOF'
import hashlib, pathlib, sys
names = ["requirements/uv.txt", "requirements/dev.txt", "pyproject.toml", "scripts/bootstrap.sh"]
parts = [sys.version, str(pathlib.Path().resolve())] + [pathlib.Path(name).read_text("utf-8") for name in names]
print(hashlib.sha256("\0".join(parts).encode()).hexdigest())
EOF
}

# pip reads its own variables and files; uv has others. Whoever set up pip for this machine means both.
share_settings() {
    if [ -n "${PIP_CERT:-}" ] && [ -z "${SSL_CERT_FILE:-}" ]; then
        SSL_CERT_FILE=$PIP_CERT
        export SSL_CERT_FILE
    fi
    index=${PIP_INDEX_URL:-$("$venv/bin/python" -m pip config get global.index-url 2>/dev/null || true)}
    if [ -n "$index" ] && [ -z "${UV_DEFAULT_INDEX:-}" ] && [ -z "${UV_INDEX_URL:-}" ]; then
        UV_DEFAULT_INDEX=$index
        export UV_DEFAULT_INDEX
    fi
}

make_venv() {
    if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' &&
        "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        return
    fi
    python=$(find_python)
    say "making $venv with $python"
    # A .venv that another tool made without pip keeps its packages; a broken one is made anew.
    "$venv/bin/python" -c '' 2>/dev/null || rm -rf "$venv"
    "$python" -m venv "$venv" ||
        die "python -m venv failed; on Debian or Ubuntu: apt-get install python3-venv"
}

install_locked() {
    say "installing the locked uv"
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --require-hashes \
        -r requirements/uv.txt || die "pip could not install uv; check pip's index and certificate settings"
    share_settings
    say "installing the locked requirements"
    uv="$venv/bin/uv"
    "$uv" pip sync --quiet --python "$venv/bin/python" --require-hashes requirements/dev.txt ||
        die "uv could not install requirements/dev.txt; check UV_DEFAULT_INDEX and SSL_CERT_FILE"
    "$uv" pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation --editable . ||
        die "honed itself could not be installed from this folder"
}

install_extra() {
    share_settings
    say "installing requirements/$1.txt"
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --require-hashes -r "requirements/$1.txt" ||
        die "uv could not install requirements/$1.txt; if a build failed: apt-get install build-essential"
}

if ! { [ -x "$venv/bin/python" ] && [ -x "$venv/bin/honed" ] && [ -f "$stamp" ] &&
    [ "$(digest "$venv/bin/python")" = "$(cat "$stamp")" ]; }; then
    make_venv
    rm -f "$stamp"
    install_locked
    digest "$venv/bin/python" >"$stamp"
    say "$venv is ready"
fi
[ $# -eq 0 ] || install_extra "$1"
