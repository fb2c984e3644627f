#include "cluster-agent/pyroscope/render_params.h"

#include <errno.h>

#include "cluster-agent/query/read/label_matchers.h"
#include "cluster-agent/query/read/label_sql.h"
#include "common/text/parse.h"

/* The type that a selector without one in front of it names. */
static int type_in_selector(struct render_query *ret, const char *text, struct err *err)
{
	AUTO_FREE struct label_matchers *m = calloc(1, sizeof(*m));
	int r = m ? label_matchers_parse(m, text, err) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->n_items; i++) {
		const struct label_matcher *item = &m->items[i];

		if (item->op == LABEL_EQUAL && strcmp(item->name, LABEL_SQL_PROFILE_TYPE) == 0 &&
		    strlen(item->value) < sizeof(ret->type_id)) {
			memcpy(ret->type_id, item->value, strlen(item->value) + 1);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "the query names no profile type");
}

int render_query_parse(struct render_query *ret, const char *text, struct err *err)
{
	size_t len;

	text += strspn(text, " ");
	len = strcspn(text, "{ ");
	if (strlen(text) >= RENDER_QUERY_BYTES || len >= sizeof(ret->type_id))
		return err_set(err, -EINVAL, "the query is too long");
	ret->selector = text + len;
	if (len == 0)
		return type_in_selector(ret, text, err);
	memcpy(ret->type_id, text, len);
	ret->type_id[len] = '\0';
	return 0;
}

static int64_t unit_ms(char unit)
{
	static const struct {
		char unit;
		int64_t ms;
	} units[] = {
		{'s', 1000},
		{'m', 60000},
		{'h', 3600000},
		{'d', 86400000},
		{'w', 7 * 86400000},
		{'M', 30 * 86400000ll},
		{'y', 365 * 86400000ll},
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].unit == unit)
			return units[i].ms;
	return 0;
}

static int parse_relative(const char *text, int64_t now_ms, int64_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t n;
	int64_t unit = text[digits] ? unit_ms(text[digits]) : 0;

	/* 5 digits of years fit */
	if (unit == 0 || text[digits + 1] || digits > 7 ||
	    parse_u64(text, digits, 0, 9999999, &n) < 0 || (int64_t)n > now_ms / unit)
		return -EINVAL;
	*ret = now_ms - (int64_t)n * unit;
	return 0;
}

int render_time_parse(const char *text, int64_t now_ms, int64_t *ret)
{
	size_t len = strlen(text);
	uint64_t n;

	if (strcmp(text, "now") == 0) {
		*ret = now_ms;
		return 0;
	}
	if (strncmp(text, "now-", 4) == 0)
		return parse_relative(text + 4, now_ms, ret);
	if (len == 0 || parse_u64(text, len, 0, INT64_MAX, &n) < 0)
		return -EINVAL;
	*ret = len <= 10   ? (int64_t)n * 1000
	       : len <= 13 ? (int64_t)n
	       : len <= 16 ? (int64_t)(n / 1000)
			   : (int64_t)(n / 1000000);
	return 0;
}
