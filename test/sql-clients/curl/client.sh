#!/bin/bash
# curl, with the ways of presenting a key that ClickHouse documents.
set -u
# shellcheck source=test/sql-clients/checks.sh
. "$(dirname "$0")/../checks.sh"
url=http://$SQL_HOST:$SQL_PORT

ask()
{
	curl -sS --max-time 60 "$@" 2>&1
}

is ping "$(ask "$url/ping")" Ok.
is 'key as password' "$(ask "$url/?user=default&password=$SQL_KEY" --data-binary 'SELECT 1')" 1
is 'key of a user' "$(ask -u "default:$SQL_KEY" "$url" --data-binary 'SELECT 2')" 2
is 'key in a header' "$(ask -H "X-ClickHouse-Key: $SQL_KEY" -H 'X-ClickHouse-User: default' "$url" --data-binary 'SELECT 3')" 3
is 'no key' "$(ask "$url" --data-binary 'SELECT 1' | cut -c1-9)" 'Code: 516'
is 'what was uploaded' "$(ask -u ":$SQL_KEY" -G "$url" --data-urlencode "param_service=$SQL_SERVICE" --data-urlencode \
	'query=SELECT sum(Value) FROM profiling_samples WHERE ServiceName = {service:String}')" "$SQL_TOTAL"
form()
{
	ask -u ":$SQL_KEY" "$url" "$@"
}
is 'a form' "$(form -F 'query=SELECT {a:Array(String)}, getSetting({b:String})' -F "param_a=['x','y']" \
	-F param_b=max_block_size -F max_block_size=1000)" "['x','y']	1000"
is 'a form with a refused setting' "$(form -F 'query=SELECT 1' -F format_schema=x | cut -c1-9)" 'Code: 164'
is 'a form with a file' "$(echo 1 | form -F 'query=SELECT 1' -F 't=@-' | grep -o 'cannot be uploaded')" 'cannot be uploaded'
exit $failed
