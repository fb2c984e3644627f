#!/bin/sh
# build-arm64.sh SYSROOT OUT: the node-agent, the tests of test/bpf and a busy program for arm64
# in OUT/bin, with the libraries of SYSROOT. Return addresses are signed, as distributions do it.
set -eu
sysroot=$1 out=$2
cross=aarch64-linux-gnu
gcc="$cross-gcc --sysroot=$sysroot"
protect=-mbranch-protection=standard

set -- "$out/coroot-node-agent"
for t in test/bpf/test_*.c; do
	set -- "$@" "$out/test/bpf/$(basename "$t" .c)"
done
unset MAKEFLAGS MAKELEVEL MFLAGS
PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$cross/pkgconfig \
	"${MAKE:-make}" -s -j"$(nproc)" O="$out" CC="$gcc" CFLAGS=$protect BPF_ARCH=arm64 \
	bpf_sysinc="-idirafter $sysroot/usr/include/$cross -idirafter $sysroot/usr/include" \
	"$@"
mkdir -p "$out/bin"
cp "$@" "$out/bin/"
$gcc $protect -std=gnu11 -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	-o "$out/bin/share" test/e2e/workloads/share.c
