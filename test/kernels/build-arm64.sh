#!/bin/sh
# build-arm64.sh SYSROOT OUT: the node-agent, the tests of test/bpf and busy programs for arm64
# in OUT/bin, with the libraries of SYSROOT. Return addresses are signed, as distributions do it.
set -eu
sysroot=$1 out=$2
cross=aarch64-linux-gnu
gcc="$cross-gcc --sysroot=$sysroot"
protect=-mbranch-protection=standard

set -- "$out/coroot-node-agent" "$out/test/kernels/whole_stacks"
for t in test/bpf/test_*.c; do
	[ "$t" = test/bpf/test_interpreter.c ] || # no Python there
		set -- "$@" "$out/test/bpf/$(basename "$t" .c)"
done
test/setup/arm64-make.sh "$sysroot" "$out" "$@"
mkdir -p "$out/bin"
cp "$@" "$out/bin/"
$gcc $protect -std=gnu11 -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	-o "$out/bin/share" test/e2e/workloads/share.c
test/kernels/build-chain.sh "$gcc $protect" "$out/bin/chain"
