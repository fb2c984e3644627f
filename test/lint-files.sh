#!/bin/sh
# File names are unique in the repository, so that a name in a log or a grep says where it is;
# and every file that the documents name exists.
set -u
bad=0

# a test of the page stands beside what it tests; the rest is called what their tools want, as is
# all of a Helm chart and of manifests for kustomize
dup=$(git ls-files | grep -vE '^(test/fuzz/corpus|charts/(coroot-operator|coroot-ce|profiling|manifests))/' | sed 's|.*/||' | sort | uniq -d |
	grep -vE '^(main\.c|go\.(mod|sum)|README\.md|LICENSE|package(-lock)?\.json|tsconfig\.json|\.gitignore)$')
if [ -n "$dup" ]; then
	echo "names that more than one file has: $dup"
	bad=1
fi

for doc in ARCHITECTURE.md README.md CONTRIBUTING.md BENCHMARKS.md docs/*.md test/README.md bpf/README.md; do
	[ -f "$doc" ] || { echo "$doc does not exist"; bad=1; continue; }
	# x.{h,c} and x.{c,h} stand for both
	# shellcheck disable=SC2016 # backquotes of Markdown
	for name in $(sed -E 's/([A-Za-z0-9_./-]+)\.\{(h,c|c,h)\}/\1.h \1.c/g' "$doc" |
		grep -oE '(^|[ `(|])[A-Za-z0-9_./-]*[A-Za-z0-9_-]+\.(c|h|sh|ts|tsx|css|proto|md|png|bpf\.c|test\.js)([`),.:;| ]|$)' |
		tr -d '`(),:;| ' | sed 's/\.$//' | sort -u); do
		git ls-files | grep -qE "(^|/)$(printf '%s' "$name" | sed -E 's|^(\.\.?/)+||; s/\./\\./g')\$" || {
			echo "$doc names $name, which does not exist"
			bad=1
		}
	done
done
exit $bad
