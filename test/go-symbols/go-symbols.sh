#!/bin/bash
# go-symbols.sh CHECK_SYMBOLS GO: compares names of Go functions with those of nm, and lines with
# those of the runtime, for every layout of .gopclntab that the Go command can still fetch a
# toolchain for, and every way of linking. The targets are kept below $DEPS/go-targets, the
# toolchains where Go keeps its modules.
set -u
check=$1 go=$2
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/../go-matrix/matrix.sh"
versions=${GO_VERSIONS:-"1.18.10 1.20.14 1.22.12 1.25.3 1.26.8 1.27.4"}
target=../go-symbols/target
base=$(kept_in go-targets $target)

build_all() {
	build plain $target 0 &&
		build plain-s $target 0 -ldflags='-s -w' &&
		build pie $target 0 -buildmode=pie &&
		build pie-s $target 0 -buildmode=pie -ldflags='-s -w' &&
		build cgo $target 1 -ldflags=-linkmode=external &&
		build cgo-s $target 1 -ldflags='-linkmode=external -s -w' &&
		build cgo-pie $target 1 -buildmode=pie -ldflags=-linkmode=external &&
		build cgo-pie-s $target 1 -buildmode=pie -ldflags='-linkmode=external -s -w'
}

text_of() {
	readelf -SW "$1" |
		sed -n 's/.* \.text  *PROGBITS  *\([0-9a-f]* *[0-9a-f]* *[0-9a-f]*\).*/\1/p'
}

# compare TRUTH FILE MIN
compare() {
	if [ "$(text_of "$out/$1")" != "$(text_of "$out/$2")" ]; then
		echo "its .text differs from that of $1, so nm's names do not apply"
		return 1
	fi
	nm -S --defined-only "$out/$1" >"$work/nm" && "$check" "$work/nm" "$out/$2" "$3"
}

# lines TRUTH FILE: lines of FILE, which has the .text of TRUTH, against what the runtime of TRUTH
# says of two addresses of each function
lines() {
	{
		nm -S --defined-only "$out/$1" | grep ' [tT] main\.main$'
		nm -S --defined-only "$out/$1"
	} | sed -n 's/^\([0-9a-f]*\) \([0-9a-f]*\) [tT] .*/\1 \2/p' >"$work/functions"
	"$out/$1" lines <"$work/functions" >"$work/lines" &&
		"$check" lines "$work/lines" "$out/$2"
}

# headerless TRUTH FILE MIN: FILE, which has the .text of TRUTH, without section headers: e_shoff is
# at 40, their size, number and names from 58 on
headerless() {
	cp "$out/$2" "$work/bare" &&
		printf '\0\0\0\0\0\0\0\0' | dd of="$work/bare" bs=1 seek=40 conv=notrunc status=none &&
		printf '\0\0\0\0\0\0' | dd of="$work/bare" bs=1 seek=58 conv=notrunc status=none &&
		nm -S --defined-only "$out/$1" >"$work/nm" && "$check" "$work/nm" "$work/bare" "$3"
}

check_version() {
	try 1 compare plain plain 100
	try 1 compare plain plain-s 100
	try 1 headerless plain plain-s 100
	try 1 lines plain plain-s
	try 1 headerless pie pie-s 100
	try 1 compare pie pie 100
	try 1 compare pie pie-s 100
	try 1 lines pie pie-s
	try 1 compare cgo cgo 100
	# without .symtab the C part has no names
	try 1 compare cgo cgo-s 95
	try 1 lines cgo cgo-s
	try 1 compare cgo-pie cgo-pie 100
	try 1 compare cgo-pie cgo-pie-s 95
	try 1 lines cgo-pie cgo-pie-s
}

each_release "$(nproc)" "go symbols"
