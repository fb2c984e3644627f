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
#define CODE_UNKNOWN_TABLE 60
#define CODE_ACCESS_DENIED 497

/* A profile counts if its window overlaps the range; a window is at least 1 ns long. */
#define RANGE                                              \
	"Start < fromUnixTimestamp64Nano({to:Int64}) AND " \
	"End > fromUnixTimestamp64Nano({from:Int64})"
#define HOLD_RANGE                                                                  \
	"Start < fromUnixTimestamp64Nano({to:Int64} + toInt64({hold:UInt64})) AND " \
	"End > fromUnixTimestamp64Nano({from:Int64} - toInt64({hold:UInt64}))"
#define HOST "if(Labels['host.name'] != '', Labels['host.name'], Labels['node'])"
#define ID_CONTAINER "Labels['container.id']"
#define K8S "/k8s/" /* container ids of pods begin so */
#define ID_POD                                                                           \
	"if(Labels['pod'] != '' AND NOT startsWith(Labels['container.id'], '" K8S "'), " \
	"concat(Labels['namespace'], '/', Labels['pod']), Labels['container.id'])"
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
	{"functions", TABLE("profiling_functions")},
	{"notes", TABLE("profiling_notes")},
	{"in", "IN", "GLOBAL IN"},
	{"not_in", "NOT IN", "GLOBAL NOT IN"},
	{"join", "INNER JOIN", "GLOBAL INNER JOIN"},
	{"left_join", "LEFT JOIN", "GLOBAL LEFT JOIN"},
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

static void add_param(struct bound_query *q, const char *name, const char *value)
{
	size_t side_len = strlen(q->side), len = strlen(name);
	char *full = arena_alloc(&q->arena, side_len + len + 1);

	if (!full || !value || q->n_params == BOUND_QUERY_MAX_PARAMS) {
		bound_query_note(q, -ENOMEM);
		return;
	}
	memcpy(full, q->side, side_len);
	memcpy(full + side_len, name, len + 1);
	q->params[q->n_params++] = (struct store_param){.name = full, .value = value};
}

static void add_string(struct bound_query *q, const char *name, const char *value)
{
	add_param(q, name, escape(&q->arena, value ? value : ""));
}

static void add_int(struct bound_query *q, const char *name, int64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%lld", (long long)value);

	add_param(q, name, arena_strndup(&q->arena, text, (size_t)n));
}

void bound_query_add_uint(struct bound_query *q, const char *name, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);

	add_param(q, name, arena_strndup(&q->arena, text, (size_t)n));
}

