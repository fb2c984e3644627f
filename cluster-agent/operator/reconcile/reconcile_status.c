#include "cluster-agent/operator/reconcile/reconcile_status.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/text/rfc3339.h"

/* The CRD allows 32768 for a message. A person reads the first ones. */
#define MESSAGE_BYTES ((size_t)4096)
#define ALL_BYTES ((size_t)256 * 1024)

struct condition {
	const char *type;
	bool is_true;
	const char *reason;
	const struct buf *message;
};

/* ---- messages ---- */

static int add_separator(struct buf *b)
{
	return b->len > 0 ? buf_add(b, "; ", 2) : 0;
}

static int add_problems(struct buf *b, const struct spec_problem_list *l)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++) {
		r = add_separator(b);
		if (r == 0)
			r = buf_addf(b, l->at[i].text ? "%s: %s" : "%s%s", l->at[i].path,
				     l->at[i].text ? l->at[i].text : "");
	}
	if (r == 0 && l->n_more > 0)
		r = buf_addf(b, "; and %zu more", l->n_more);
	return r;
}

static bool is_unready(const struct workload_state *w)
{
	return !workload_is_ready(w);
}

static bool is_progressing(const struct workload_state *w)
{
	return is_unready(w) || w->updated < w->wanted;
}

static bool any_fails(const struct reconcile_status_input *in)
{
	for (size_t i = 0; i < in->n_workloads; i++)
		if (in->workloads[i].failing && is_unready(&in->workloads[i]))
			return true;
	return false;
}

static int add_workload(struct buf *b, const struct workload_state *w)
{
	const char *kind = object_kinds[w->kind].kind;
	int r = add_separator(b);

	if (r < 0)
		return r;
	if (!w->observed)
		return buf_addf(b, "%s %s: its controller has not seen the last change", kind,
				w->name);
	if (w->nowhere)
		return buf_addf(b,
				"%s %s: no node matches its nodeSelector, affinity and tolerations",
				kind, w->name);
	if (w->ready < w->wanted)
		return buf_addf(b, "%s %s: %lld of %lld pods ready%s%s", kind, w->name,
				(long long)w->ready, (long long)w->wanted, *w->why ? ": " : "",
				w->why);
	return buf_addf(b, "%s %s: %lld of %lld pods are of the latest version%s", kind, w->name,
			(long long)w->updated, (long long)w->wanted,
			w->by_hand ? ": its strategy is OnDelete, so delete the others" : "");
}

static int add_workloads(struct buf *b, const struct reconcile_status_input *in,
			 bool (*wanted)(const struct workload_state *w))
{
	int r = 0;

	for (size_t i = 0; i < in->n_workloads && r == 0; i++)
		if (wanted(&in->workloads[i]))
			r = add_workload(b, &in->workloads[i]);
	return r;
}

/* Cuts a long message between two characters. */
static int finish_message(struct buf *b, const char *if_empty)
{
	size_t len = MESSAGE_BYTES - 4;

	if (b->len == 0)
		return buf_addf(b, "%s", if_empty);
	if (b->len < MESSAGE_BYTES)
		return 0;
	while (len > 0 && ((unsigned char)b->data[len] & 0xc0) == 0x80)
		len--;
	buf_truncate(b, len);
	return buf_add(b, "...", 3);
}

/* ---- conditions ---- */

static json_t *make_condition(const struct reconcile_status_input *in, const struct condition *c)
{
	const json_t *before = object_condition(json_object_get(in->resource, "status"), c->type);
	const char *old_status = json_string_value(json_object_get(before, "status"));
	const char *since = json_string_value(json_object_get(before, "lastTransitionTime"));
	const char *status = c->is_true ? "True" : "False";
	char now[32];

	rfc3339_format_s(in->now_ns, now);
	if (!since || !old_status || strcmp(old_status, status) != 0)
		since = now;
	return json_pack("{s:s s:s s:s s:s s:s s:o}", "type", c->type, "status", status, "reason",
			 c->reason, "message", c->message->data, "lastTransitionTime", since,
			 "observedGeneration",
			 json_integer(json_integer_value(json_object_get(
				 json_object_get(in->resource, "metadata"), "generation"))));
}

static int append_condition(json_t *conditions, const struct reconcile_status_input *in,
			    const struct condition *c)
{
	return json_array_append_new(conditions, make_condition(in, c)) < 0 ? -ENOMEM : 0;
}

/* Objects that nobody asks for, and that stay because something is wrong. */
static int add_kept(struct buf *b, size_t n)
{
	return buf_addf(b, "; until this is corrected, %zu %s that %s no longer asked for %s", n,
			n == 1 ? "object" : "objects", n == 1 ? "is" : "are",
			n == 1 ? "stays" : "stay");
}

