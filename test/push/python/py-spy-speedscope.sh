#!/bin/bash
# py-spy-speedscope.sh PACKAGES: a file of speedscope made by py-spy, as docs/push.md posts it.
set -euo pipefail
here=$(dirname "$0")
py_spy=$1/bin/py-spy
file=$(mktemp)
trap 'rm -f "$file"' EXIT
# python3 may be a script, which py-spy cannot read
python=$(python3 -c 'import sys; print(sys.executable)')

"$py_spy" record -f speedscope -r 50 -o "$file" -- "$python" "$here/client.py"
curl -sS --fail-with-body --data-binary @"$file" -H "X-Api-Key: $PUSH_KEY" \
	"$PUSH_URL/ingest?name=push.py-spy-speedscope%7Bregion=eu%7D&format=speedscope"
