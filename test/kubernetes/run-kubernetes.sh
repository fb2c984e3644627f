#!/bin/bash
# Runs test/kubernetes/*.test.js one after the other, or those named: run-kubernetes.sh watch pods.node
#
# Files called *.node.test.js run in the network namespace of one cluster with a node, which they
# share, with the images $KN_IMAGES on it. All others start what they need themselves.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || { echo "kubernetes: needs root, and there is no sudo" >&2; exit 1; }
	exec sudo --preserve-env=BIN,DEPS,CI,PATH,KN_BIN,KN_GO_VERSIONS,KN_IMAGES "$0" "$@"
fi

cluster=test/kubernetes/cluster.sh
clusters=build/kubernetes/clusters
export RUN_DIR=build/kubernetes/run

# those of a run that was killed, and at the end those of this one
down_all()
{
	local settings
	for settings in "$clusters"/*/settings; do
		[ ! -e "$settings" ] || KN_DIR=${settings%/settings} "$cluster" down
	done
}
finish()
{
	down_all
	# what root wrote goes back to the user who called
	# shellcheck disable=SC2153 # both come from sudo
	[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:$SUDO_GID" build/kubernetes
}
trap finish EXIT
trap 'exit 130' INT TERM
down_all

on_node=() alone=()
files=()
for name in "$@"; do
	files+=("test/kubernetes/$name.test.js")
done
[ $# -gt 0 ] || files=(test/kubernetes/*.test.js)
for file in "${files[@]}"; do
	case $file in
	*.node.test.js) on_node+=("$file") ;;
	*) alone+=("$file") ;;
	esac
done

failed=0
# run FILE [PREFIX...]: a test that hangs is a failure of its own, with its daemons gone
run()
{
	local file=$1
	shift
	echo "== $file"
	"$@" timeout --foreground --kill-after=20 600 node --test-reporter=spec "$file" || failed=$((failed + 1))
}

for file in "${alone[@]}"; do
	run "$file"
done
if [ ${#on_node[@]} -gt 0 ]; then
	export KN_DIR=$clusters/node
	"$cluster" up-node || exit 1
	for image in $KN_IMAGES; do
		"$cluster" import "$image" || exit 1
	done
	for file in "${on_node[@]}"; do
		run "$file" "$cluster" exec
	done
fi
[ "$failed" -eq 0 ]
