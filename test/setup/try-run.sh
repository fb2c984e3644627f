#!/bin/bash
# Tries the README's first command as a newcomer does: "make run" until the page shows an
# application, then a second time beside it, then Ctrl-C; and once more, killed. Ends with "1 passed, 0 failed", or with the output of "make run".
#
# PORT, NODE_PORT: as for "make run"; MINUTES=40: how long installing, building and waiting may
# take.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=test/setup/http-get.sh
. test/setup/http-get.sh
port=${PORT:-10301}
deadline=$((SECONDS + ${MINUTES:-40} * 60))
log=$(mktemp)

failed()
{
	echo "try-run: $1; the end of the output of make run:" >&2
	tail -n 60 "$log" >&2
	kill -KILL -- "-$run" 2>/dev/null
	echo "make run: 0 passed, 1 failed"
	exit 1
}

# A process group of its own, which gets the signal of Ctrl-C as a whole. Whoever started us may
# ignore that signal, and bash cannot trap what was ignored when it started.
set -m
env --default-signal=INT,QUIT,HUP make run >"$log" 2>&1 </dev/null &
run=$!
set +m
trap 'kill -KILL -- "-$run" 2>/dev/null; rm -f "$log"' EXIT

# the page, and an application in what it asks for
until http_get 127.0.0.1 "$port" / >/dev/null &&
	http_get 127.0.0.1 "$port" /api/applications | grep -q '"service":"[^"]'; do
	kill -0 "$run" 2>/dev/null || failed "make run ended by itself"
	[ "$SECONDS" -lt "$deadline" ] || failed "the page shows no application"
	sleep 1
done
grep -q "Open *http://127.0.0.1:$port" "$log" ||
	failed "make run has not printed the URL of the page"
echo "try-run: the page shows applications after $SECONDS s"

# a second one refuses, names the remedy, and leaves the first one alone
if second=$(make run 2>&1 </dev/null); then
	failed "a second make run starts although the port is in use"
fi
grep -q "PORT=.* make run" <<<"$second" ||
	failed "a second make run does not say how to choose a port, but: $second"
http_get 127.0.0.1 "$port" /healthz >/dev/null || failed "a second make run stops the first one"

kill -INT -- "-$run"
while kill -0 "$run" 2>/dev/null; do
	[ "$SECONDS" -lt "$deadline" ] || failed "make run does not end after Ctrl-C"
	sleep 0.2
done
! http_get 127.0.0.1 "$port" /healthz >/dev/null || failed "an agent is left behind after Ctrl-C"

# What cannot clean up leaves no agent behind that would be in the way of the next start.
set -m
test/setup/run.sh >"$log" 2>&1 </dev/null &
run=$!
set +m
until grep -q "Open *http://127.0.0.1:$port" "$log"; do
	kill -0 "$run" 2>/dev/null || failed "run.sh ended by itself"
	[ "$SECONDS" -lt "$deadline" ] || failed "run.sh does not start"
	sleep 0.2
done
{ kill -KILL "$run" && wait "$run"; } 2>/dev/null
while http_get 127.0.0.1 "$port" /healthz >/dev/null ||
	http_get 127.0.0.1 "${NODE_PORT:-10300}" /healthz >/dev/null; do
	[ "$SECONDS" -lt "$deadline" ] || failed "an agent is left behind by a killed make run"
	sleep 0.2
done
echo "make run: 1 passed, 0 failed"
