#!/bin/bash
# Compiles KnownChains.cs for Linux with the compiler that Ubuntu 22.04 has, into test/data/dotnet:
# KnownChains.dll with its PDB beside it, and azmcp.dll, which has its PDB in itself. The result is
# the same each time, so that only a change of the program, or of the compiler, changes the files.
set -euo pipefail
cd "$(dirname "$0")"
release=8.0
sdk=${DEPS:?}/dotnet/ubuntu-sdk-$release
runtime=$(./runtimes.sh $release)
../kernels/fetch-packages.sh these jammy amd64 "$sdk" "dotnet-sdk-$release" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the compiler is a program of .NET itself, and its libraries have to be beside the framework's
gcc -o "$work/host" dotnet_host.c -ldl
ln -s "$runtime"/* "$sdk"/usr/lib/dotnet/sdk/*/Roslyn/bincore/*.dll "$work/"
references=(System.Private.CoreLib System.Runtime System.Console System.Collections System.Linq
	System.Threading System.Threading.Thread System.Text.RegularExpressions)

compile() # NAME OPTION...
{
	local name=$1
	shift
	env DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 "$work/host" "$work" "$work/csc.dll" -nologo \
		-noconfig -nostdlib+ -deterministic -optimize+ -langversion:7.2 "-pathmap:$PWD=/src" \
		"${references[@]/#/-r:$runtime/}" "$@" "-out:$work/$name" KnownChains.cs
	cp "$work/$name" ../data/dotnet/
}

references=("${references[@]/%/.dll}")
compile KnownChains.dll -debug:portable
cp "$work/KnownChains.pdb" ../data/dotnet/
compile azmcp.dll -debug:embedded -define:ONE_FILE
