#include "cluster-agent/web/web_params.h"

#include <errno.h>
#include <stddef.h>

#include "cluster-agent/notes/note_store.h"
#include "common/system/clock.h"
#include "common/text/parse.h"

/* The year 2200. ns since 1970 fit 63 bits until 2262. */
#define MAX_MS UINT64_C(7258118400000)
#define MAX_RANGE_MS (INT64_C(366) * 86400 * 1000)
#define DEFAULT_RANGE_MS (INT64_C(3600) * 1000)
#define MAX_TTL_S (UINT64_C(3650) * 86400) /* the most of --notes-ttl */
#define MAX_TEXT_BYTES 4096u
#define MAX_NAME_BYTES 16384u /* functions of C++ have long names */
#define MAX_SEARCH_BYTES 1000u

enum time_id {
	TIME_FROM,
	TIME_TO,
	TIME_BASE_FROM,
	TIME_BASE_TO,
	TIME_SECONDS,
	TIME_AT,
	TIME_MAX,
};

#define BIT(name) WEB_ENDPOINT_BIT(WEB_##name)
#define COMPARED                                                                         \
	(BIT(FLAMEGRAPH) | BIT(FUNCTIONS) | BIT(FUNCTION) | BIT(MATCHES) | BIT(STACKS) | \
	 BIT(PPROF) | BIT(FOLDED) | BIT(SPEEDSCOPE) | BIT(SNAPSHOT_ADD))
#define SELECTION (COMPARED | BIT(TIMELINE) | BIT(HEATMAP) | BIT(LABELS) | BIT(SOURCE))
#define OVERVIEW (BIT(APPLICATIONS) | BIT(MOVERS))
#define SUMMED (BIT(FLEET) | BIT(NAMES))
#define ADDS_NOTE (BIT(NOTE_ADD) | BIT(SNAPSHOT_ADD))
#define OF_NOTE (BIT(NOTE_DELETE) | BIT(SNAPSHOT))
#define RANGED (SELECTION | OVERVIEW | SUMMED | BIT(LEVELS))
#define AT(member) offsetof(struct query_request, member)

