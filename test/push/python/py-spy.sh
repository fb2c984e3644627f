#!/bin/bash
# py-spy.sh PACKAGES: the line of docs/push.md, on a program of ours.
set -euo pipefail
here=$(dirname "$0")
py_spy=$1/bin/py-spy
# python3 may be a script, which py-spy cannot read
python=$(python3 -c 'import sys; print(sys.executable)')

"$py_spy" record -f raw -r 50 -o /dev/stdout -- "$python" "$here/client.py" |
	curl -sS --fail-with-body --data-binary @- -H "X-Api-Key: $PUSH_KEY" \
		"$PUSH_URL/ingest?name=push.py-spy%7Bregion=eu%7D&spyName=pyspy&sampleRate=50"
