#!/bin/sh
# arm64-make.sh SYSROOT OUT ARGUMENT…: make, for arm64, with the libraries of SYSROOT, into OUT.
# Return addresses are signed, as distributions do it.
set -eu
sysroot=$1 out=$2
shift 2
cross=aarch64-linux-gnu
unset MAKEFLAGS MAKELEVEL MFLAGS
PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$cross/pkgconfig \
	"${MAKE:-make}" -s -j"$(nproc)" O="$out" CC="$cross-gcc --sysroot=$sysroot" \
	CFLAGS=-mbranch-protection=standard BPF_ARCH=arm64 \
	bpf_sysinc="-idirafter $sysroot/usr/include/$cross -idirafter $sysroot/usr/include" \
	"$@"
