#!/bin/sh
# lint-hardening.sh BUILD PROGRAM… -- OBJECT…: are these built as docs/security.md says? CC is the
# compiler.
#
# That branches and returns are checked (IBT and SHSTK on x86-64, BTI and PAC on arm64) is read from
# our objects: the linker drops the mark unless every object has it, and Scrt1.o, crti.o and
# libc_nonshared.a of Debian 12 have none. What leaves no trace is read from the commands that are
# recorded beside the objects.
set -eu
build=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# has TEXT PATTERN
has()
{
	printf '%s\n' "$1" | grep -qE -e "$2"
}

# prints what is missing
check_program()
{
	segments=$(readelf -lW "$1")
	dynamic=$(readelf -dW "$1")
	has "$segments" '^Elf file type is DYN' || echo "$1: not position-independent (-pie)"
	has "$segments" GNU_RELRO || echo "$1: no RELRO (-z relro)"
	has "$segments" 'GNU_STACK.* RW ' || echo "$1: executable stack (-z noexecstack)"
	# the first segment has no code, only headers
	has "$(echo "$segments" | grep -m 1 ' LOAD ')" ' R  +0x' ||
		echo "$1: code beside data (-z separate-code)"
	has "$dynamic" 'BIND_NOW|Flags: .*NOW' || echo "$1: symbols are bound late (-z now)"
	! has "$dynamic" TEXTREL || echo "$1: code is changed at start (TEXTREL)"
	! has "$dynamic" 'RPATH|RUNPATH' || echo "$1: has a path of libraries (RPATH)"
	has "$(nm -D "$1")" __stack_chk_fail ||
		echo "$1: no stack protector (-fstack-protector-strong)"
}

# prints the objects that lack a mark: marks OBJECT…
check_marks()
{
	readelf -nW "$@" 2>/dev/null | awk -v marks="$marks" '
		/^File: / { files[$2] = 1; file = $2 }
		{ text[file] = text[file] $0 }
		END {
			n = split(marks, mark, " ")
			for (file in files)
				for (i = 1; i <= n; i++)
					if (!index(text[file], mark[i])) print file ": no " mark[i]
		}'
}

# prints the commands that lack a flag
check_commands()
{
	case $build in
	release) flags='-ftrivial-auto-var-init=zero -D_FORTIFY_SOURCE=3' ;;
	asan | tsan) flags=-ftrivial-auto-var-init=pattern ;;
	*) flags= ;;
	esac
	for flag in -fPIE -fstack-protector-strong -fstack-clash-protection $flags; do
		{ grep -LFe " $flag " "$@" || true; } | sed "s/\$/: no $flag/"
	done
}

# A program and an object without all this must be found, or this script proves nothing.
check_itself()
{
	echo 'int main(void) { return 0; }' >"$work/weak.c"
	weak='-fno-stack-protector'
	[ "$marks" != 'IBT SHSTK' ] || weak="$weak -fcf-protection=none"
	# shellcheck disable=SC2086 # a list of words
	${CC:-gcc} $weak -fno-pie -c -o "$work/weak.o" "$work/weak.c"
	# shellcheck disable=SC2086
	${CC:-gcc} $weak -no-pie -o "$work/weak" "$work/weak.o" \
		-Wl,-z,norelro,-z,lazy,-z,execstack,-z,noseparate-code,-rpath,/nowhere 2>/dev/null
	echo ' -O2 ' >"$work/weak.json"
	{
		check_program "$work/weak"
		check_marks "$work/weak.o" "$work/weak.o"
		check_commands "$work/weak.json" "$work/weak.json"
	} >"$work/weak.found"
	for text in -pie 'z relro' noexecstack separate-code 'z now' RPATH stack-protector $marks \
		-fPIE stack-clash; do
		grep -qFe "$text" "$work/weak.found" || echo "lint-hardening.sh: does not notice $text"
	done
}

programs=
while [ "$1" != -- ]; do
	programs="$programs $1"
	shift
done
shift
case $(readelf -h "$1") in
*X86-64*) marks='IBT SHSTK' ;;
*AArch64*) marks='BTI PAC' ;;
*) marks= ;;
esac
commands=
for object in "$@"; do
	[ ! -e "$object.json" ] || commands="$commands $object.json"
done
{
	for program in $programs; do
		check_program "$program"
	done
	check_marks "$@"
	# shellcheck disable=SC2086 # no blanks in our names
	check_commands $commands
	check_itself
} >"$work/found"
head -n 40 "$work/found"
[ ! -s "$work/found" ]
