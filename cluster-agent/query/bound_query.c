/*
 * Templates of SQL are C strings with two kinds of holes: {name:Type}, which the engine binds,
 * and ${name}, which add_piece() replaces by SQL that several queries share. The second kind is
 * chosen by the filter and never contains text of it: which label names an instance depends on
 * the type, and the condition on the instance is only there if one is asked for. Tables are such
 * pieces too, as on a cluster they have other names, and so is the GLOBAL that IN needs there: it
 * makes one server run the subquery and send its result to all.
 */
#include "cluster-agent/query/bound_query.h"

#include <errno.h>

#include "cluster-agent/query/profile_types.h"
#include "common/text/kube_names.h"

#define PARAM_BYTES ((size_t)256 * 1024)
#define SQL_BYTES ((size_t)64 * 1024)

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
	{"host", HOST, NULL},
	{"window_ns", WINDOW_NS, NULL},
	{"overlap_ns", OVERLAP_NS, NULL},
	{"stacks", TABLE("profiling_stacks")},
	{"samples", TABLE("profiling_samples")},
	{"quality", TABLE("profiling_quality")},
	{"profiles", TABLE("profiling_profiles")},
	{"in", "IN", "GLOBAL IN"},
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
	if (!value || q->n_params == BOUND_QUERY_MAX_PARAMS)
		return -ENOMEM;
	q->params[q->n_params++] = (struct store_param){.name = name, .value = value};
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
 * What the instance is called in the types of the other agent: the beginning of the ids of a pod's
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

int bound_query_init(struct bound_query *q, struct store *store, const struct query_filter *f,
		     size_t max_answer_bytes)
{
	int r;

	q->store = store;
	q->ticket = f->ticket;
	q->n_params = 0;
	arena_init(&q->arena, PARAM_BYTES);
	buf_init(&q->sql, SQL_BYTES);
	buf_init(&q->answer, max_answer_bytes);
	r = add_int(q, "from", f->from_ns);
	if (r == 0)
		r = add_int(q, "to", f->to_ns);
	if (r == 0 && f->service)
		r = add_string(q, "service", f->service);
	if (r == 0 && f->type)
		r = add_string(q, "type", f->type);
	if (r == 0 && f->instance && f->instance[0])
		r = add_instance(q, f);
	return r;
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

static int add_which(struct bound_query *q, const struct query_filter *f, const char *range)
{
	int r = buf_addf(&q->sql, "ServiceName = {service:String} AND Type = {type:String} AND %s",
			 range);

	if (r == 0 && f->instance && f->instance[0])
		r = add_which_instance(q, f);
	return r;
}

static int add_piece(struct bound_query *q, const struct query_filter *f, const char *name,
		     size_t len)
{
	if (len == 5 && memcmp(name, "which", 5) == 0)
		return add_which(q, f, RANGE);
	if (len == 10 && memcmp(name, "which_hold", 10) == 0)
		return add_which(q, f, HOLD_RANGE);
	if (len == 2 && memcmp(name, "id", 2) == 0)
		return buf_add(&q->sql, id_of(f), strlen(id_of(f)));
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

int bound_query_add_sql(struct bound_query *q, const struct query_filter *f, const char *template)
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
