# Sourced by the tests of both steps: 1 if a file of the workspace holds a line, else 0.
has() { grep -qxF -- "$2" "$1" 2>/dev/null && echo 1 || echo 0; }
