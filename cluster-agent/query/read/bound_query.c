/*
 * Templates of SQL are C strings with two kinds of holes: {name:Type}, which the engine binds,
 * and ${name}, which add_piece() replaces by SQL that several queries share. The second kind is
 * chosen by the filter and never contains text of it: which label names an instance depends on
 * the type, and conditions on instance and labels are only there if asked for. Tables are such
 * pieces too, as on a cluster they have other names, and so is the GLOBAL that IN needs there: it
 * makes one server run the subquery and send its result to all.
 *
 * The second side of a comparison is the same SQL with other parameters, so a template is expanded
 * as for the first, and then every {name:Type} in it becomes {base_name:Type}. No brace in our SQL
 * means anything else.
 */
#include "cluster-agent/query/read/bound_query.h"

#include <errno.h>

#include "cluster-agent/query/read/label_matchers.h"
#include "cluster-agent/query/read/label_sql.h"
#include "cluster-agent/query/read/profile_ids.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/store/clickhouse_error.h"
#include "common/text/kube_names.h"

#define PARAM_BYTES ((size_t)1024 * 1024)
#define MAX_SERVICES_BYTES ((size_t)100 * 1024)
#define SQL_BYTES ((size_t)64 * 1024)
#define BASE "base_"
/* CANNOT_COMPILE_REGEXP of ClickHouse */
#define CODE_REGEXP 427
/* MEMORY_LIMIT_EXCEEDED */
#define CODE_MEMORY 241

/* A profile counts if its window overlaps the range; a window is at least 1 ns long. */
#define RANGE                                              \
	"Start < fromUnixTimestamp64Nano({to:Int64}) AND " \
	"End > fromUnixTimestamp64Nano({from:Int64})"
#define HOLD_RANGE                                                                  \
	"Start < fromUnixTimestamp64Nano({to:Int64} + toInt64({hold:UInt64})) AND " \
	"End > fromUnixTimestamp64Nano({from:Int64} - toInt64({hold:UInt64}))"
#define HOST "if(Labels['host.name'] != '', Labels['host.name'], Labels['node'])"
#define ID_CONTAINER "Labels['container.id']"
#define ID_POD                                                                      \
	"if(Labels['pod'] != '', concat(Labels['namespace'], '/', Labels['pod']), " \
	"Labels['container.id'])"
#define K8S "/k8s/" /* container ids of pods begin so */
#define WINDOW_NS "greatest(toUnixTimestamp64Nano(End) - toUnixTimestamp64Nano(Start), 1)"
#define OVERLAP_NS                                                  \
	"greatest(least(toUnixTimestamp64Nano(End), {to:Int64}) - " \
	"greatest(toUnixTimestamp64Nano(Start), {from:Int64}), 1)"

struct piece {
	const char *name;
	const char *sql;
	const char *distributed; /* on a cluster; NULL: the same */
};

#define TABLE(name) name, name "_distributed"

static const struct piece pieces[] = {
	{"range", RANGE, NULL},
	{"hold_range", HOLD_RANGE, NULL},
	{"host", HOST, NULL},
	{"window_ns", WINDOW_NS, NULL},
	{"overlap_ns", OVERLAP_NS, NULL},
	{"stacks", TABLE("profiling_stacks")},
	{"samples", TABLE("profiling_samples")},
	{"quality", TABLE("profiling_quality")},
	{"profiles", TABLE("profiling_profiles")},
	{"in", "IN", "GLOBAL IN"},
	{"join", "INNER JOIN", "GLOBAL INNER JOIN"},
};

/* Escapes s for ClickHouse, which unescapes the value of a String parameter. */
static const char *escape(struct arena *arena, const char *s)
{
	char *out = arena_alloc(arena, 2 * strlen(s) + 1), *at = out;

	if (!out)
		return NULL;
	for (; *s; s++) {
		if (*s == '\\' || *s == '\t' || *s == '\n' || *s == '\r')
			*at++ = '\\';
		*at++ = *s == '\t' ? 't' : *s == '\n' ? 'n' : *s == '\r' ? 'r' : *s;
	}
	*at = '\0';
	return out;
}

static int add_param(struct bound_query *q, const char *name, const char *value)
{
	size_t side_len = strlen(q->side), len = strlen(name);
	char *full = arena_alloc(&q->arena, side_len + len + 1);

	if (!full || !value || q->n_params == BOUND_QUERY_MAX_PARAMS)
		return -ENOMEM;
	memcpy(full, q->side, side_len);
	memcpy(full + side_len, name, len + 1);
	q->params[q->n_params++] = (struct store_param){.name = full, .value = value};
	return 0;
}

