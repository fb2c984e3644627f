#!/bin/bash
# Runs test/containers/*.test.js one after the other, or those named: run-containers.sh names
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "containers: making containers needs root, and there is no sudo" >&2
		exit 1
	}
	exec sudo --preserve-env=BIN,DEPS,CI,PATH "$0" "$@"
fi
# what root wrote goes back to the user who called
# shellcheck disable=SC2153 # both come from sudo
[ -z "${SUDO_UID:-}" ] || trap 'chown -R "$SUDO_UID:$SUDO_GID" build/containers' EXIT
export RUN_DIR=build/containers/run

files=()
for f in "$@"; do
	files+=("test/containers/$f.test.js")
done
[ $# -gt 0 ] || files=(test/containers/*.test.js)

failed=0
for f in "${files[@]}"; do
	echo "== $f"
	# a test that hangs is a failure of its own, and its daemons are killed
	test/node-test.sh 600 "$f" || failed=$((failed + 1))
done
[ "$failed" -eq 0 ]
