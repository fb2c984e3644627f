#include "cluster-agent/sql/clickhouse_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <strings.h>

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

/* -1: not of the alphabet */
static int base64_value(char c)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(alphabet, c) : NULL;

	return p ? (int)(p - alphabet) : -1;
}

int clickhouse_basic_password(const char *header, char *ret)
{
	char text[2 * CLICKHOUSE_PASSWORD_BYTES];
	const char *password;
	size_t len = 0;
	unsigned bits = 0, n_bits = 0;

	if (strncasecmp(header, "Basic ", 6) != 0)
		return -EINVAL;
	for (header += 6; *header && *header != '='; header++) {
		int v = base64_value(*header);

		if (v < 0)
			return -EINVAL;
		bits = (bits << 6 | (unsigned)v) & 0xffff;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		if (len + 1 >= sizeof(text))
			return -EFBIG;
		text[len++] = (char)(bits >> n_bits & 0xff);
	}
	text[len] = '\0';
	password = strchr(text, ':');
	if (!password || strlen(text) != len)
		return -EINVAL;
	len = strlen(++password);
	if (len > CLICKHOUSE_PASSWORD_BYTES)
		return -EFBIG;
	memcpy(ret, password, len + 1);
	return 0;
}

bool clickhouse_secret_equal(const char *given, const char *wanted)
{
	size_t n_given = given ? strlen(given) : 0, n_wanted = strlen(wanted);
	unsigned diff = !given || n_given != n_wanted;

	for (size_t i = 0; i < n_given; i++)
		diff |= (unsigned char)given[i] ^ (unsigned char)wanted[i < n_wanted ? i : 0];
	return diff == 0;
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