static int add_string(struct bound_query *q, const char *name, const char *value)
{
	return add_param(q, name, escape(&q->arena, value ? value : ""));
}

static int add_int(struct bound_query *q, const char *name, int64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%lld", (long long)value);

	return add_param(q, name, arena_strndup(&q->arena, text, (size_t)n));
}

int bound_query_add_uint(struct bound_query *q, const char *name, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);

	return add_param(q, name, arena_strndup(&q->arena, text, (size_t)n));
}

int bound_query_add_text(struct bound_query *q, const char *name, const char *value)
{
	return add_string(q, name, value);
}

/* An array is read as a literal: only its elements are unescaped, not the whole value. */
static int add_element(struct buf *b, const char *s)
{
	int r = buf_add(b, "'", 1);

	for (; r == 0 && *s; s++) {
		char quoted[2] = {'\\', *s == '\t'   ? 't'
					: *s == '\n' ? 'n'
					: *s == '\r' ? 'r'
						     : *s};
		bool plain = !strchr("\\'\t\n\r", *s);

		r = buf_add(b, plain ? s : quoted, plain ? 1 : 2);
	}
	return r == 0 ? buf_add(b, "'", 1) : r;
}

int bound_query_add_texts(struct bound_query *q, const char *name, const char *const *values,
			  size_t n)
{
	CLEANUP(buf_fini) struct buf b;
	int r;

	buf_init(&b, PARAM_BYTES);
	r = buf_add(&b, "[", 1);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (i > 0)
			r = buf_add(&b, ",", 1);
		if (r == 0)
			r = add_element(&b, values[i]);
	}
	if (r == 0)
		r = buf_add(&b, "]", 1);
	return r == 0 ? add_param(q, name, arena_strndup(&q->arena, b.data, b.len)) : r;
}

int bound_query_add_doubles(struct bound_query *q, const char *name, const double *values, size_t n)
{
	CLEANUP(buf_fini) struct buf b;
	int r;

	buf_init(&b, PARAM_BYTES);
	r = buf_add(&b, "[", 1);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = buf_addf(&b, "%s%.17g", i > 0 ? "," : "", values[i]);
	if (r == 0)
		r = buf_add(&b, "]", 1);
	return r == 0 ? add_param(q, name, arena_strndup(&q->arena, b.data, b.len)) : r;
}

int bound_query_add_uints(struct bound_query *q, const char *name, const uint64_t *values, size_t n)
{
	/* 20 digits and a comma each, brackets and NUL */
	char *text = arena_alloc(&q->arena, n * 21 + 3), *at = text;

	if (!text)
		return -ENOMEM;
	*at++ = '[';
	for (size_t i = 0; i < n; i++)
		at += snprintf(at, 22, "%s%llu", i > 0 ? "," : "", (unsigned long long)values[i]);
	at[0] = ']';
	at[1] = '\0';
	return add_param(q, name, text);
}

bool query_filter_is_set(const struct query_filter *f)
{
	return (f->instance && f->instance[0]) || (f->where && f->where->n_items > 0);
}

static bool is_of_node_agent(const struct query_filter *f)
{
	return f->type && profile_type_get(f->type)->node_agent;
}

/* Returns the length of "<namespace>/<pod>" if that is what text is, else 0. */
static size_t pod_len(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len);
	size_t left = slash ? len - (size_t)(slash + 1 - text) : 0;

	return left > 0 && slash > text && !memchr(slash + 1, '/', left) ? len : 0;
}

/*
 * The same instance in the types of the other agent: the beginning of the ids of a pod's
 * containers, or the pod of a container. False if it has nothing to do with a pod.
 */
static bool other_name(char ret[static KUBE_NAME_BYTES], const struct query_filter *f)
{
	const char *text = f->instance, *last;
	size_t len = strcspn(text, "@"), n;

	if (len >= KUBE_NAME_BYTES - sizeof(K8S "/"))
		return false;
	if (is_of_node_agent(f)) {
		n = pod_len(text, len);
		snprintf(ret, KUBE_NAME_BYTES, K8S "%.*s/", (int)n, text);
		return n > 0;
	}
	if (strncmp(text, K8S, strlen(K8S)) != 0)
		return false;
	last = memrchr(text, '/', len);
	if (last + 1 == text + len || last < text + strlen(K8S))
		return false;
	text += strlen(K8S);
	n = pod_len(text, (size_t)(last - text));
	snprintf(ret, KUBE_NAME_BYTES, "%.*s", (int)n, text);
	return n > 0;
}

