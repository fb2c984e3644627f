# shellcheck shell=bash
# http_get HOST PORT PATH: prints the body of an HTTP answer 200, for scripts that run before
# anything but Debian's minimal packages is installed. Sourced by bash. Fails on any other status,
# when nothing listens, and when the next line takes longer than five seconds. The server must close
# the connection, as HTTP/1.0 asks it to, and the body must be text.
#
# A subshell, because a connection that is reset while the request is written ends it by SIGPIPE.
http_get()
(
	exec 2>/dev/null 3<>"/dev/tcp/$1/$2" || exit 1
	printf 'GET %s HTTP/1.0\r\nHost: %s:%s\r\n\r\n' "$3" "$1" "$2" >&3
	read -r -t 5 line <&3 && [[ $line == 'HTTP/1.'?' 200'* ]] || exit 1
	while read -r -t 5 line <&3 && [ "$line" != $'\r' ]; do :; done
	line=
	while IFS= read -r -t 5 line <&3 || [ -n "$line" ]; do
		printf '%s\n' "$line"
		line=
	done
)
