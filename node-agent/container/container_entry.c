/*
 * The facts of each source are kept apart and put together when a name is made, so that a
 * source may correct itself, and the order in which sources answer does not matter. A source
 * that is not trusted, the runtime of some user, is believed only about containers that nobody
 * else knows, lest it rename those of others.
 *
 * A *round* asks the sources that may add something. A container that nobody knows may be about
 * to appear: runtimes list some only when they run. So the first answers do not settle its name;
 * later rounds come after growing pauses and no longer keep anybody waiting. If a source fails,
 * nobody waits for it, and the pauses stay below a minute. When it answers again, the directory
 * begins a new round at once.
 */
#include "node-agent/container/container_entry.h"

#include <errno.h>

#include "common/system/clock.h"

#define N_TEXTS 11
#define ROUNDS_WAITED_FOR 2

static const uint64_t pauses_s[] = {1, 3, 10, 60, 600};
#define PAUSES_AFTER_FAILURE (ARRAY_SIZE(pauses_s) - 1)

struct kept_facts {
	struct kept_facts *next;
	unsigned source;
	unsigned rank;
	bool is_trusted;
	struct container_facts f; /* NULL for what is not known */
	char text[];
};

/* The places of all texts, in one order for copying and merging. */
static void text_fields(struct container_facts *f, const char **ret[static N_TEXTS])
{
	const char **const fields[N_TEXTS] = {
		&f->id,      &f->name,  &f->runtime, &f->image,       &f->namespace, &f->pod,
		&f->pod_uid, &f->owner, &f->path,    &f->likely_name, &f->labels,
	};

	memcpy(ret, fields, sizeof(fields));
}

struct container_entry *container_entry_new(const char *id)
{
	size_t size = strlen(id) + 1;
	struct container_entry *e = table_malloc(sizeof(*e) + size);

	if (!e)
		return NULL;
	*e = (struct container_entry){.next_round_ns = UINT64_MAX};
	memcpy(e->id, id, size);
	return e;
}

void container_entry_forget_name(struct container_entry *e)
{
	workload_unref(e->named);
	e->named = NULL;
}

void container_entry_free(struct container_entry *e)
{
	struct kept_facts *k, *next;

	for (k = e->facts; k; k = next) {
		next = k->next;
		free(k);
	}
	container_entry_forget_name(e);
	workload_unref(e->raw);
	table_free(e);
}

static struct kept_facts *keep(const struct container_facts *facts)
{
	struct container_facts f = *facts;
	const char **fields[N_TEXTS];
	struct kept_facts *k;
	size_t size = 0;
	char *at;

	text_fields(&f, fields);
	for (size_t i = 0; i < N_TEXTS; i++)
		size += *fields[i] ? strlen(*fields[i]) + 1 : 0;
	k = malloc(sizeof(*k) + size);
	if (!k)
		return NULL;
	at = k->text;
	for (size_t i = 0; i < N_TEXTS; i++) {
		const char *text = *fields[i];
		size_t n = text && text[0] ? strlen(text) + 1 : 0;

		*fields[i] = n > 0 ? memcpy(at, text, n) : NULL;
		at += n;
	}
	k->f = f;
	return k;
}

static bool are_equal(const struct kept_facts *a, const struct kept_facts *b)
{
	struct container_facts x = a->f, y = b->f;
	const char **xs[N_TEXTS], **ys[N_TEXTS];

	text_fields(&x, xs);
	text_fields(&y, ys);
	for (size_t i = 0; i < N_TEXTS; i++) {
		if (strcmp(*xs[i] ? *xs[i] : "", *ys[i] ? *ys[i] : "") != 0)
			return false;
	}
	return x.is_static == y.is_static && x.sandbox == y.sandbox &&
	       x.profiling_disabled == y.profiling_disabled;
}

/* Returns what from had said before, out of the list, or NULL. */
static struct kept_facts *take_old(struct container_entry *e, unsigned source)
{
	for (struct kept_facts **at = &e->facts; *at; at = &(*at)->next) {
		struct kept_facts *k = *at;

		if (k->source != source)
			continue;
		*at = k->next;
		return k;
	}
	return NULL;
}

