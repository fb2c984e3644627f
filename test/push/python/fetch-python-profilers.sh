#!/bin/bash
# Prints the folder with the Python packages of profilers.txt, for PYTHONPATH; bin/ has py-spy.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh

build()
{
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
		--only-binary=:all: --no-deps --require-hashes --target="$1" -r profilers.txt
}
kept push/python build profilers.txt
