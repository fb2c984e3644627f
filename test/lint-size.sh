#!/bin/sh
# Functions of at most 70 lines and 4 levels, files of at most 800 lines: lint-size.sh FILE...
set -u
{
	ctags --kinds-C=f --fields=+ne -x --_xformat='%{end} %n %{input} %{name}' -o - "$@" |
		awk '$1 - $2 + 1 > 70 { print $3 ":" $2 ": " $4 "() has " $1 - $2 + 1 " lines" }'
	# one tab per level, the function's own being the first
	grep -nHP '^\t{5,}(if|for|while|switch|do)\b' "$@" | sed 's/$/   (nested too deeply)/'
	wc -l "$@" | awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines" }'
} | { ! grep . ; }
