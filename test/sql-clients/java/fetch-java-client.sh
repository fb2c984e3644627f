#!/bin/bash
# Prints the folder with the JDBC driver and our client, compiled.
set -eu
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh

build()
{
	local dir=$1 sum path
	while read -r sum path; do
		[ "$sum" != '#' ] || continue
		curl -sSf --retry 5 --retry-all-errors --max-time 300 -o "$dir/${path##*/}" \
			"https://repo1.maven.org/maven2/$path"
		echo "$sum  $dir/${path##*/}" | sha256sum --check --quiet
	done <jars
	javac -Xlint:all,-path -Werror -cp "$dir/*" -d "$dir" ./*.java
}

kept sql-clients/jdbc build fetch-java-client.sh jars ./*.java
