#!/bin/bash
# pyinstrument.sh PACKAGES: a file of speedscope made by pyinstrument, which measures wall-clock time.
set -euo pipefail
here=$(dirname "$0")

PYTHONPATH=$1 python3 "$here/client.py" pyinstrument |
	curl -sS --fail-with-body --data-binary @- -H "X-Api-Key: $PUSH_KEY" \
		"$PUSH_URL/ingest?name=push.pyinstrument.wall%7Bregion=eu%7D&format=speedscope"
