#!/bin/sh
# build.sh GO: builds kubenode/ with that go command, once, and prints the folder it is in, as the
# programs kubenode and kubectl.
#
# The folder is $DEPS/kubernetes-KEY, where KEY stands for everything that changes the result.
# A cold build takes some 8 minutes of CPU time and needs 4 GB of Go's caches; they have a folder
# of their own, which is removed in the end. A build that was cut short leaves it to the next one.
# Several at a time wait for the first.
set -eu
go=$1
deps=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}
cd "$(dirname "$0")/kubenode"

version=$(sed -n 's/^[[:space:]]*k8s.io\/kubernetes \(v[^ ]*\)$/\1/p' go.mod)
minor=${version#v1.}
minor=${minor%%.*}
# without these the server calls itself v0.0.0-master
var=k8s.io/component-base/version
ldflags="-s -w -X $var.gitVersion=$version -X $var.gitMajor=1 -X $var.gitMinor=$minor"

key=$({ cat go.mod go.sum kubenode.go; echo "$ldflags"; uname -m; } | sha256sum | cut -c1-16)
out=$deps/kubernetes-$key
caches=$deps/kubernetes-build

if [ ! -x "$out/kubenode" ]; then
	mkdir -p "$deps"
	exec 9>"$deps/kubernetes-build.lock"
	flock 9
fi
if [ ! -x "$out/kubenode" ]; then
	echo "deps: Kubernetes $version from the Go module proxy; takes some minutes" >&2
	mkdir -p "$caches/out"
	# static, so that it runs in any image
	GOCACHE=$caches/go GOMODCACHE=$caches/mod GOTOOLCHAIN=auto CGO_ENABLED=0 \
		GOFLAGS='-trimpath -buildvcs=false -mod=readonly' \
		"$go" build -ldflags "$ldflags" -o "$caches/out/kubenode" . >&2
	mkdir -p "$out"
	ln -sf kubenode "$out/kubectl"
	mv "$caches/out/kubenode" "$out/kubenode"
	chmod -R u+w "$caches" # Go makes them read-only
	rm -rf "$caches"
fi
echo "$out"
