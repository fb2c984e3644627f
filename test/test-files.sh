# shellcheck shell=bash
# test_files FOLDER SERVER NAME...: sets "files" to those tests of a folder that are named, or to all.
# The name "server" stands for those of the list SERVER, and "node" for all others.
test_files()
{
	local folder=$1 server=" $2 " name file before
	shift 2
	files=()
	[ $# -gt 0 ] || set -- server node
	for name in "$@"; do
		before=${#files[@]}
		for file in "$folder"/*.test.js; do
			case $name-$server in
			server-*" $(basename "$file" .test.js) "*) files+=("$file") ;;
			server-*) ;;
			node-*" $(basename "$file" .test.js) "*) ;;
			node-*) files+=("$file") ;;
			*) [ "$file" != "$folder/$name.test.js" ] || files+=("$file") ;;
			esac
		done
		[ ${#files[@]} -gt "$before" ] || {
			echo "$folder: there is no test $name" >&2
			exit 1
		}
	done
}

