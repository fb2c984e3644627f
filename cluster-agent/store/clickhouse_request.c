#include "cluster-agent/store/clickhouse_request.h"

#include <ctype.h>
#include <errno.h>

/* Old servers take URLs of up to 16 KiB, so do proxies. Percent-encoding may triple a value. */
#define MAX_URL_PARAM_BYTES 2048u

static int add_encoded(struct buf *b, const char *s)
{
	static const char hex[] = "0123456789ABCDEF";
	int r = 0;

	for (; *s && r == 0; s++) {
		unsigned char c = (unsigned char)*s;

		if (isalnum(c) || strchr("-._~", c)) {
			r = buf_add(b, s, 1);
		} else {
			const char code[3] = {'%', hex[c >> 4], hex[c & 15]};

			r = buf_add(b, code, sizeof(code));
		}
	}
	return r;
}

static int add_pair(struct buf *b, const char *prefix, const char *name, const char *value)
{
	int r = buf_addf(b, "&%s%s=", prefix, name);

	return r == 0 ? add_encoded(b, value) : r;
}

static bool is_name(const char *s)
{
	const char *start = s;

	while (isalnum((unsigned char)*s) || *s == '_')
		s++;
	return *s == '\0' && s > start;
}

bool clickhouse_request_needs_form(const struct clickhouse_statement *st)
{
	size_t n = 0;

	for (size_t i = 0; i < st->n_params && n <= MAX_URL_PARAM_BYTES; i++)
		n += strlen(st->params[i].name) + strlen(st->params[i].value);
	return st->n_frames == 0 && n > MAX_URL_PARAM_BYTES;
}

int clickhouse_request_url(const struct clickhouse_statement *st, const char *base,
			   const char *query_id, struct buf *ret)
{
	bool form = clickhouse_request_needs_form(st);
	int r = buf_addf(ret, "%s?query_id=%s", base, query_id);

	if (r == 0 && st->database)
		r = add_pair(ret, "", "database", st->database);
	if (r == 0 && st->format)
		r = add_pair(ret, "", "default_format", st->format);
	for (size_t i = 0; i < st->n_settings && r == 0; i++)
		r = add_pair(ret, "", st->settings[i].name, st->settings[i].value);
	for (size_t i = 0; i < st->n_query_settings && r == 0; i++)
		r = add_pair(ret, "", st->query_settings[i].name, st->query_settings[i].value);
	for (size_t i = 0; i < st->n_params && r == 0; i++) {
		if (!is_name(st->params[i].name))
			r = -EINVAL;
		else if (!form)
			r = add_pair(ret, "param_", st->params[i].name, st->params[i].value);
	}
	if (r == 0 && st->n_frames > 0)
		r = add_pair(ret, "", "query", st->sql);
	return r;
}
