/*
 * The registry behind /metrics.
 *
 * It only borrows: tables of definitions and arrays of values belong to the modules, and a scrape
 * reads the values without a lock, since each is an atomic of its own. Registration checks a
 * table against Prometheus' conventions and against all tables before it, because one bad name
 * makes Prometheus reject the whole scrape. A mistake fails the start of the agent instead, and
 * every unit test that registers the module's metrics.
 */
#include "common/telemetry/metrics.h"

#include <errno.h>
#include <inttypes.h>

#define NAME_BYTES 128 /* of a full name, NUL included */

/* One registered table. */
struct metrics_block {
	const struct metric_table *table;
	const char *prefix;    /* "" if there is none */
	struct metric *values; /* NULL: families, whose lines write() writes */
	metric_family_fn *write;
	void *ctx;
};

struct metrics {
	struct metrics_block *blocks;
	size_t n_blocks;
};

int metrics_new(struct metrics **ret)
{
	struct metrics *ms = calloc(1, sizeof(*ms));

	if (!ms)
		return -ENOMEM;
	*ret = ms;
	return 0;
}

void metrics_free(struct metrics *ms)
{
	if (!ms)
		return;
	free(ms->blocks);
	free(ms);
}

/* ---- checks ------------------------------------------------------------------------------ */

static const char *prefix_of(const struct metrics_block *b, const struct metric_def *d)
{
	return d->name[0] == '_' ? b->prefix : "";
}

static bool ends_in_total(const char *name)
{
	static const char suffix[] = "_total";
	size_t len = strlen(name);

	return len > strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0;
}

static bool name_is_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_:";

	return *name && *name != '_' && !(*name >= '0' && *name <= '9') &&
	       name[strspn(name, allowed)] == '\0';
}

static bool is_registered(const struct metrics *ms, const char *full_name)
{
	for (size_t b = 0; b < ms->n_blocks; b++) {
		for (size_t i = 0; i < ms->blocks[b].table->n; i++) {
			const struct metric_def *d = &ms->blocks[b].table->defs[i];
			const char *prefix = prefix_of(&ms->blocks[b], d);
			size_t len = strlen(prefix);

			if (strncmp(full_name, prefix, len) == 0 &&
			    strcmp(full_name + len, d->name) == 0)
				return true;
		}
	}
	return false;
}

static bool repeats_within(const struct metric_def *defs, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(defs[j].name, defs[i].name) == 0)
			return true;
	return false;
}

/* Whether the i-th entry only adds labels to the one before. */
static bool continues(const struct metrics_block *b, size_t i)
{
	const struct metric_def *d = &b->table->defs[i];

	return b->values && i > 0 && strcmp(d[-1].name, d->name) == 0;
}

static bool is_well_formed(const struct metrics *ms, const struct metrics_block *b, size_t i)
{
	const struct metric_def *d = &b->table->defs[i];
	char name[NAME_BYTES];

	if (!d->name)
		return false;
	if (continues(b, i))
		return d[-1].kind == d->kind;
	if (snprintf(name, sizeof(name), "%s%s", prefix_of(b, d), d->name) >= NAME_BYTES)
		return false;
	return d->help && name_is_valid(name) &&
	       ends_in_total(d->name) == (d->kind == METRIC_COUNTER) &&
	       !repeats_within(b->table->defs, i) && !is_registered(ms, name);
}

/* ---- registration ------------------------------------------------------------------------ */

static int add_block(struct metrics *ms, const struct metrics_block *b)
{
	struct metrics_block *blocks;

	for (size_t i = 0; i < b->table->n; i++)
		if (!is_well_formed(ms, b, i))
			return -EINVAL;
	blocks = reallocarray(ms->blocks, ms->n_blocks + 1, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	ms->blocks = blocks;
	ms->blocks[ms->n_blocks++] = *b;
	return 0;
}

int metrics_register(struct metrics *ms, const struct metric_table *t, struct metric *values,
		     void *ctx)
{
	return metrics_register_as(ms, "", t, values, ctx);
}

int metrics_register_as(struct metrics *ms, const char *prefix, const struct metric_table *t,
			struct metric *values, void *ctx)
{
	return add_block(ms, &(struct metrics_block){t, prefix, values, NULL, ctx});
}

int metrics_register_families(struct metrics *ms, const char *prefix, const struct metric_table *t,
			      metric_family_fn *fn, void *ctx)
{
	return add_block(ms, &(struct metrics_block){t, prefix, NULL, fn, ctx});
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Appends s with the characters escaped that would end the text it stands in. */
static int add_escaped(struct buf *out, const char *s, bool escape_quotes)
{
	int r = 0;

	for (; *s && r == 0; s++) {
		if (*s == '\n')
			r = buf_add(out, "\\n", 2);
		else if (*s == '\\' || (*s == '"' && escape_quotes))
			r = buf_addf(out, "\\%c", *s);
		else
			r = buf_add(out, s, 1);
	}
	return r;
}

int metrics_add_label_value(struct buf *out, const char *text)
{
	return add_escaped(out, text, true);
}

static int write_head(struct buf *out, const struct metrics_block *b, const struct metric_def *d)
{
	const char *prefix = prefix_of(b, d);
	int r;

	r = buf_addf(out, "# HELP %s%s ", prefix, d->name);
	if (r < 0)
		return r;
	r = add_escaped(out, d->help, false);
	if (r < 0)
		return r;
	return buf_addf(out, "\n# TYPE %s%s %s\n", prefix, d->name,
			metric_kind_counts(d->kind) ? "counter" : "gauge");
}

static int write_value(struct buf *out, const struct metrics_block *b, size_t i)
{
	const struct metric_def *d = &b->table->defs[i];
	uint64_t value = d->read ? d->read(b->ctx) : metric_get(&b->values[i]);
	int r;

	r = buf_addf(out, "%s%s", prefix_of(b, d), d->name);
	if (r == 0 && d->labels)
		r = buf_addf(out, "{%s}", d->labels);
	if (r < 0)
		return r;
	if (d->scale == 0)
		return buf_addf(out, " %" PRIu64 "\n", value);
	return buf_addf(out, " %.15g\n", (double)value * d->scale);
}

static int write_block(struct buf *out, const struct metrics_block *b)
{
	int r = 0;

	for (size_t i = 0; i < b->table->n && r == 0; i++) {
		if (!continues(b, i))
			r = write_head(out, b, &b->table->defs[i]);
		if (r == 0)
			r = b->values ? write_value(out, b, i) : b->write(b->ctx, i, out);
	}
	return r;
}

int metrics_write(struct metrics *ms, struct buf *out)
{
	int r = 0;

	for (size_t b = 0; b < ms->n_blocks && r == 0; b++)
		r = write_block(out, &ms->blocks[b]);
	return r;
}
