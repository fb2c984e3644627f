#!/bin/sh
# check-version.sh VERSION: prints the section of CHANGELOG.md about this version, without its
# heading. Fails if VERSION is no version, if there is no section, or if the checkout has changes.
set -eu
cd "$(dirname "$0")/../.."
version=$1

fail()
{
	echo "release: $*" >&2
	exit 1
}

echo "$version" | grep -qE '^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$' ||
	fail "\"$version\" is no version: make release VERSION=v1.2.3"
[ -n "${RELEASE_DIRTY:-}" ] || [ -z "$(git status --porcelain --untracked-files=no)" ] ||
	fail "the checkout has changes that are not committed"
# "## v1.2.3", and what may follow, such as a date
notes=$(awk -v version="v${version#v}" '
	/^## / { inside = $2 == version; next }
	inside' "${CHANGELOG:-CHANGELOG.md}")
[ -n "$notes" ] || fail "CHANGELOG.md has no section \"## v${version#v}\""
echo "$notes"
