#!/bin/sh
# Functions of at most 70 lines, files of at most 800: lint-size.sh FILE...
set -u
{
	ctags --kinds-C=f --fields=+ne -x --_xformat='%{end} %n %{input} %{name}' -o - "$@" |
		awk '$1 - $2 + 1 > 70 { print $3 ":" $2 ": " $4 "() has " $1 - $2 + 1 " lines" }'
	wc -l "$@" | awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines" }'
} | { ! grep . ; }