void bound_query_add_text(struct bound_query *q, const char *name, const char *value)
{
	add_string(q, name, value);
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

/* Binds an array literal, of whose text r is the error. */
static void add_array(struct bound_query *q, const char *name, const struct buf *b, int r)
{
	if (r == 0)
		add_param(q, name, arena_strndup(&q->arena, b->data, b->len));
	bound_query_note(q, r);
}

void bound_query_add_texts(struct bound_query *q, const char *name, const char *const *values,
			   size_t n)
{
	CLEANUP(buf_fini) struct buf b;
	int r = 0;

	buf_init(&b, PARAM_BYTES);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = buf_add(&b, i > 0 ? "," : "[", 1) ?: add_element(&b, values[i]);
	add_array(q, name, &b, r ?: buf_addf(&b, n > 0 ? "]" : "[]"));
}

void bound_query_add_doubles(struct bound_query *q, const char *name, const double *values,
			     size_t n)
{
	CLEANUP(buf_fini) struct buf b;
	int r = 0;

	buf_init(&b, PARAM_BYTES);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = buf_addf(&b, "%s%.17g", i > 0 ? "," : "[", values[i]);
	add_array(q, name, &b, r ?: buf_addf(&b, n > 0 ? "]" : "[]"));
}

void bound_query_add_uints(struct bound_query *q, const char *name, const uint64_t *values,
			   size_t n)
{
	/* 20 digits and a comma each, brackets and NUL */
	char *text = arena_alloc(&q->arena, n * 21 + 3), *at = text;

	if (!text) {
		bound_query_note(q, -ENOMEM);
		return;
	}
	*at++ = '[';
	for (size_t i = 0; i < n; i++)
		at += snprintf(at, 22, "%s%llu", i > 0 ? "," : "", (unsigned long long)values[i]);
	at[0] = ']';
	at[1] = '\0';
	add_param(q, name, text);
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
 * The same instance where profiles know more or less of it: the beginning of the ids of a pod's
 * containers, which begins with '/', or the pod of a container, which does not. False if there is
 * no such name.
 */
static bool other_name(char ret[static KUBE_NAME_BYTES], const struct query_filter *f)
{
	const char *text = f->instance, *last;
	size_t len = strcspn(text, "@"), n;

	if (len >= KUBE_NAME_BYTES - sizeof(K8S "/"))
		return false;
	n = pod_len(text, len);
	if (n > 0) {
		snprintf(ret, KUBE_NAME_BYTES, K8S "%.*s/", (int)n, text);
		return true;
	}
	if (is_of_node_agent(f) || strncmp(text, K8S, strlen(K8S)) != 0)
		return false;
	last = memrchr(text, '/', len);
	if (last + 1 == text + len || last < text + strlen(K8S))
		return false;
	text += strlen(K8S);
	n = pod_len(text, (size_t)(last - text));
	snprintf(ret, KUBE_NAME_BYTES, "%.*s", (int)n, text);
	return n > 0;
}

static void add_instance(struct bound_query *q, const struct query_filter *f)
{
	char other[KUBE_NAME_BYTES];

	add_string(q, "instance", f->instance);
	if (other_name(other, f))
		add_string(q, "other", other);
}

static bool is_regex(const struct label_matcher *m)
{
	return m->op == LABEL_MATCHES || m->op == LABEL_NOT_MATCHES;
}

/* Binds name and value of each matcher as {name<i>} and {value<i>}. */
void bound_query_bind_matchers(struct bound_query *q, const struct label_matchers *where)
{
	for (size_t i = 0; i < where->n_items; i++) {
		char param[32];

		snprintf(param, sizeof(param), "name%zu", i);
		add_string(q, param, where->items[i].name);
		snprintf(param, sizeof(param), "value%zu", i);
		add_string(q, param, where->items[i].value);
	}
}

/* Binds the two columns of profile_ids.h. */
static void add_ids(struct bound_query *q)
{
	const char *types[PROFILE_IDS_MAX], *texts[PROFILE_IDS_MAX];
	size_t n;
	const struct profile_id *ids = profile_ids(&n);

	for (size_t i = 0; i < n && i < PROFILE_IDS_MAX; i++) {
		types[i] = ids[i].type;
		texts[i] = ids[i].id;
	}
	bound_query_add_texts(q, "types", types, n);
	bound_query_add_texts(q, "ids", texts, n);
}

/* Servers take parameters of up to 128 KiB. */
static void add_services(struct bound_query *q, const struct query_filter *f)
{
	size_t bytes = 0;

	for (size_t i = 0; i < f->n_services; i++)
		bytes += strlen(f->services[i]) + sizeof("'',");
	if (bytes > MAX_SERVICES_BYTES)
		bound_query_note(q, -EFBIG);
	else
		bound_query_add_texts(q, "services", f->services, f->n_services);
}

void bound_query_bind(struct bound_query *q, const struct query_filter *f)
{
	add_int(q, "from", f->from_ns);
	add_int(q, "to", f->to_ns);
	if (f->service)
		add_string(q, "service", f->service);
	else if (f->services)
		add_services(q, f);
	if (f->type)
		add_string(q, "type", f->type);
	if (f->instance && f->instance[0])
		add_instance(q, f);
	if (f->where)
		bound_query_bind_matchers(q, f->where);
}

void bound_query_init(struct bound_query *q, struct store *store, const struct query_filter *f,
		      size_t max_answer_bytes)
{
	q->store = store;
	q->ticket = f->ticket;
	q->lane = STORE_FOR_PAGE;
	q->n_params = 0;
	q->error = 0;
	q->side = "";
	q->by = NULL;
	q->has_ids = false;
	arena_init(&q->arena, PARAM_BYTES);
	buf_init(&q->sql, SQL_BYTES);
	buf_init(&q->answer, max_answer_bytes);
	bound_query_bind(q, f);
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

static void add_which_instance(struct bound_query *q, const struct query_filter *f)
{
	const char *id = id_of(f);
	char other[KUBE_NAME_BYTES];

	bound_query_addf(q,
			 " AND (%s = {instance:String} OR "
			 "concat(%s, '@', " HOST ") = {instance:String}",
			 id, id);
	if (other_name(other, f))
		bound_query_addf(q,
				 other[0] == '/' ? " OR startsWith(%s, {other:String})"
						 : " OR %s = {other:String}",
				 id);
	bound_query_addf(q, ")");
}

/* The parameter of an expression, which has to match the whole value. */
#define WHOLE "concat('^(?:', {value%zu:String}, ')$')"

/*
 * The calls of match() with '' have only constants, so the engine evaluates them, and refuses a
 * wrong expression also where there is no row. The first has the expression without parentheses:
 * "a)|(.*" is wrong, but would be valid between them and match everything. The engine compiles
 * an expression only if it is more than plain text to it; "^" makes sure that it does.
 */
#define VALID                                                      \
	"(match('', concat('^', {value%zu:String})) OR true) AND " \
	"(match('', " WHOLE ") OR true) AND "

static void add_matcher(struct bound_query *q, const struct label_matcher *m, size_t i, bool plain)
{
	char param[32];

	if (is_regex(m))
		bound_query_addf(q, "%smatch(", m->op == LABEL_NOT_MATCHES ? "NOT " : "");
	snprintf(param, sizeof(param), "name%zu", i);
	if (plain)
		bound_query_add_label(q, m->name, param);
	else
		bound_query_addf(q, "Labels[{%s:String}]", param);
	if (is_regex(m))
		bound_query_addf(q, ", " WHOLE ")", i);
	else
		bound_query_addf(q, " %s {value%zu:String}", m->op == LABEL_NOT_EQUAL ? "!=" : "=",
				 i);
}

/*
 * An instance has several names, one of which must match: its id, the id with the host, and a
 * stored label of that name.
 */
static void add_instance_matcher(struct bound_query *q, const struct query_filter *f,
				 const struct label_matcher *m, size_t i)
{
	const char *id = id_of(f);

	if (m->op == LABEL_NOT_EQUAL || m->op == LABEL_NOT_MATCHES)
		bound_query_addf(q, "NOT ");
	if (is_regex(m))
		bound_query_addf(q, "arrayExists(n -> match(n, " WHOLE "), ", i);
	else
		bound_query_addf(q, "arrayExists(n -> n = {value%zu:String}, ", i);
	bound_query_addf(q, "[%s, concat(%s, '@', " HOST "), Labels['" QUERY_FILTER_INSTANCE "']])",
			 id, id);
}

void bound_query_add_matchers(struct bound_query *q, const struct label_matchers *where,
			      const struct query_filter *f)
{
	bool plain = !f || f->plain_labels;

	for (size_t i = 0; i < where->n_items; i++) {
		const struct label_matcher *m = &where->items[i];

		bound_query_addf(q, " AND ");
		if (is_regex(m))
			bound_query_addf(q, VALID, i, i);
		if (!plain && strcmp(m->name, QUERY_FILTER_INSTANCE) == 0)
			add_instance_matcher(q, f, m, i);
		else
			add_matcher(q, m, i, plain);
	}
}

void bound_query_add_label(struct bound_query *q, const char *name, const char *param)
{
	bool series;
	const char *sql = label_sql(name, &series), *mark;

	if (strstr(sql, "{ids:") && !q->has_ids) {
		add_ids(q);
		q->has_ids = true;
	}
	for (; (mark = strchr(sql, '@')); sql = mark + 1)
		bound_query_addf(q, "%.*s%s", (int)(mark - sql), sql, param);
	bound_query_addf(q, "%s", sql);
}

void bound_query_bind_by(struct bound_query *q, const char *label, const char *const *labels,
			 size_t n_labels)
{
	char param[32];

	if (n_labels == 0) {
		bound_query_add_text(q, "by", label);
		return;
	}
	for (size_t i = 0; i < n_labels; i++) {
		snprintf(param, sizeof(param), "by%zu", i);
		bound_query_add_text(q, param, labels[i]);
		bound_query_addf(q, i > 0 ? ", " : "arrayStringConcat([");
		bound_query_add_label(q, labels[i], param);
	}
	bound_query_addf(q, "], '\\x01')");
	if (q->error < 0)
		return;
	/* the expression was built where SQL is */
	q->by = arena_strndup(&q->arena, q->sql.data, q->sql.len);
	bound_query_note(q, q->by ? 0 : -ENOMEM);
	buf_truncate(&q->sql, 0);
}

static const char *services_of(const struct query_filter *f)
{
	return f->service    ? "ServiceName = {service:String}"
	       : f->services ? "ServiceName IN {services:Array(String)}"
			     : "1";
}

/* The conditions on labels, after others. */
static void add_filter(struct bound_query *q, const struct query_filter *f)
{
	if (f->instance && f->instance[0])
		add_which_instance(q, f);
	if (f->where)
		bound_query_add_matchers(q, f->where, f);
}

static void add_which(struct bound_query *q, const struct query_filter *f, const char *range)
{
	bound_query_addf(q, "%s AND Type = {type:String} AND %s", services_of(f), range);
	add_filter(q, f);
}

static bool is_gapless_cpu_time(const struct profile_type *t)
{
	return profile_type_is_cpu_time(t) && t->node_agent;
}

/* The types of which this holds, as a list of literals. */
static void add_types(struct bound_query *q, bool (*holds)(const struct profile_type *t))
{
	size_t n, n_added = 0;
	const struct profile_type *types = profile_types(&n);

	for (size_t i = 0; i < n; i++)
		if (holds(&types[i]))
			bound_query_addf(q, "%s'%s'", n_added++ > 0 ? ", " : "", types[i].type);
}

static bool is_named(const char *name, size_t len, const char *wanted)
{
	return strlen(wanted) == len && memcmp(name, wanted, len) == 0;
}

/* Adds a piece of the table. */
static void add_shared(struct bound_query *q, const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		const struct piece *p = &pieces[i];

		if (!is_named(name, len, p->name))
			continue;
		bound_query_addf(q, "%s",
				 p->distributed && store_is_distributed(q->store) ? p->distributed
										  : p->sql);
		return;
	}
	bound_query_note(q, -EINVAL);
}

static void add_piece(struct bound_query *q, const struct query_filter *f, const char *name,
		      size_t len)
{
	if (is_named(name, len, "which")) {
		add_which(q, f, RANGE);
	} else if (is_named(name, len, "which_hold")) {
		add_which(q, f, HOLD_RANGE);
	} else if (is_named(name, len, "filter")) {
		bound_query_addf(q, "1");
		add_filter(q, f);
	} else if (is_named(name, len, "cpu_types")) {
		add_types(q, profile_type_is_cpu_time);
	} else if (is_named(name, len, "gapless_cpu_types")) {
		add_types(q, is_gapless_cpu_time); /* profiles follow each other */
	} else if (is_named(name, len, "level_types")) {
		add_types(q, profile_type_is_level);
	} else if (is_named(name, len, "id")) {
		bound_query_addf(q, "%s", id_of(f));
	} else if (is_named(name, len, "services")) {
		bound_query_addf(q, "%s", services_of(f));
	} else if (is_named(name, len, "by")) {
		bound_query_addf(q, "%s", q->by ? q->by : "Labels[{by:String}]");
	} else {
		add_shared(q, name, len);
	}
}

static void expand(struct bound_query *q, const struct query_filter *f, const char *template)
{
	const char *mark, *end;

	for (; (mark = strstr(template, "${")) && (end = strchr(mark, '}')); template = end + 1) {
		bound_query_note(q, buf_add(&q->sql, template, (size_t)(mark - template)));
		add_piece(q, f, mark + 2, (size_t)(end - mark - 2));
	}
	bound_query_note(q, buf_add(&q->sql, template, strlen(template)));
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

void bound_query_add_sql(struct bound_query *q, const struct query_filter *f, const char *template)
{
	size_t start = q->sql.len;

	expand(q, f, template);
	if (q->error == 0 && q->side[0])
		bound_query_note(q, rename_params(q, start));
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
		.lane = q->lane,
		.ticket = q->ticket,
		.sql = q->sql.data,
		.params = q->params,
		.n_params = q->n_params,
		.format = "RowBinary",
	};
	int r;

	if (q->error < 0)
		return q->error;
	r = store_query(q->store, &sq, &q->answer, err);
	if (r == -EREMOTEIO && q->answer.len > 0)
		return explain(q, r, err);
	return r == -EFBIG ? err_set(err, r, "the answer is too large, ask for a shorter range")
			   : r;
}

int bound_query_run_optional(struct bound_query *q, const char *missing, struct err *err)
{
	int r = bound_query_run(q, err), code;

	if (r != -EREMOTEIO)
		return r;
	code = store_exception_code(q->answer.data, q->answer.len);
	return code == CODE_UNKNOWN_TABLE || code == CODE_ACCESS_DENIED
		       ? err_set(err, -ENOSYS, "%s", missing)
		       : r;
}

int bound_query_ask(struct bound_query *q, struct store *store, const struct query_filter *f,
		    size_t max_answer_bytes, const char *template, struct err *err)
{
	bound_query_init(q, store, f, max_answer_bytes);
	bound_query_add_sql(q, f, template);
	return bound_query_run(q, err);
}

int bound_query_check(const struct rowbinary_reader *r, struct err *err)
{
	return rowbinary_reader_finish(r) < 0
		       ? err_set(err, -EBADMSG, "unexpected answer of the store")
		       : 0;
}
