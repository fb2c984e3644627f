#!/bin/sh
# build-chain.sh CC OUT: test/accuracy/workloads/chain.c, static and without frame pointers.
set -eu
# shellcheck disable=SC2086 # a compiler and its flags
$1 -std=gnu11 -O2 -fomit-frame-pointer -fno-ipa-icf -static -pthread -o "$2" \
	test/accuracy/workloads/chain.c test/accuracy/workloads/chain_library.c
