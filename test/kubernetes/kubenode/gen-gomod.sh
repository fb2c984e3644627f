#!/bin/sh
# gen-gomod.sh [KUBERNETES_VERSION]: writes go.mod and go.sum anew, for another release.
#
# A release of k8s.io/kubernetes requires the modules of its staging folder at v0.0.0 and replaces
# them by that folder. Replacements count in the main module only, so this one repeats them with
# the versions under which the same modules were published. Not every release can be built so:
# the module proxy lacks some of those for some.
#
# helm, kubeconform and CoreDNS are in the same module, because they share most of their packages
# with Kubernetes. Their versions go with its minor release: helm 3.19 and CoreDNS 1.12.4 use the
# client of 1.34.
set -eu
cd "$(dirname "$0")"
kubernetes=${1:-v1.34.4}
helm=v3.19.5
kubeconform=v0.7.0
coredns=v1.12.4
staging=v0.${kubernetes#v1.}
toolchain=go1.26.8
go=${GO:-go}

theirs=$("$go" mod download -json "k8s.io/kubernetes@$kubernetes" |
	sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
	echo "module kubenode"
	# the behaviour of the runtime that the release was tested with
	sed -n '/^go /p; /^godebug default=/p' "$theirs"
	echo "toolchain $toolchain"
	echo "require k8s.io/kubernetes $kubernetes"
	echo "require github.com/coredns/coredns $coredns"
	echo "require helm.sh/helm/v3 $helm"
	echo "require github.com/yannh/kubeconform $kubeconform"
	echo "tool helm.sh/helm/v3/cmd/helm"
	echo "tool github.com/yannh/kubeconform/cmd/kubeconform"
	echo "replace ("
	sed -n 's#^[[:space:]]*\(k8s.io/[^ ]*\) => \./staging/.*#\1#p' "$theirs" | sort -u |
		while read -r module; do
			echo "$module => $module $staging"
		done
	echo ")"
} >go.mod
rm -f go.sum
# -e: tests of modules that we do not run want others that are not to be had
"$go" mod tidy -e
"$go" mod edit -fmt
