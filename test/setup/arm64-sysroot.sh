#!/bin/sh
# Prints the folder in which the Debian packages for arm64 are that our programs are built with;
# fetches them if they are not there. Another list of packages is another folder.
set -eu
cd "$(dirname "$0")/../.."
deps=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}/kernels
fetch=test/kernels/fetch-packages.sh
packages="libc6-dev libbpf-dev libelf-dev libdw-dev liblzma-dev zlib1g-dev libyaml-dev libcurl4-openssl-dev
libmicrohttpd-dev libgnutls28-dev libprotobuf-c-dev libjansson-dev libdeflate-dev libxxhash-dev
libzstd-dev liblz4-dev libiberty-dev libpcre2-dev libnghttp2-dev uthash-dev libseccomp-dev libcmocka-dev"
sysroot=$deps/sysroot-arm64-$({ echo "$packages"; cat $fetch; } | sha256sum | cut -c 1-12)
# shellcheck disable=SC2086 # a list of words
$fetch needs bookworm arm64 "$sysroot" $packages >&2
echo "$sysroot"