int container_entry_put(struct container_entry *e, const struct facts_origin *from,
			const struct container_facts *f)
{
	struct kept_facts **at = &e->facts, *k = keep(f);
	AUTO_FREE struct kept_facts *old = NULL;

	if (!k)
		return -ENOMEM;
	k->source = from->source;
	k->rank = from->rank;
	k->is_trusted = from->is_trusted;
	old = take_old(e, from->source);
	while (*at &&
	       ((*at)->rank < k->rank || ((*at)->rank == k->rank && (*at)->source < k->source)))
		at = &(*at)->next;
	k->next = *at;
	*at = k;
	if (old && are_equal(old, k))
		return 0;
	container_entry_forget_name(e);
	return 1;
}

uint64_t container_entry_known_to(const struct container_entry *e)
{
	uint64_t bits = 0;

	for (const struct kept_facts *k = e->facts; k; k = k->next)
		bits |= UINT64_C(1) << k->source;
	return bits;
}

static void add_facts(struct container_facts *ret, const struct container_facts *f)
{
	const char **to[N_TEXTS], **from[N_TEXTS];
	struct container_facts copy = *f;

	text_fields(ret, to);
	text_fields(&copy, from);
	for (size_t i = 0; i < N_TEXTS; i++) {
		if (!*to[i])
			*to[i] = *from[i];
	}
	ret->is_static |= f->is_static;
	ret->sandbox |= f->sandbox;
	if (f->annotation_is_live && !ret->annotation_is_live)
		ret->profiling_disabled = f->profiling_disabled;
	else if (f->annotation_is_live == ret->annotation_is_live)
		ret->profiling_disabled |= f->profiling_disabled;
	ret->annotation_is_live |= f->annotation_is_live;
}

static bool has_trusted_facts(const struct container_entry *e)
{
	for (const struct kept_facts *k = e->facts; k; k = k->next) {
		if (k->is_trusted)
			return true;
	}
	return false;
}

void container_entry_facts(const struct container_entry *e, struct container_facts *ret)
{
	bool any_trusted = has_trusted_facts(e);

	*ret = (struct container_facts){0};
	for (const struct kept_facts *k = e->facts; k; k = k->next) {
		if (any_trusted && !k->is_trusted)
			continue;
		add_facts(ret, &k->f);
		if (!any_trusted)
			return;
	}
}

bool container_entry_has_name(const struct container_entry *e)
{
	struct container_facts f;

	container_entry_facts(e, &f);
	return container_facts_have_name(&f);
}

bool container_entry_is_complete(const struct container_entry *e)
{
	struct container_facts f;

	if (!has_trusted_facts(e))
		return false;
	container_entry_facts(e, &f);
	return container_facts_have_name(&f) && !container_facts_are_guess(&f);
}

/* ---- rounds ---- */

void container_entry_begin_round(struct container_entry *e, const struct round_sources *s)
{
	uint64_t wanted = container_entry_has_name(e) ? ~container_entry_known_to(e) : UINT64_MAX;

	e->next_round_ns = UINT64_MAX;
	e->failed = (e->failed && e->asked != 0) || (s->failing & wanted) != 0;
	e->queued = s->available & wanted & ~e->asked;
	e->is_asking = (e->queued | e->asked) != 0;
	e->is_served = e->is_asking || ((s->failing | s->absent) & wanted) != 0;
}

bool container_entry_end_round(struct container_entry *e, uint64_t now_ns)
{
	bool was_settled = e->settled;
	size_t i, n_pauses = e->failed ? PAUSES_AFTER_FAILURE : ARRAY_SIZE(pauses_s);

	if (container_entry_is_complete(e)) {
		e->settled = true;
		return !was_settled;
	}
	if (!e->is_served) {
		e->settled = true; /* there is nobody to ask */
		return !was_settled;
	}
	i = e->n_unknown < n_pauses ? e->n_unknown : n_pauses - 1;
	e->n_unknown++;
	e->next_round_ns = now_ns + pauses_s[i] * NS_PER_S;
	/* a name without the owner is good enough once everybody was asked */
	if (e->failed || !e->is_asking || e->n_unknown >= ROUNDS_WAITED_FOR ||
	    container_entry_has_name(e))
		e->settled = true;
	return e->settled && !was_settled;
}

/* ---- names ---- */

struct workload *container_entry_name(struct container_entry *e,
				      const struct container_name_rules *rules)
{
	struct container_facts f;

	if (!e->named && !e->facts)
		e->named = workload_ref(e->raw);
	if (!e->named) {
		container_entry_facts(e, &f);
		if (container_name(&e->named, e->raw, &f, rules) < 0)
			return e->raw;
	}
	return e->named;
}