static int add_degraded(json_t *conditions, const struct reconcile_status_input *in, struct buf *b)
{
	bool wrong = in->wrong->n > 0, failed = in->failed->n > 0;
	int r = add_problems(b, in->wrong);

	if (r == 0)
		r = add_problems(b, in->failed);
	if (r == 0 && in->n_kept > 0)
		r = add_kept(b, in->n_kept);
	if (r == 0)
		r = finish_message(b, "all objects are applied");
	if (r < 0)
		return r;
	return append_condition(conditions, in,
				&(struct condition){"Degraded", wrong || failed,
						    failed  ? "ObjectsNotApplied"
						    : wrong ? "FieldsWrong"
							    : "AsExpected",
						    b});
}

/* kubectl shows it beside Ready: it is all that some look at. */
static const char *ready_reason(const struct reconcile_status_input *in, bool unready)
{
	if (unready)
		return any_fails(in) ? "PodsFailing" : "PodsNotReady";
	if (in->failed->n > 0)
		return "ObjectsNotApplied";
	return in->wrong->n > 0 ? "FieldsWrong" : "PodsReady";
}

static const char *ready_message(const struct reconcile_status_input *in)
{
	if (in->failed->n > 0)
		return "some objects are not applied: see Degraded";
	return in->wrong->n > 0
		       ? "all pods are ready, without the fields that are wrong: see Degraded"
		       : "all pods are ready";
}

static int add_ready(json_t *conditions, const struct reconcile_status_input *in, struct buf *b)
{
	bool unready;
	int r = add_workloads(b, in, is_unready);

	unready = b->len > 0;
	if (r == 0)
		r = finish_message(b, ready_message(in));
	if (r < 0)
		return r;
	return append_condition(conditions, in,
				&(struct condition){"Ready", in->failed->n == 0 && !unready,
						    ready_reason(in, unready), b});
}

/* Objects that are tried again; Degraded says what is wrong with each. */
static int add_unapplied(struct buf *b, const struct spec_problem_list *failed)
{
	int r = 0;

	for (size_t i = 0; i < failed->n && r == 0; i++) {
		r = add_separator(b);
		if (r == 0)
			r = buf_addf(b, "%s: not applied yet, see Degraded", failed->at[i].path);
	}
	return r;
}

static int add_progressing(json_t *conditions, const struct reconcile_status_input *in,
			   struct buf *b)
{
	bool starting;
	int r = add_workloads(b, in, is_progressing);

	starting = b->len > 0;
	if (r == 0)
		r = add_unapplied(b, in->failed);
	if (r == 0)
		r = finish_message(b, "all pods are of the latest version");
	if (r < 0)
		return r;
	return append_condition(conditions, in,
				&(struct condition){"Progressing", starting || in->failed->n > 0,
						    starting            ? "PodsStarting"
						    : in->failed->n > 0 ? "ObjectsNotApplied"
									: "PodsUpToDate",
						    b});
}

/* Fields are of no use to profiling; what has more to say is a variable of nobody. */
static const char *not_used_reason(const struct spec_problem_list *unused)
{
	for (size_t i = 0; i < unused->n; i++)
		if (unused->at[i].text)
			return "VariablesUnknown";
	return unused->n > 0 ? "NotAboutProfiling" : "AllUsed";
}

static int add_not_used(json_t *conditions, const struct reconcile_status_input *in, struct buf *b)
{
	int r = add_problems(b, in->unused);

	if (r == 0)
		r = finish_message(b, "all fields have an effect");
	if (r < 0)
		return r;
	return append_condition(conditions, in,
				&(struct condition){"FieldsNotUsed", in->unused->n > 0,
						    not_used_reason(in->unused), b});
}

static int add_conditions(json_t *conditions, const struct reconcile_status_input *in)
{
	static int (*const adders[])(json_t * conditions, const struct reconcile_status_input *in,
				     struct buf *b) = {
		add_ready,
		add_progressing,
		add_degraded,
		add_not_used,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(adders) && r == 0; i++) {
		CLEANUP(buf_fini) struct buf b;

		buf_init(&b, ALL_BYTES);
		r = adders[i](conditions, in, &b);
	}
	return r;
}

static int add_errors(json_t *errors, const struct spec_problem_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (json_array_append_new(errors,
					  json_pack("s++", l->at[i].path, ": ", l->at[i].text)) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- status ---- */

static json_t *make_status(const struct reconcile_status_input *in)
{
	const json_t *metadata = json_object_get(in->resource, "metadata");
	bool fine = in->wrong->n == 0 && in->failed->n == 0;
	json_t *conditions = json_array(), *errors = json_array();

	if (!conditions || !errors || add_conditions(conditions, in) < 0 ||
	    add_errors(errors, in->wrong) < 0 || add_errors(errors, in->failed) < 0) {
		json_decref(conditions);
		json_decref(errors);
		return NULL;
	}
	return json_pack("{s:s s:o s:I s:o}", "status", fine ? "OK" : "Misconfigured", "errors",
			 errors, "observedGeneration",
			 json_integer_value(json_object_get(metadata, "generation")), "conditions",
			 conditions);
}

int reconcile_status_make(json_t **ret, const struct reconcile_status_input *in)
{
	json_t *status = make_status(in);

	*ret = NULL;
	if (!status)
		return -ENOMEM;
	if (json_equal(status, json_object_get(in->resource, "status")))
		json_decref(status);
	else
		*ret = status;
	return 0;
}
