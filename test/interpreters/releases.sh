#!/bin/bash
# releases.sh AGENT LANGUAGE: what the agent shows of programs of each release of a language that
# Debian has (releases.txt) must be right. The releases are unpacked below $DEPS/interpreters once.
# Needs root. RELEASES="sid" chooses some.
set -u
agent=$1 language=$2
here=$(cd "$(dirname "$0")" && pwd)
status=0

# one SUITE PROGRAM PACKAGE...
one() {
	local root=${DEPS:?}/interpreters/$1-$2
	[[ " $1-$2" == *"${RELEASES:-}"* ]] || return 0
	"$here"/tree.sh "$root" "$1" "${@:3}" || return
	echo "$1 $2: $(node "$here/../$language/${language}_frames.js" "$agent" "$root" \
		"/usr/bin/$2" 2>&1)" | tee "$root/log"
	grep -q "stacks are right" "$root/log"
}

while read -r its suite program packages <&3; do
	# shellcheck disable=SC2086 # a list of words
	[ "$its" != "$language" ] || one "$suite" "$program" $packages || status=1
done 3< <(grep -v '^#' "$here/releases.txt")
exit $status