static const struct web_param params[] = {
	{"service", WEB_PARAM_TEXT, SELECTION, SELECTION, 0, MAX_TEXT_BYTES, 0, AT(filter.service),
	 "Name of the application"},
	{"function", WEB_PARAM_TEXT, BIT(FLEET), BIT(FLEET), 0, MAX_NAME_BYTES, 0, AT(name),
	 "Name of the function, exactly; also one that came later, of symbols"},
	{"service", WEB_PARAM_TEXT, OVERVIEW | BIT(FLEET), 0, 0, MAX_TEXT_BYTES, 0,
	 AT(filter.service), "Name of the only application to look at; if absent or empty, all"},
	{"type", WEB_PARAM_TEXT, SELECTION, SELECTION, 0, MAX_TEXT_BYTES, 0, AT(filter.type),
	 "Profile type, source:name:unit"},
	{"type", WEB_PARAM_TEXT, SUMMED, 0, 0, MAX_TEXT_BYTES, 0, AT(filter.type),
	 "Profile type, source:name:unit; if absent or empty, all types of CPU time"},
	{"version", WEB_PARAM_TEXT, BIT(FLEET), 0, 0, MAX_TEXT_BYTES, 0, AT(version),
	 "The only version to look at; if empty, profiles without one"},
	{"from", WEB_PARAM_TIME, RANGED, 0, 0, MAX_MS, 0, TIME_FROM,
	 "Start of the range, in ms since the epoch; if absent, an hour before its end"},
	{"to", WEB_PARAM_TIME, RANGED, 0, 1, MAX_MS, 0, TIME_TO,
	 "End of the range, exclusive; if absent, the present. A range has at most 366 days"},
	{"seconds", WEB_PARAM_TIME, BIT(PPROF), 0, 1, MAX_RANGE_MS / 1000, 0, TIME_SECONDS,
	 "Length of the range, in place of \"from\"; what \"go tool pprof -seconds\" sends"},
	{"instance", WEB_PARAM_TEXT, SELECTION, 0, 0, MAX_TEXT_BYTES, 0, AT(filter.instance),
	 "One instance, as the timeline names it: container id, namespace/pod, or either with "
	 "@host; if absent or empty, all"},
	{"where", WEB_PARAM_MATCHERS, SELECTION, 0, 0, LABEL_MATCHERS_MAX_BYTES - 1, 0, AT(where),
	 "Conditions on labels as in Prometheus; regular expressions are RE2 and match the whole "
	 "value; \"instance\" is any of the names that an instance has"},
	{"baseFrom", WEB_PARAM_TIME, COMPARED, 0, 0, MAX_MS, 0, TIME_BASE_FROM,
	 "Start of the range to compare with; if absent, that of the selection"},
	{"baseTo", WEB_PARAM_TIME, COMPARED, 0, 1, MAX_MS, 0, TIME_BASE_TO,
	 "End of the range to compare with; if absent, that of the selection"},
	{"baseFrom", WEB_PARAM_TIME, BIT(MOVERS), 0, 0, MAX_MS, 0, TIME_BASE_FROM,
	 "Start of the range to compare with; without both, the same range a day before or, where "
	 "that has no profiles, the one right before"},
	{"baseTo", WEB_PARAM_TIME, BIT(MOVERS), 0, 1, MAX_MS, 0, TIME_BASE_TO,
	 "End of the range to compare with; without both, the same range a day before or, where "
	 "that has no profiles, the one right before"},
	{"baseService", WEB_PARAM_TEXT, COMPARED, 0, 0, MAX_TEXT_BYTES, 0, AT(base.service),
	 "Application to compare with; if absent, that of the selection"},
	{"baseInstance", WEB_PARAM_TEXT, COMPARED, 0, 0, MAX_TEXT_BYTES, 0, AT(base.instance),
	 "Instance to compare with; if absent, that of the selection; empty: all"},
	{"baseWhere", WEB_PARAM_MATCHERS, COMPARED, 0, 0, LABEL_MATCHERS_MAX_BYTES - 1, 0,
	 AT(base_where),
	 "Conditions on labels of the side to compare with; if absent, those of the selection; "
	 "empty: none"},
	{"points", WEB_PARAM_COUNT, BIT(TIMELINE), 0, 1, 5000, 300, AT(n_points),
	 "Most steps of the timeline; steps have round lengths of a second or more"},
	{"points", WEB_PARAM_COUNT, BIT(HEATMAP), 0, 1, 500, 200, AT(n_points),
	 "Most steps; they have round lengths and are not much shorter than a profile"},
	{"points", WEB_PARAM_COUNT, BIT(APPLICATIONS), 0, 1, 100, 0, AT(n_points),
	 "Steps of the sparkline of each application; if absent, there are none"},
	{"by", WEB_PARAM_TEXT, BIT(TIMELINE), 0, 0, MAX_TEXT_BYTES, 0, AT(label),
	 "Name of a label, or \"instance\": a series for each of its ten largest values"},
	{"by", WEB_PARAM_TEXT, BIT(HEATMAP), 0, 0, MAX_TEXT_BYTES, 0, AT(label),
	 "Name of a label, whose values are the rows; if absent or empty, instances are"},
	{"label", WEB_PARAM_TEXT, BIT(LABELS), 0, 0, MAX_TEXT_BYTES, 0, AT(label),
	 "Name of the only label to list, with up to 1000 values in place of 100"},
	{"name", WEB_PARAM_TEXT, BIT(FUNCTION), BIT(FUNCTION), 0, MAX_NAME_BYTES, 0, AT(name),
	 "Name of the function"},
	{"file", WEB_PARAM_TEXT, BIT(FUNCTION), 0, 0, MAX_NAME_BYTES, 0, AT(file),
	 "Its file; functions without one have \"\", which is the default"},
	{"file", WEB_PARAM_TEXT, BIT(SOURCE), BIT(SOURCE), 0, MAX_TEXT_BYTES, 0, AT(file),
	 "Name of the file, as frames have it"},
	{"search", WEB_PARAM_TEXT, BIT(FUNCTIONS) | BIT(MATCHES), BIT(MATCHES), 0,
	 MAX_NAME_BYTES + 2, 0, AT(search),
	 "Text in a name or file, in any case; \"an exact name\" in quotes; or a /regular "
	 "expression/ (PCRE2, in any case). Only an exact name may have more than 1000 bytes"},
	{"byShare", WEB_PARAM_COUNT, BIT(MATCHES), 0, 0, 1, 0, AT(by_share),
	 "1: of a profile at an end of the range counts the part within it, as on a timeline, and "
	 "the answer has rate and covered"},
	{"search", WEB_PARAM_TEXT, BIT(APPLICATIONS), 0, 0, MAX_SEARCH_BYTES, 0, AT(search),
	 "Words in any case; names that have them all are listed"},
	{"search", WEB_PARAM_TEXT, BIT(NAMES), BIT(NAMES), 0, MAX_SEARCH_BYTES, 0, AT(search),
	 "Text in a name, in any case; of less than three bytes, what names begin with"},
	{"limit", WEB_PARAM_COUNT, BIT(HEATMAP), 0, 1, 200, 100, AT(limit),
	 "Most rows; what is smaller is one more, \"other\""},
	{"limit", WEB_PARAM_COUNT, BIT(FLEET), 0, 1, 1000, 100, AT(limit), "Most applications"},
	{"limit", WEB_PARAM_COUNT, BIT(NAMES), 0, 1, 100, 20, AT(limit), "Most functions"},
	{"limit", WEB_PARAM_COUNT, BIT(APPLICATIONS), 0, 1, 100000, 0, AT(limit),
	 "Most applications; if absent, all"},
	{"limit", WEB_PARAM_COUNT, BIT(MOVERS), 0, 1, 100, 20, AT(limit), "Most functions"},
	{"limit", WEB_PARAM_COUNT, BIT(LEVELS), 0, 1, 100, 10, AT(limit),
	 "Most applications of each unit"},
	{"sort", WEB_PARAM_SORT, BIT(FUNCTIONS), 0, 0, 0, 0, AT(sort),
	 "What the largest are listed by: self (the default), total, or diff, the amount by which "
	 "self has changed"},
	{"for", WEB_PARAM_PURPOSE, BIT(PPROF), 0, 0, 0, 0, AT(purpose),
	 "go-pgo: a CPU profile of Go functions for \"go build -pgo\""},
	{"limit", WEB_PARAM_COUNT, BIT(FUNCTIONS), 0, 1, 50000, 1000, AT(limit), "Most functions"},
	{"limit", WEB_PARAM_COUNT, BIT(STACKS), 0, 1, 200000, 1000, AT(limit), "Most stacks"},
	{"maxNodes", WEB_PARAM_COUNT, BIT(FLAMEGRAPH), 0, 1, 1000000, 200000, AT(max_nodes),
	 "Most nodes of the tree; the smallest beyond become \"other\""},
	{"maxNodes", WEB_PARAM_COUNT, BIT(FUNCTION), 0, 1, 200000, 20000, AT(max_nodes),
	 "Most nodes of callers and of callees; the smallest beyond become \"other\""},
	{"zoom", WEB_PARAM_KEY, BIT(FLAMEGRAPH), 0, 0, 16, 0, AT(zoom),
	 "Path key of a node: the tree has its ancestors and what is below it, cut less"},
	{"service", WEB_PARAM_TEXT, BIT(NOTES) | BIT(NOTE_ADD), 0, 0, MAX_TEXT_BYTES, 0,
	 AT(filter.service), "Application that a note is about; if absent or empty, all"},
	{"type", WEB_PARAM_TEXT, BIT(NOTE_ADD), 0, 0, MAX_TEXT_BYTES, 0, AT(filter.type),
	 "Profile type that it is about"},
	{"name", WEB_PARAM_NAME, ADDS_NOTE, ADDS_NOTE, 0, NOTE_STORE_NAME_CHARACTERS, 0, AT(name),
	 "What the page shows of it, in a few words"},
	{"at", WEB_PARAM_TIME, ADDS_NOTE, 0, 0, MAX_MS, 0, TIME_AT,
	 "The moment that it is about, in ms since the epoch; if absent, the present"},
	{"ttl", WEB_PARAM_DURATION, BIT(SNAPSHOT_ADD), 0, 60, MAX_TTL_S, 0, AT(ttl_ns),
	 "How long to keep it, in seconds or as 7d or 12h30m; if absent, and at most, "
	 "--notes-ttl"},
	{"url", WEB_PARAM_TEXT, ADDS_NOTE, 0, 0, NOTE_STORE_URL_BYTES, 0, AT(url),
	 "Query of the page's address that shows what it is about, with its \"?\""},
	{"id", WEB_PARAM_KEY, BIT(NOTES), 0, 0, 16, 0, AT(id), "Id of the only note to list"},
	{"id", WEB_PARAM_KEY, OF_NOTE, OF_NOTE, 0, 16, 0, AT(id), "Id of the note"},
	{"base", WEB_PARAM_COUNT, BIT(SNAPSHOT), 0, 0, 1, 0, AT(side),
	 "1: the side that it is compared with"},
	{"limit", WEB_PARAM_COUNT, BIT(NOTES), 0, 1, NOTE_STORE_MAX_LISTED, 500, AT(limit),
	 "Most notes; the latest are first"},
	{"format", WEB_PARAM_FORMAT, BIT(FLAMEGRAPH), 0, 0, 0, 0, AT(format),
	 "json (the default), or columns: numbers as bytes behind the JSON"},
};
_Static_assert(ARRAY_SIZE(params) <= 64, "a bit per row says that it was given");

