#!/bin/bash
# releases.sh AGENT LANGUAGE SUITE:PROGRAM:PACKAGE...: what the agent shows of programs of each
# release of a language that Debian has must be right. The releases are unpacked below
# $DEPS/interpreters once. Needs root. RELEASES="sid" chooses some.
set -u
agent=$1 language=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
arch=$(dpkg --print-architecture)
status=0

# one SUITE PROGRAM PACKAGE
one() {
	local root=${DEPS:?}/interpreters/$1-$2
	[[ " $1-$2" == *"${RELEASES:-}"* ]] || return 0
	"$here"/../kernels/fetch-packages.sh needs "$1" "$arch" "$root" base-files "$3" >&2 ||
		return
	for dir in bin lib lib64 sbin; do
		[ -e "$root/$dir" ] || ln -s "usr/$dir" "$root/$dir"
	done
	mkdir -p "$root/tmp"
	echo "$1 $2: $(node "$here/../$language/${language}_frames.js" "$agent" "$root" \
		"/usr/bin/$2" 2>&1)" | tee "$root/log"
	grep -q "stacks are right" "$root/log"
}

for release in "$@"; do
	IFS=: read -r suite program package <<<"$release"
	one "$suite" "$program" "$package" || status=1
done
exit $status
