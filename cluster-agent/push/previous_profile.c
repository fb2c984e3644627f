#include "cluster-agent/push/previous_profile.h"

#include <errno.h>
#include <jansson.h>

#include "common/data/number_index.h"
#include "common/limits.h"
#include "common/pprof/merged_stacks.h"

struct difference {
	struct profile *p;
	struct merged_stacks now;
	struct merged_stacks before;
	struct number_index by_hash; /* of before */
	bool cumulative[LIMIT_PPROF_TYPES];
};

static bool same(const struct profile_string *a, const struct profile_string *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static bool same_types(const struct profile *a, const struct profile *b)
{
	if (a->n_types != b->n_types)
		return false;
	for (uint32_t i = 0; i < a->n_types; i++)
		if (!same(&a->types[i].type, &b->types[i].type) ||
		    !same(&a->types[i].unit, &b->types[i].unit))
			return false;
	return true;
}

static bool is_cumulative(const struct sample_type_config *config, const struct profile_string *t)
{
	static const char *const go_types[] = {"alloc_objects", "alloc_space", "contentions",
					       "delay"};

	if (config->n > 0)
		return sample_type_is_cumulative(config, t->data, t->len);
	for (size_t i = 0; i < ARRAY_SIZE(go_types); i++)
		if (t->len == strlen(go_types[i]) && memcmp(t->data, go_types[i], t->len) == 0)
			return true;
	return false;
}

/* The values of a stack before, or NULL if it is new. */
static const int64_t *values_before(const struct difference *d, uint32_t row)
{
	uint32_t at;

	if (!number_index_find(&d->by_hash, d->now.stacks[row].hash, d->before.stacks,
			       sizeof(*d->before.stacks), &at))
		return NULL;
	return d->before.values + (size_t)at * d->before.n_columns;
}

static bool has_restarted(const struct difference *d)
{
	for (uint32_t row = 0; row < d->now.n; row++) {
		const int64_t *before = values_before(d, row);
		const int64_t *now = d->now.values + (size_t)row * d->now.n_columns;

		for (uint32_t t = 0; before && t < d->now.n_columns; t++)
			if (d->cumulative[t] && now[t] < before[t])
				return true;
	}
	return false;
}

static void subtract(struct difference *d)
{
	struct profile *p = d->p;
	uint32_t n = 0;

	for (uint32_t row = 0; row < d->now.n; row++) {
		const int64_t *before = values_before(d, row);
		int64_t *now = d->now.values + (size_t)row * d->now.n_columns;
		struct profile_sample s = p->samples[d->now.stacks[row].sample];

		for (uint32_t t = 0; before && t < d->now.n_columns; t++)
			if (d->cumulative[t])
				now[t] -= before[t];
		s.values = now;
		/* rows are in the order of samples, and no more than these */
		p->samples[n++] = s;
	}
	p->n_samples = n;
}

static int merge(struct difference *d, const struct profile *prev)
{
	uint32_t columns[LIMIT_PPROF_TYPES];
	int r;

	for (uint32_t i = 0; i < d->p->n_types; i++)
		columns[i] = i;
	r = merged_stacks_make(&d->now, d->p, columns, d->p->n_types);
	if (r < 0)
		return r;
	r = merged_stacks_make(&d->before, prev, columns, prev->n_types);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < d->before.n; i++) {
		r = number_index_add(&d->by_hash, number_hash(d->before.stacks[i].hash), i);
		if (r < 0)
			return r;
	}
	return 0;
}

int previous_profile_subtract(struct profile *p, const struct profile *prev,
			      const struct sample_type_config *config, struct err *err)
{
	struct difference d = {.p = p, .by_hash = {.arena = p->arena}};
	int r;

	if (!same_types(p, prev))
		return err_set(err, -EBADMSG, "profile and prev_profile have different types");
	for (uint32_t i = 0; i < p->n_types; i++)
		d.cumulative[i] = is_cumulative(config, &p->types[i].type);
	r = merge(&d, prev);
	if (r < 0)
		return r;
	profile_losses_add(&p->losses, &d.now.losses);
	if (!has_restarted(&d))
		subtract(&d);
	return 0;
}

/* ---- sample_type_config ---- */

static void free_json(json_t **j)
{
	json_decref(*j);
}

static int broken(struct err *err)
{
	return err_set(err, -EBADMSG, "sample_type_config is not a JSON object of sample types");
}

static void read_metric(struct sample_type_config *c, const json_t *type)
{
	const char *shown = json_string_value(json_object_get(type, "display-name"));

	if (shown && strncmp(shown, "mutex", 5) == 0)
		c->metric = "mutex";
	else if (shown && strncmp(shown, "block", 5) == 0)
		c->metric = "block";
}

int sample_type_config_parse(struct sample_type_config *ret, const char *json, size_t len,
			     struct err *err)
{
	CLEANUP(free_json) json_t *all = NULL;
	const char *name;
	json_t *type;

	*ret = (struct sample_type_config){.metric = ""};
	if (len > SAMPLE_TYPE_CONFIG_MAX_BYTES)
		return broken(err);
	all = json_loadb(json, len, 0, NULL);
	if (!json_is_object(all))
		return broken(err);
	json_object_foreach (all, name, type) {
		struct sample_type *t = &ret->types[ret->n];

		if (!json_is_object(type) || ret->n == SAMPLE_TYPES_MAX ||
		    strlen(name) >= sizeof(t->name))
			return broken(err);
		memcpy(t->name, name, strlen(name) + 1);
		t->cumulative = json_is_true(json_object_get(type, "cumulative"));
		read_metric(ret, type);
		ret->n++;
	}
	return 0;
}

bool sample_type_is_cumulative(const struct sample_type_config *c, const char *name, size_t len)
{
	for (size_t i = 0; i < c->n; i++)
		if (strlen(c->types[i].name) == len && memcmp(c->types[i].name, name, len) == 0)
			return c->types[i].cumulative;
	return false;
}
