#!/bin/bash
# Lines and inlined calls of programs of all compilers, beside addr2line and llvm-addr2line:
#   lines.sh CHECK_LINES DIR [PROGRAM…]
# Makes the programs in DIR unless they are there, and prints a table. N and SHOWN are environment:
# addresses of each, and how many differences are shown. What a machine has no compiler for is left
# out, and said.
set -euo pipefail
check=$(realpath "$1") dir=$2
shift 2
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$dir"
dir=$(realpath "$dir")
cd "$here"
export CCACHE_DISABLE=1

c_files="common/elf/*.c"
c_flags="-std=gnu11 -D_GNU_SOURCE -I. -I$(dirname "$check")/../../gen -fPIC -shared -w"
cc=test/lines/templates.cc rs=test/lines/generic.rs zig=test/lines/generic.zig
dwz() { cp "$dir/$2" "$dir/$1" && command dwz "$dir/$1"; }

# shellcheck disable=SC2086
make_program() {
	local out=$dir/$1
	case $1 in
	c-o2) gcc $c_flags -O2 -g -o "$out" $c_files ;;
	c-g1) gcc $c_flags -O2 -g1 -o "$out" $c_files ;;
	c-lto) gcc $c_flags -O2 -g -flto -o "$out" $c_files ;;
	c-dwz) dwz c-dwz c-o2 ;;
	c-clang) clang $c_flags -O2 -g -o "$out" $c_files ;;
	cxx) g++ -std=c++17 -O2 -g -o "$out" $cc ;;
	cxx-dwz) dwz cxx-dwz cxx ;;
	cxx-clang) clang++ -std=c++17 -O2 -g -o "$out" $cc ;;
	rust-g2) rustc -O -g -o "$out" $rs ;;
	rust-g1) rustc -O -C debuginfo=1 -o "$out" $rs ;;
	go) (cd test/go-symbols/target && "$(../../setup/go.sh)" build -o "$out" .) ;;
	zig) "$(test/lines/zig.sh)"/ziglang/zig build-exe -O ReleaseSafe "-femit-bin=$out" $zig ;;
	*) echo "lines.sh: there is no program $1" >&2 && return 2 ;;
	esac
}

title() {
	case $1 in
	c-o2) echo "C, \`gcc -O2 -g\`" ;;
	c-g1) echo "C, \`gcc -O2 -g1\`" ;;
	c-lto) echo "C, \`gcc -O2 -g -flto\`" ;;
	c-dwz) echo "C, \`gcc -O2 -g\`, then \`dwz\`" ;;
	c-clang) echo "C, \`clang -O2 -g\`" ;;
	cxx) echo "C++, \`g++ -O2 -g\`" ;;
	cxx-dwz) echo "C++, \`g++ -O2 -g\`, then \`dwz\`" ;;
	cxx-clang) echo "C++, \`clang++ -O2 -g\`" ;;
	rust-g2) echo "Rust, \`rustc -O -g\`" ;;
	rust-g1) echo "Rust, \`rustc -O -C debuginfo=1\`" ;;
	go) echo "Go, \`go build\`" ;;
	zig) echo "Zig, \`-O ReleaseSafe\`" ;;
	esac
}

echo "| program | addresses | inlined | with a line | as addr2line | as llvm-addr2line | as either | as neither |"
echo "|---|---|---|---|---|---|---|---|"
[ $# -gt 0 ] || set -- c-o2 c-g1 c-lto c-dwz c-clang cxx cxx-dwz cxx-clang rust-g2 rust-g1 go zig
for program; do
	if [ ! -e "$dir/$program" ] && ! make_program "$program" >&2; then
		echo "lines.sh: $program cannot be made" >&2
		continue
	fi
	"$check" "${N:-12000}" "${SHOWN:-3}" "$(title "$program")" "$dir/$program"
done