const struct web_param *web_params(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(params);
	return params;
}

struct parser {
	struct query_request *p;
	enum web_endpoint_id endpoint;
	uint64_t given; /* bits of rows */
	uint64_t times[TIME_MAX];
	bool has_time[TIME_MAX];
};

static bool takes(const struct parser *ps, const struct web_param *row)
{
	return row->endpoints & WEB_ENDPOINT_BIT(ps->endpoint);
}

static int parse_number(const struct web_param *row, const char *text, uint64_t *ret,
			struct err *err)
{
	if (parse_u64(text, strlen(text), row->min, row->max, ret) < 0)
		return err_set(err, -EINVAL, "%s is not a number from %llu to %llu", row->name,
			       (unsigned long long)row->min, (unsigned long long)row->max);
	return 0;
}

static int parse_key(const struct web_param *row, const char *text, uint64_t *ret, struct err *err)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t key = 0;

	if (strlen(text) != row->max || strspn(text, digits) != row->max)
		return err_set(err, -EINVAL, "%s is not 16 hexadecimal digits", row->name);
	for (; *text; text++)
		key = key << 4 | (uint64_t)(strchr(digits, *text) - digits);
	*ret = key;
	return 0;
}

static int parse_sort(const struct web_param *row, const char *text, enum query_sort *ret,
		      struct err *err)
{
	if (strcmp(text, "self") == 0)
		*ret = QUERY_SORT_SELF;
	else if (strcmp(text, "total") == 0)
		*ret = QUERY_SORT_TOTAL;
	else if (strcmp(text, "diff") == 0)
		*ret = QUERY_SORT_DIFF;
	else
		return err_set(err, -EINVAL, "%s is not self, total or diff", row->name);
	return 0;
}

