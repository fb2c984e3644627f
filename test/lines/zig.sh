#!/bin/bash
# Prints the folder with the compiler of Zig, which Debian lacks and PyPI has.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../setup/kept.sh

build()
{
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
		--only-binary=:all: --no-deps --require-hashes --target="$1" -r zig-wheel.txt
}

kept lines/zig build zig.sh zig-wheel.txt