static int add_instance(struct bound_query *q, const struct query_filter *f)
{
	char other[KUBE_NAME_BYTES];
	int r = add_string(q, "instance", f->instance);

	return r == 0 && other_name(other, f) ? add_string(q, "other", other) : r;
}

static bool is_regex(const struct label_matcher *m)
{
	return m->op == LABEL_MATCHES || m->op == LABEL_NOT_MATCHES;
}

/* Binds name and value of each matcher as {name<i>} and {value<i>}. */
int bound_query_bind_matchers(struct bound_query *q, const struct label_matchers *where)
{
	for (size_t i = 0; i < where->n_items; i++) {
		const struct label_matcher *m = &where->items[i];
		char param[32];
		int r;

		snprintf(param, sizeof(param), "name%zu", i);
		r = add_string(q, param, m->name);
		if (r < 0)
			return r;
		snprintf(param, sizeof(param), "value%zu", i);
		r = add_string(q, param, m->value);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Binds the two columns of profile_ids.h. */
static int add_ids(struct bound_query *q)
{
	const char *types[PROFILE_IDS_MAX], *texts[PROFILE_IDS_MAX];
	size_t n;
	const struct profile_id *ids = profile_ids(&n);
	int r;

	for (size_t i = 0; i < n && i < PROFILE_IDS_MAX; i++) {
		types[i] = ids[i].type;
		texts[i] = ids[i].id;
	}
	r = bound_query_add_texts(q, "types", types, n);
	return r == 0 ? bound_query_add_texts(q, "ids", texts, n) : r;
}

/* Servers take parameters of up to 128 KiB. */
static int add_services(struct bound_query *q, const struct query_filter *f)
{
	size_t bytes = 0;

	for (size_t i = 0; i < f->n_services; i++)
		bytes += strlen(f->services[i]) + sizeof("'',");
	return bytes > MAX_SERVICES_BYTES
		       ? -EFBIG
		       : bound_query_add_texts(q, "services", f->services, f->n_services);
}

int bound_query_bind(struct bound_query *q, const struct query_filter *f)
{
	int r = add_int(q, "from", f->from_ns);

	if (r == 0)
		r = add_int(q, "to", f->to_ns);
	if (r == 0 && f->service)
		r = add_string(q, "service", f->service);
	else if (r == 0 && f->services)
		r = add_services(q, f);
	if (r == 0 && f->type)
		r = add_string(q, "type", f->type);
	if (r == 0 && f->instance && f->instance[0])
		r = add_instance(q, f);
	if (r == 0 && f->where)
		r = bound_query_bind_matchers(q, f->where);
	return r;
}

int bound_query_init(struct bound_query *q, struct store *store, const struct query_filter *f,
		     size_t max_answer_bytes)
{
	q->store = store;
	q->ticket = f->ticket;
	q->n_params = 0;
	q->side = "";
	q->by = NULL;
	q->has_ids = false;
	arena_init(&q->arena, PARAM_BYTES);
	buf_init(&q->sql, SQL_BYTES);
	buf_init(&q->answer, max_answer_bytes);
	return bound_query_bind(q, f);
}

void bound_query_use_side(struct bound_query *q, bool base)
{
	q->side = base ? BASE : "";
}

void bound_query_fini(struct bound_query *q)
{
	buf_fini(&q->answer);
	buf_fini(&q->sql);
	arena_fini(&q->arena);
}

static const char *id_of(const struct query_filter *f)
{
	return is_of_node_agent(f) ? ID_CONTAINER : ID_POD;
}

static int add_which_instance(struct bound_query *q, const struct query_filter *f)
{
	const char *id = id_of(f);
	char other[KUBE_NAME_BYTES];
	int r = buf_addf(&q->sql,
			 " AND (%s = {instance:String} OR "
			 "concat(%s, '@', " HOST ") = {instance:String}",
			 id, id);

	if (r == 0 && other_name(other, f))
		r = buf_addf(&q->sql,
			     is_of_node_agent(f) ? " OR startsWith(%s, {other:String})"
						 : " OR %s = {other:String}",
			     id);
	return r == 0 ? buf_addf(&q->sql, ")") : r;
}

/* The parameter of an expression, which has to match the whole value. */
#define WHOLE "concat('^(?:', {value%zu:String}, ')$')"

/*
 * The calls of match() with '' have only constants, so the engine evaluates them, and refuses a
 * wrong expression also where there is no row. The first has the expression without parentheses:
 * "a)|(.*" is wrong, but would be valid between them and match everything. The engine compiles
 * an expression only if it is more than plain text to it; "^" makes sure that it does.
 */
/* The expression of a matcher's label. */
static int add_matched(struct bound_query *q, const struct label_matchers *where, size_t i,
		       bool plain)
{
	char param[32];

	snprintf(param, sizeof(param), "name%zu", i);
	return plain ? bound_query_add_label(q, where->items[i].name, param)
		     : buf_addf(&q->sql, "Labels[{%s:String}]", param);
}

int bound_query_add_matchers(struct bound_query *q, const struct label_matchers *where, bool plain)
{
	int r = 0;

	for (size_t i = 0; i < where->n_items && r == 0; i++) {
		enum label_match op = where->items[i].op;
		bool regex = is_regex(&where->items[i]);

		if (regex)
			r = buf_addf(&q->sql,
				     " AND (match('', concat('^', {value%zu:String})) OR true)"
				     " AND (match('', " WHOLE ") OR true) AND %smatch(",
				     i, i, op == LABEL_NOT_MATCHES ? "NOT " : "");
		else
			r = buf_addf(&q->sql, " AND ");
		if (r == 0)
			r = add_matched(q, where, i, plain);
		if (r == 0 && regex)
			r = buf_addf(&q->sql, ", " WHOLE ")", i);
		else if (r == 0)
			r = buf_addf(&q->sql, " %s {value%zu:String}",
				     op == LABEL_NOT_EQUAL ? "!=" : "=", i);
	}
	return r;
}

int bound_query_add_label(struct bound_query *q, const char *name, const char *param)
{
	bool series;
	const char *sql = label_sql(name, &series);

	if (strstr(sql, "{ids:") && !q->has_ids) {
		int r = add_ids(q);

		if (r < 0)
			return r;
		q->has_ids = true;
	}
	for (;;) {
		const char *mark = strchr(sql, '@');
		int r = buf_add(&q->sql, sql, mark ? (size_t)(mark - sql) : strlen(sql));

		if (r < 0 || !mark)
			return r;
		r = buf_add(&q->sql, param, strlen(param));
		if (r < 0)
			return r;
		sql = mark + 1;
	}
}

static const char *services_of(const struct query_filter *f)
{
	return f->service    ? "ServiceName = {service:String}"
	       : f->services ? "ServiceName IN {services:Array(String)}"
			     : "1";
}

/* The conditions on labels, behind others. */
static int add_filter(struct bound_query *q, const struct query_filter *f)
{
	int r = 0;

	if (f->instance && f->instance[0])
		r = add_which_instance(q, f);
	if (r == 0 && f->where)
		r = bound_query_add_matchers(q, f->where, f->plain_labels);
	return r;
}

static int add_which(struct bound_query *q, const struct query_filter *f, const char *range)
{
	int r = buf_addf(&q->sql, "%s AND Type = {type:String} AND %s", services_of(f), range);

	return r == 0 ? add_filter(q, f) : r;
}

/*
 * The types whose values are CPU time, as a list of literals; gapless: of these, the ones whose
 * profiles follow each other without gaps.
 */
static int add_cpu_types(struct bound_query *q, bool gapless)
{
	size_t n, n_added = 0;
	const struct profile_type *types = profile_types(&n);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (profile_type_is_cpu_time(&types[i]) && (!gapless || types[i].node_agent))
			r = buf_addf(&q->sql, "%s'%s'", n_added++ > 0 ? ", " : "", types[i].type);
	return r;
}

/* NOLINTNEXTLINE(readability-function-cognitive-complexity): a list of names */
static int add_piece(struct bound_query *q, const struct query_filter *f, const char *name,
		     size_t len)
{
	if (len == 5 && memcmp(name, "which", 5) == 0)
		return add_which(q, f, RANGE);
	if (len == 10 && memcmp(name, "which_hold", 10) == 0)
		return add_which(q, f, HOLD_RANGE);
	if (len == 6 && memcmp(name, "filter", 6) == 0) {
		int r = buf_add(&q->sql, "1", 1);

		return r == 0 ? add_filter(q, f) : r;
	}
	if (len == 9 && memcmp(name, "cpu_types", 9) == 0)
		return add_cpu_types(q, false);
	if (len == 17 && memcmp(name, "gapless_cpu_types", 17) == 0)
		return add_cpu_types(q, true);
	if (len == 2 && memcmp(name, "id", 2) == 0)
		return buf_add(&q->sql, id_of(f), strlen(id_of(f)));
	if (len == 8 && memcmp(name, "services", 8) == 0)
		return buf_add(&q->sql, services_of(f), strlen(services_of(f)));
	if (len == 2 && memcmp(name, "by", 2) == 0)
		return buf_addf(&q->sql, "%s", q->by ? q->by : "Labels[{by:String}]");
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		const struct piece *p = &pieces[i];
		const char *sql = p->sql;

		if (strlen(p->name) != len || memcmp(p->name, name, len) != 0)
			continue;
		if (p->distributed && store_is_distributed(q->store))
			sql = p->distributed;
		return buf_add(&q->sql, sql, strlen(sql));
	}
	return -EINVAL;
}

static int expand(struct bound_query *q, const struct query_filter *f, const char *template)
{
	for (;;) {
		const char *mark = strstr(template, "${");
		const char *end = mark ? strchr(mark, '}') : NULL;
		int r;

		if (!end)
			return buf_add(&q->sql, template, strlen(template));
		r = buf_add(&q->sql, template, (size_t)(mark - template));
		if (r == 0)
			r = add_piece(q, f, mark + 2, (size_t)(end - mark - 2));
		if (r < 0)
			return r;
		template = end + 1;
	}
}

/* Renames the parameters in the SQL appended since `start` for the side in use. */
static int rename_params(struct bound_query *q, size_t start)
{
	CLEANUP(buf_fini) struct buf added;
	int r;

	buf_init(&added, SQL_BYTES);
	r = buf_add(&added, q->sql.data + start, q->sql.len - start);
	buf_truncate(&q->sql, start);
	for (const char *at = added.data; r == 0 && *at;) {
		size_t len = strcspn(at, "{");

		len += at[len] == '{';
		r = buf_add(&q->sql, at, len);
		if (r == 0 && len > 0 && at[len - 1] == '{')
			r = buf_add(&q->sql, q->side, strlen(q->side));
		at += len;
	}
	return r;
}

int bound_query_add_sql(struct bound_query *q, const struct query_filter *f, const char *template)
{
	size_t start = q->sql.len;
	int r = expand(q, f, template);

	return r == 0 && q->side[0] ? rename_params(q, start) : r;
}

/* Extracts what is wrong with a regular expression from the engine's exception. */
static int refuse_regex(const char *text, struct err *err)
{
	static const char mark[] = "error: ";
	const char *why = strstr(text, mark);
	const char *end;

	why = why ? why + strlen(mark) : text;
	end = strstr(why, ". Look at "); /* the expression itself may have dots */
	return err_set(err, -EINVAL, "a regular expression of the label matchers is invalid: %.*s",
		       (int)(end ? (size_t)(end - why) : strcspn(why, ".\n")), why);
}

/* Translates an exception of the engine for the client. r and err are those of store_query(). */
static int explain(const struct bound_query *q, int r, struct err *err)
{
	int code = store_exception_code(q->answer.data, q->answer.len);

	if (code == CODE_REGEXP)
		return refuse_regex(q->answer.data, err);
	switch (clickhouse_advice(code, q->answer.data, q->answer.len)) {
	case CLICKHOUSE_TOO_LARGE:
		return err_set(err, -EFBIG,
			       "the answer needs more memory than the store may use, ask for a "
			       "shorter range");
	case CLICKHOUSE_BUSY:
		return code == CODE_MEMORY
			       ? err_set(err, -ENOMEM,
					 "the store has no memory left at present, ask again or "
					 "for a shorter range")
			       : -EAGAIN;
	default:
		return r;
	}
}

int bound_query_run(struct bound_query *q, struct err *err)
{
	struct store_query sq = {
		.lane = STORE_FOR_PAGE,
		.ticket = q->ticket,
		.sql = q->sql.data,
		.params = q->params,
		.n_params = q->n_params,
		.format = "RowBinary",
	};
	int r = store_query(q->store, &sq, &q->answer, err);

	if (r == -EREMOTEIO && q->answer.len > 0)
		return explain(q, r, err);
	return r == -EFBIG ? err_set(err, r, "the answer is too large, ask for a shorter range")
			   : r;
}

int bound_query_ask(struct bound_query *q, struct store *store, const struct query_filter *f,
		    size_t max_answer_bytes, const char *template, struct err *err)
{
	int r = bound_query_init(q, store, f, max_answer_bytes);

	if (r == 0)
		r = bound_query_add_sql(q, f, template);
	return r == 0 ? bound_query_run(q, err) : r;
}

int bound_query_check(const struct rowbinary_reader *r, struct err *err)
{
	return rowbinary_reader_finish(r) < 0
		       ? err_set(err, -EBADMSG, "unexpected answer of the store")
		       : 0;
}