static int parse_format(const struct web_param *row, const char *text, enum query_format *ret,
			struct err *err)
{
	if (strcmp(text, "json") == 0)
		*ret = QUERY_FORMAT_JSON;
	else if (strcmp(text, "columns") == 0)
		*ret = QUERY_FORMAT_COLUMNS;
	else
		return err_set(err, -EINVAL, "%s is not json or columns", row->name);
	return 0;
}

static int parse_matchers(const struct web_param *row, const char *text, struct label_matchers *ret,
			  struct err *err)
{
	return label_matchers_parse(ret, text, err) < 0 ? err_wrap(err, -EINVAL, "%s", row->name)
							: 0;
}

static int parse_ttl(const struct web_param *row, const char *text, uint64_t *ret, struct err *err)
{
	size_t len = strlen(text);
	uint64_t s, ns = 0;
	int r = 0;

	if (len > 0 && strspn(text, "0123456789") == len) {
		r = parse_u64(text, len, row->min, row->max, &s);
		ns = r == 0 ? s * NS_PER_S : 0;
	} else {
		r = parse_duration(text, len, &ns);
	}
	if (r < 0 || ns < row->min * NS_PER_S || ns > row->max * NS_PER_S)
		return err_set(err, -EINVAL,
			       "%s is not a duration such as 7d or 3600 (seconds), from %llu s to "
			       "%llu d",
			       row->name, (unsigned long long)row->min,
			       (unsigned long long)(row->max / 86400));
	*ret = ns;
	return 0;
}

