#include "cluster-agent/sql/clickhouse_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <strings.h>

#include "common/data/buf.h"
#include "common/text/base64.h"

#define CLICKHOUSE_CREDENTIALS_BYTES ((size_t)2 * CLICKHOUSE_PASSWORD_BYTES) /* with the name */

bool clickhouse_is_loopback(const char *listen)
{
	const char *colon = strrchr(listen, ':');
	struct in_addr v4;
	struct in6_addr v6;
	char host[64];
	size_t len;

	if (!colon)
		return false;
	len = (size_t)(colon - listen);
	if (len >= 2 && listen[0] == '[' && listen[len - 1] == ']') {
		listen++;
		len -= 2;
	}
	if (len >= sizeof(host))
		return false;
	memcpy(host, listen, len);
	host[len] = '\0';
	if (strcmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

int clickhouse_basic_password(const char *header, char *ret)
{
	CLEANUP(buf_fini) struct buf text;
	const char *password;
	size_t len;
	int r;

	if (strncasecmp(header, "Basic ", 6) != 0)
		return -EINVAL;
	buf_init(&text, CLICKHOUSE_CREDENTIALS_BYTES);
	r = base64_decode(header + 6, strlen(header + 6), &text);
	if (r < 0)
		return r == -EBADMSG ? -EINVAL : r;
	password = text.data ? strchr(text.data, ':') : NULL;
	if (!password || strlen(text.data) != text.len)
		return -EINVAL;
	len = strlen(++password);
	if (len > CLICKHOUSE_PASSWORD_BYTES)
		return -EFBIG;
	memcpy(ret, password, len + 1);
	return 0;
}

unsigned clickhouse_status(int exception_code)
{
	static const struct {
		int code;
		unsigned status;
	} table[] = {
		{6, 400},   {26, 400},  {27, 400},  {36, 400},  {38, 400},  {41, 400},  {42, 400},
		{43, 400},  {53, 400},  {62, 400},  {69, 400},  {72, 400},  {73, 404},  {16, 404},
		{46, 404},  {47, 404},  {50, 404},  {56, 404},  {60, 404},  {63, 404},  {81, 404},
		{115, 404}, {456, 400}, {457, 400}, {48, 501},  {159, 408}, {160, 408}, {164, 403},
		{194, 401}, {202, 503}, {209, 503}, {291, 403}, {439, 503}, {497, 403}, {516, 401},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].code == exception_code)
			return table[i].status;
	}
	return 500;
}

const char *clickhouse_content_type(const char *format)
{
	static const struct {
		const char *prefix;
		const char *type;
	} table[] = {
		{"CSVWithNames", "text/csv; charset=UTF-8; header=present"},
		{"CSV", "text/csv; charset=UTF-8; header=absent"},
		{"TSV", "text/tab-separated-values; charset=UTF-8"},
		{"TabSeparated", "text/tab-separated-values; charset=UTF-8"},
		{"JSON", "application/json; charset=UTF-8"},
		{"XML", "application/xml; charset=UTF-8"},
		{"Markdown", "text/markdown; charset=UTF-8"},
		{"RowBinary", "application/octet-stream"},
		{"Native", "application/octet-stream"},
		{"Parquet", "application/octet-stream"},
		{"Arrow", "application/octet-stream"},
		{"ORC", "application/octet-stream"},
		{"MsgPack", "application/octet-stream"},
		{"Avro", "application/octet-stream"},
		{"BSON", "application/octet-stream"},
		{"Npy", "application/octet-stream"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (strncmp(format, table[i].prefix, strlen(table[i].prefix)) == 0)
			return table[i].type;
	}
	return "text/plain; charset=UTF-8";
}
