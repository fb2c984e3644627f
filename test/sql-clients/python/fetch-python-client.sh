#!/bin/bash
# Prints the folder with the Python packages of requirements.txt, for PYTHONPATH.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh

build()
{
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
		--only-binary=:all: --no-deps --require-hashes --target="$1" -r requirements.txt
}
kept sql-clients/clickhouse-connect build requirements.txt