/* Code points of UTF-8; who uses the text checks that it is. */
static size_t count_characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static int parse_plain(const struct web_param *row, const char *text, const char **ret,
		       struct err *err)
{
	bool is_name = row->kind == WEB_PARAM_NAME;

	if ((is_name ? count_characters(text) : strlen(text)) > row->max)
		return err_set(err, -EINVAL, "%s is longer than %llu %s", row->name,
			       (unsigned long long)row->max, is_name ? "characters" : "bytes");
	*ret = text;
	return 0;
}

static int parse_value(struct parser *ps, const struct web_param *row, const char *text,
		       struct err *err)
{
	void *at = (char *)ps->p + row->at;
	uint64_t number = 0;
	int r = 0;

	switch (row->kind) {
	case WEB_PARAM_TIME:
		ps->has_time[row->at] = true;
		return parse_number(row, text, &ps->times[row->at], err);
	case WEB_PARAM_COUNT:
		r = parse_number(row, text, &number, err);
		*(uint32_t *)at = (uint32_t)number;
		return r;
	case WEB_PARAM_KEY:
		return parse_key(row, text, at, err);
	case WEB_PARAM_SORT:
		return parse_sort(row, text, at, err);
	case WEB_PARAM_FORMAT:
		return parse_format(row, text, at, err);
	case WEB_PARAM_PURPOSE:
		*(enum query_purpose *)at = QUERY_FOR_GO_PGO;
		return strcmp(text, "go-pgo") == 0
			       ? 0
			       : err_set(err, -EINVAL, "%s is not go-pgo", row->name);
	case WEB_PARAM_MATCHERS:
		return parse_matchers(row, text, at, err);
	case WEB_PARAM_DURATION:
		return parse_ttl(row, text, at, err);
	case WEB_PARAM_NAME:
	case WEB_PARAM_TEXT:
		break;
	}
	return parse_plain(row, text, at, err);
}

/* Names what the endpoint takes, as far as the sentence has room. */
static int refuse_unknown(const struct parser *ps, const char *name, struct err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-";
	int name_len = (int)strspn(name, plain);
	char list[170] = "none";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		size_t left = sizeof(list) - len;
		int n;

		if (!takes(ps, &params[i]))
			continue;
		n = snprintf(list + len, left, "%s%s", len > 0 ? ", " : "", params[i].name);
		len += n > 0 && (size_t)n < left ? (size_t)n : 0;
	}
	return err_set(err, -EINVAL, "%.*s is not a parameter here; there are %s",
		       name_len < 32 ? name_len : 32, name, list);
}

static int parse_text(struct parser *ps, const struct web_param_text *t, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		if (!takes(ps, &params[i]) || strcmp(params[i].name, t->name) != 0)
			continue;
		if (ps->given & UINT64_C(1) << i)
			return err_set(err, -EINVAL, "%s is given twice", t->name);
		ps->given |= UINT64_C(1) << i;
		return parse_value(ps, &params[i], t->value, err);
	}
	return refuse_unknown(ps, t->name, err);
}

static bool is_given(const struct parser *ps, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		if (ps->given & UINT64_C(1) << i && strcmp(params[i].name, name) == 0)
			return true;
	return false;
}

