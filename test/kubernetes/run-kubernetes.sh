#!/bin/bash
# Runs test/kubernetes/*.test.js, or those named: run-kubernetes.sh watch pods.node
#
# Files called *.node.test.js run in the network namespace of one cluster with a node, which they
# share, with the images $KN_IMAGES on it, one after the other. All others start what they need
# themselves and run three at a time.
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
# check FILE [PREFIX...]: a test that hangs is a failure of its own, and its daemons are killed
check()
{
	local file=$1
	shift
	"$@" test/node-test.sh 1200 "$file"
}

# The same, said in one piece at the end.
check_quietly()
{
	local said result=0
	said=$(check "$1" 2>&1) || result=$?
	printf '== %s\n%s\n' "$1" "$said"
	return "$result"
}

# one_ends: waits for one of those in the background
one_ends()
{
	wait -n || failed=$((failed + 1))
	under_way=$((under_way - 1))
}

# they wait more than they work
under_way=0
for file in "${alone[@]}"; do
	[ "$under_way" -lt 3 ] || one_ends
	check_quietly "$file" &
	under_way=$((under_way + 1))
done
while [ "$under_way" -gt 0 ]; do
	one_ends
done

if [ ${#on_node[@]} -gt 0 ]; then
	export KN_DIR=$clusters/node
	"$cluster" up-node || exit 1
	for image in $KN_IMAGES; do
		"$cluster" import "$image" || exit 1
	done
	for file in "${on_node[@]}"; do
		echo "== $file"
		# not twice: what it has made is still there
		CI='' check "$file" "$cluster" exec || failed=$((failed + 1))
	done
fi
[ "$failed" -eq 0 ]
