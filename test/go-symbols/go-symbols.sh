#!/bin/sh
# Names of Go functions against nm's, for every layout of .gopclntab that the Go command can
# still fetch a toolchain for, and every way of linking: go-symbols.sh CHECK_SYMBOLS GO
# The targets are kept below $DEPS/go-targets, the toolchains where Go keeps its modules.
set -u
check=$1 go=$2
here=$(cd "$(dirname "$0")" && pwd)
versions=${GO_VERSIONS:-"1.18.10 1.20.14 1.22.12 1.25.3 1.26.8 1.27.4"}
base=$DEPS/go-targets/$(cat "$here"/target/* "$0" | cksum | cut -d' ' -f1)
passed=0 failed=0

# build VERSION NAME CGO FLAGS…: the file $out/NAME, once
build() {
	version=$1 name=$2 cgo=$3
	shift 3
	[ -x "$out/$name" ] && return
	(cd "$here/target" && GOTOOLCHAIN=go$version CGO_ENABLED=$cgo GOFLAGS=-buildvcs=false \
		"$go" build -o "$out/$name" "$@" .)
}

build_all() {
	build "$version" plain 0 &&
		build "$version" plain-s 0 -ldflags='-s -w' &&
		build "$version" pie 0 -buildmode=pie &&
		build "$version" pie-s 0 -buildmode=pie -ldflags='-s -w' &&
		build "$version" cgo 1 -ldflags=-linkmode=external &&
		build "$version" cgo-s 1 -ldflags='-linkmode=external -s -w' &&
		build "$version" cgo-pie 1 -buildmode=pie -ldflags=-linkmode=external &&
		build "$version" cgo-pie-s 1 -buildmode=pie -ldflags='-linkmode=external -s -w'
}

text_of() {
	readelf -SW "$1" | sed -n 's/.* \.text  *PROGBITS  *\([0-9a-f]* *[0-9a-f]* *[0-9a-f]*\).*/\1/p'
}

# compare TRUTH FILE MIN
compare() {
	printf '  go%-8s %-16s ' "$version" "$2"
	[ "$1" = "$2" ] && nm -S --defined-only "$out/$1" >"$out/$1.nm"
	if [ "$(text_of "$out/$1")" != "$(text_of "$out/$2")" ]; then
		echo "text differs from that of $1: no truth to compare with"
		failed=$((failed + 1))
	elif "$check" "$out/$1.nm" "$out/$2" "$3"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

for version in $versions; do
	out=$base/$version
	mkdir -p "$out"
	if ! build_all; then
		failed=$((failed + 1))
		continue
	fi
	compare plain plain 100
	compare plain plain-s 100
	compare pie pie 100
	compare pie pie-s 100
	compare cgo cgo 100
	# without .symtab the C part has no names
	compare cgo cgo-s 95
	compare cgo-pie cgo-pie 100
	compare cgo-pie cgo-pie-s 95
done
echo "go symbols: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