static int check_required(const struct parser *ps, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		const struct web_param *row = &params[i];
		const char *const *text = (const void *)((const char *)ps->p + row->at);

		if (!(row->required & WEB_ENDPOINT_BIT(ps->endpoint)))
			continue;
		if (row->kind == WEB_PARAM_KEY ? !(ps->given & UINT64_C(1) << i)
					       : !*text || !**text)
			return err_set(err, -EINVAL, "%s is missing", row->name);
	}
	return 0;
}

static int set_range(struct query_filter *f, uint64_t from, uint64_t to, const char *from_name,
		     const char *to_name, struct err *err)
{
	if (from >= to)
		return err_set(err, -EINVAL, "%s is not before %s", from_name, to_name);
	if ((int64_t)(to - from) > MAX_RANGE_MS)
		return err_set(err, -EINVAL, "the range is longer than 366 days");
	f->from_ns = (int64_t)from * (int64_t)NS_PER_MS;
	f->to_ns = (int64_t)to * (int64_t)NS_PER_MS;
	return 0;
}

static int set_ranges(struct parser *ps, int64_t now_ms, struct err *err)
{
	uint64_t to = ps->has_time[TIME_TO] ? ps->times[TIME_TO] : (uint64_t)now_ms;
	uint64_t length = ps->has_time[TIME_SECONDS] ? ps->times[TIME_SECONDS] * 1000
						     : (uint64_t)DEFAULT_RANGE_MS;
	uint64_t from = ps->has_time[TIME_FROM] ? ps->times[TIME_FROM]
			: to > length           ? to - length
						: 0;
	int r;

	if (ps->has_time[TIME_FROM] && ps->has_time[TIME_SECONDS])
		return err_set(err, -EINVAL, "from and seconds exclude each other");
	r = set_range(&ps->p->filter, from, to, "from", "to", err);
	if (r < 0)
		return r;
	return set_range(&ps->p->base,
			 ps->has_time[TIME_BASE_FROM] ? ps->times[TIME_BASE_FROM] : from,
			 ps->has_time[TIME_BASE_TO] ? ps->times[TIME_BASE_TO] : to, "baseFrom",
			 "baseTo", err);
}

/* What is not given of the base is as in the selection. */
static void complete_sides(struct parser *ps)
{
	struct query_request *p = ps->p;
	bool has_base_where = is_given(ps, "baseWhere");

	p->has_base = ps->has_time[TIME_BASE_FROM] || ps->has_time[TIME_BASE_TO] ||
		      p->base.service || p->base.instance || has_base_where;
	p->filter.where = p->where.n_items > 0 ? &p->where : NULL;
	p->base.type = p->filter.type;
	p->base.where = !has_base_where             ? p->filter.where
			: p->base_where.n_items > 0 ? &p->base_where
						    : NULL;
	if (!p->base.service || !p->base.service[0])
		p->base.service = p->filter.service;
	if (!p->base.instance)
		p->base.instance = p->filter.instance;
}

int web_params_parse(struct query_request *ret, enum web_endpoint_id endpoint,
		     const struct web_param_text *texts, size_t n_texts, int64_t now_ms,
		     struct err *err)
{
	struct parser ps = {.p = ret, .endpoint = endpoint};
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		if (params[i].kind == WEB_PARAM_COUNT && takes(&ps, &params[i]))
			*(uint32_t *)((char *)ret + params[i].at) = (uint32_t)params[i].def;
	for (size_t i = 0; r == 0 && i < n_texts; i++)
		if (texts[i].name[0] != '_')
			r = parse_text(&ps, &texts[i], err);
	if (r < 0)
		return r;
	r = check_required(&ps, err);
	if (r < 0)
		return r;
	r = set_ranges(&ps, now_ms, err);
	if (r < 0)
		return r;
	ret->at_ns =
		(ps.has_time[TIME_AT] ? (int64_t)ps.times[TIME_AT] : now_ms) * (int64_t)NS_PER_MS;
	complete_sides(&ps);
	return 0;
}
