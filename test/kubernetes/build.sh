#!/bin/sh
# build.sh GO: builds kubenode/ with that go command, once, and prints the folder it is in: the
# programs kubenode, kubectl, helm and kubeconform, and schemas/ for the last (see schemas.js).
#
# The folder is $DEPS/kubernetes-KEY, where KEY stands for everything that changes the result.
# A cold build takes some 15 minutes of CPU time and needs 4 GB of Go's caches; they have a folder
# of their own, which is removed in the end. A build that was cut short leaves it to the next one.
# Several at a time wait for the first.
set -eu
go=$1
deps=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}
cd "$(dirname "$0")/kubenode"

# version_of MODULE
version_of()
{
	sed -n "s#^\(require\)\{0,1\}[[:space:]]*$1 \(v[^ ]*\).*#\2#p" go.mod
}
version=$(version_of k8s.io/kubernetes)
minor=${version#v1.}
minor=${minor%%.*}
# without these the server calls itself v0.0.0-master, and helm takes a cluster for one of v1.20
var=k8s.io/component-base/version
helm=helm.sh/helm/v3
ldflags="-s -w -X $var.gitVersion=$version -X $var.gitMajor=1 -X $var.gitMinor=$minor"
ldflags="$ldflags -X $helm/internal/version.version=$(version_of $helm)"
for package in pkg/chartutil pkg/lint/rules; do
	ldflags="$ldflags -X $helm/$package.k8sVersionMajor=1 -X $helm/$package.k8sVersionMinor=$minor"
done

key=$({ cat go.mod go.sum kubenode.go ../schemas.js; echo "$ldflags"; uname -m; } | sha256sum | cut -c1-16)
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
	export GOCACHE="$caches/go" GOMODCACHE="$caches/mod" GOTOOLCHAIN=auto CGO_ENABLED=0
	export GOFLAGS='-trimpath -buildvcs=false -mod=readonly'
	# static, so that they run in any image
	"$go" build -ldflags "$ldflags" -o "$caches/out/" . $helm/cmd/helm \
		github.com/yannh/kubeconform/cmd/kubeconform >&2
	node ../schemas.js "$("$go" list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/swagger.json" \
		"$caches/out/schemas"
	rm -rf "$out"
	mkdir -p "$out"
	ln -sf kubenode "$out/kubectl"
	mv "$caches/out/schemas" "$caches/out/helm" "$caches/out/kubeconform" "$out"
	# the last: with it all is there
	mv "$caches/out/kubenode" "$out/kubenode"
	chmod -R u+w "$caches" # Go makes them read-only
	rm -rf "$caches"
fi
echo "$out"
