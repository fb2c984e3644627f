#!/bin/sh
# lint-size.sh FILE...: functions have at most 70 lines and 4 levels, files at most 800 lines.
# Lines of these files, of the page and of tests in JavaScript have at most 100 columns.
set -u

# too_wide FILE...: a tab counts up to the next multiple of 8; bytes that continue a UTF-8 character
# do not count
too_wide()
{
	LC_ALL=C awk '
		length($0) <= 50 { next }
		{
			s = $0
			gsub(/[\200-\277]/, "", s)
			while ((i = index(s, "\t")) > 0) {
				blanks = sprintf("%" (8 - (i - 1) % 8) "s", "")
				s = substr(s, 1, i - 1) blanks substr(s, i + 1)
			}
		}
		length(s) > 100 { print FILENAME ":" FNR ": " length(s) " columns" }' "$@"
}

{
	ctags --kinds-C=f --fields=+ne -x --_xformat='%{end} %n %{input} %{name}' -o - "$@" |
		awk '$1 - $2 + 1 > 70 { print $3 ":" $2 ": " $4 "() has " $1 - $2 + 1 " lines" }'
	# one tab per level, the function's own being the first
	grep -nHP '^\t{5,}(if|for|while|switch|do)\b' "$@" | sed 's/$/   (nested too deeply)/'
	# shellcheck disable=SC2046 # no blanks in our names
	too_wide "$@" $(git ls-files '*.js' '*.mjs' '*.ts' '*.tsx')
	wc -l "$@" | awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines" }'
} | { ! grep . ; }
