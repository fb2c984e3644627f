#!/bin/bash
# Prints the folder with Pyroscope's Java agent and our program, compiled.
set -eu
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh

build()
{
	local dir=$1 sum path
	while read -r sum path; do
		[ "$sum" != '#' ] || continue
		curl -sSf --retry 5 --retry-all-errors --max-time 300 -o "$dir/agent.jar" \
			"https://repo1.maven.org/maven2/$path"
		echo "$sum  $dir/agent.jar" | sha256sum --check --quiet
	done <agent-jar
	javac -Xlint:all -Werror -d "$dir" ./*.java
}

kept push/java build fetch-java-agent.sh agent-jar ./*.java
