#include "node-agent/record/record_report.h"

#include <errno.h>
#include <inttypes.h>

#include "common/system/clock.h"
#include "common/text/parse.h"
#include "common/text/utf8.h"

#define FIGURES_WIDTH 40u /* columns before the name */
#define NAME_MIN 20u

static void format_time(int64_t ns, char ret[static FLAME_SVG_VALUE_BYTES])
{
	double s = (double)ns / (double)NS_PER_S;

	if (s < 1)
		snprintf(ret, FLAME_SVG_VALUE_BYTES, "%.0f ms", s * 1000);
	else if (s < 600)
		snprintf(ret, FLAME_SVG_VALUE_BYTES, "%.2f s", s);
	else
		snprintf(ret, FLAME_SVG_VALUE_BYTES, "%.1f min", s / 60);
}

static void format_bytes(int64_t bytes, char ret[static FLAME_SVG_VALUE_BYTES])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes;
	size_t i = 0;

	for (; v >= 1024 && i + 1 < ARRAY_SIZE(units); i++)
		v /= 1024;
	snprintf(ret, FLAME_SVG_VALUE_BYTES, i > 0 ? "%.1f %s" : "%.0f %s", v, units[i]);
}

static void format_count(int64_t n, char ret[static FLAME_SVG_VALUE_BYTES])
{
	snprintf(ret, FLAME_SVG_VALUE_BYTES, "%" PRId64, n);
}

static const struct {
	const char *type; /* in the pprof */
	struct record_type shown;
} known[] = {
	{"cpu", {0, true, false, "ebpf:cpu:nanoseconds", "nanoseconds", "CPU time", format_time}},
	{"go_runtime:heap_inuse_space:bytes",
	 {0, false, false, "go_runtime:heap_inuse_space:bytes", "bytes", "memory in use",
	  format_bytes}},
	{"go:goroutine_goroutine:count",
	 {0, false, true, "go:goroutine_goroutine:count", "count", "goroutines", format_count}},
};

static bool is_text(const struct profile_string *s, const char *text)
{
	return s->len == strlen(text) && memcmp(s->data, text, s->len) == 0;
}

void record_type_find(const struct profile *p, struct record_type *ret)
{
	*ret = (struct record_type){.name = "count", .unit = "count", .what = "samples"};
	ret->format = format_count;
	ret->index = p->n_types > 0 ? p->n_types - 1 : 0;
	for (uint32_t i = 0; i < p->n_types; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(known); k++) {
			if (!is_text(&p->types[i].type, known[k].type))
				continue;
			*ret = known[k].shown;
			ret->index = i;
		}
	}
}

/* Reads "unwind:no_table=12"; false if it is another comment, or of a single binary. */
static bool read_outcome(const struct profile_string *comment, const char **name, size_t *name_len,
			 uint64_t *n)
{
	static const char prefix[] = "unwind:";
	size_t start = sizeof(prefix) - 1;
	const char *equals = memrchr(comment->data, '=', comment->len), *end;

	if (comment->len < start || memcmp(comment->data, prefix, start) != 0 || !equals)
		return false;
	end = comment->data + comment->len;
	*name = comment->data + start;
	*name_len = (size_t)(equals - *name);
	return !memchr(*name, ':', *name_len) &&
	       parse_u64(equals + 1, (size_t)(end - equals - 1), 0, UINT64_MAX, n) == 0;
}

void record_stacks_count(const struct profile *p, struct record_stacks *ret)
{
	*ret = (struct record_stacks){0};
	for (uint32_t i = 0; i < p->n_comments; i++) {
		struct profile_string name;
		uint64_t n;

		if (!read_outcome(&p->comments[i], &name.data, &name.len, &n))
			continue;
		ret->n += n;
		if (is_text(&name, "guessed"))
			ret->n_guessed += n;
		else if (!is_text(&name, "complete"))
			ret->n_cut += n;
	}
}

/* ---- the table ---- */

/* The name, or its beginning if that does not fit. */
static int put_name(struct buf *out, const char *name, size_t len, size_t room)
{
	size_t from = out->len, shown = len > room ? room - 2 : len;
	int r = buf_add(out, name, shown);

	if (r < 0)
		return r;
	buf_truncate(out, from + utf8_make_printable(out->data + from, out->len - from));
	return shown < len ? buf_add(out, "..", 2) : 0;
}

static int put_file(struct buf *out, const char *file, size_t len, size_t room)
{
	const char *base = memrchr(file, '/', len);
	size_t skipped = base ? (size_t)(base + 1 - file) : 0;
	int r;

	len -= skipped;
	if (len == 0 || len + 2 > room)
		return 0;
	r = buf_add(out, "  ", 2);
	return r == 0 ? put_name(out, file + skipped, len, len) : r;
}

static int put_function(struct buf *out, const struct flame_view *v, const struct flame_function *f,
			const struct record_type *type, size_t room)
{
	double whole = v->node_total[0] > 0 ? (double)v->node_total[0] : 1;
	char self[FLAME_SVG_VALUE_BYTES], total[FLAME_SVG_VALUE_BYTES];
	size_t name_len = v->name_lens[f->name];
	int r;

	type->format(f->self, self);
	type->format(f->total, total);
	r = buf_addf(out, "%10s %6.1f%%  %10s %6.1f%%  ", self, 100 * (double)f->self / whole,
		     total, 100 * (double)f->total / whole);
	if (r < 0)
		return r;
	r = put_name(out, v->names[f->name], name_len, room);
	if (r < 0)
		return r;
	if (name_len < room)
		r = put_file(out, v->files[f->file], v->file_lens[f->file], room - name_len);
	if (r < 0)
		return r;
	return buf_add(out, "\n", 1);
}

static int by_total(const void *a, const void *b, void *functions)
{
	const struct flame_function *f = functions;
	const struct flame_function *x = &f[*(const uint32_t *)a], *y = &f[*(const uint32_t *)b];

	return (x->total < y->total) - (x->total > y->total);
}

/* The functions in the order of the table, as numbers; NULL: no memory. */
static uint32_t *order_of(const struct flame_view *v, const struct record_type *type)
{
	uint32_t *order = calloc((size_t)v->n_functions + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < v->n_functions; i++)
		order[i] = i;
	if (order && type->by_total)
		qsort_r(order, v->n_functions, sizeof(*order), by_total, v->functions);
	return order;
}

int record_report_write(struct buf *out, const struct flame_view *v, const struct record_type *type,
			unsigned width)
{
	size_t room = width > FIGURES_WIDTH + NAME_MIN ? width - FIGURES_WIDTH : NAME_MIN;
	AUTO_FREE uint32_t *order = order_of(v, type);
	uint32_t n = 0;
	int r = !order ? -ENOMEM
		       : buf_addf(out, "%10s %7s  %10s %7s  function\n", "self", "", "total", "");

	for (uint32_t i = 0; r == 0 && i < v->n_functions && n < RECORD_REPORT_FUNCTIONS; i++) {
		const struct flame_function *f = &v->functions[order[i]];

		if ((type->by_total ? f->total : f->self) <= 0)
			continue;
		r = put_function(out, v, f, type, room);
		n++;
	}
	return r;
}
