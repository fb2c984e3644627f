#!/bin/bash
# php-frames.sh AGENT: what the agent shows of programs of every PHP that Debian has must be right.
# The releases are unpacked below $DEPS/phps once. Needs root. PHPS="sid" chooses some.
#
# Not to be had this way: 7.3, 8.0, 8.1, 8.3, and builds for several threads.
set -u
agent=$1
here=$(cd "$(dirname "$0")" && pwd)
arch=$(dpkg --print-architecture)
status=0

# one SUITE PHP
one() {
	local root=${DEPS:?}/phps/$1-$2
	[[ " $1-$2" == *"${PHPS:-}"* ]] || return 0
	"$here"/../kernels/fetch-packages.sh needs "$1" "$arch" "$root" base-files "$2-cli" >&2 ||
		return
	for dir in bin lib lib64 sbin; do
		[ -e "$root/$dir" ] || ln -s "usr/$dir" "$root/$dir"
	done
	mkdir -p "$root/tmp"
	echo "$1 $2: $(node "$here/php_frames.js" "$agent" "$root" "/usr/bin/$2" 2>&1)" | tee "$root/log"
	grep -q "stacks are right" "$root/log"
}

one bullseye php7.4 || status=1
one bookworm php8.2 || status=1
one trixie php8.4 || status=1
exit $status
