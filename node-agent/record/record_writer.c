#include "node-agent/record/record_writer.h"

#include <errno.h>

#include "common/data/gzip.h"
#include "common/flame/flame_columns.h"
#include "common/flame/flame_svg.h"
#include "common/flame/folded_text.h"
#include "common/flame/pprof_stacks.h"
#include "common/flame/speedscope_json.h"
#include "common/pprof/go_pgo.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"
#include "node-agent/record/record_page.h"

#define PAGE_MAX_BYTES ((size_t)4 << 20) /* without the data */
#define JSON_MAX_BYTES ((size_t)256 << 20)

static int write_pprof(struct buf *out, const struct record_document *d, bool for_go_pgo,
		       struct err *err)
{
	int r;

	if (!for_go_pgo)
		return d->pprof->len > 0 ? buf_add(out, d->pprof->data, d->pprof->len)
					 : pprof_encode(d->profile, out);
	r = go_pgo_make(d->profile, d->type.index, err);
	return r == 0 ? pprof_encode(d->profile, out) : r;
}

/* ---- folded ---- */

static int add_folded(void *ctx, const struct flame_frame *frames, size_t n,
		      struct stack_value value)
{
	return folded_text_add(ctx, frames, n, value, false);
}

/* ---- speedscope ---- */

static int add_speedscope(void *ctx, const struct flame_frame *frames, size_t n,
			  struct stack_value value)
{
	return speedscope_json_add(ctx, frames, n, value);
}

static int write_speedscope(struct buf *out, const struct record_document *d)
{
	const struct speedscope_texts texts = {"coroot-node-agent", d->title, d->type.unit,
					       d->title, NULL};
	CLEANUP(speedscope_json_fini) struct speedscope_json s = {0};
	int r = speedscope_json_init(&s, d->profile->n_samples + 1);

	if (r < 0)
		return r;
	r = pprof_stacks_each(d->profile, d->type.index, add_speedscope, &s);
	if (r < 0)
		return r;
	return speedscope_json_write(&s, &texts, out);
}

/* ---- the page ---- */

static void put_quality(struct json_writer *w, const struct record_document *d)
{
	struct record_stacks stacks;

	record_stacks_count(d->profile, &stacks);
	json_key(w, "quality");
	json_open(w, '{');
	json_member_int(w, "samples", (int64_t)stacks.n);
	json_member_int(w, "truncated", (int64_t)stacks.n_cut);
	json_member_int(w, "lost", 0);
	json_key(w, "lostReasons");
	json_open(w, '{');
	json_close(w, '}');
	json_close(w, '}');
}

/* As the page's server answers /api/profile. */
static int put_json(struct buf *out, const struct record_document *d)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_text(&w, "service", d->title);
	json_member_text(&w, "subtitle", d->subtitle);
	json_member_text(&w, "type", d->type.name);
	json_member_text(&w, "unit", d->type.unit);
	json_member_int(&w, "from", d->start_ns / (int64_t)NS_PER_MS);
	json_member_int(&w, "to", d->end_ns / (int64_t)NS_PER_MS);
	json_member_int(&w, "total", d->view->node_total[0]);
	put_quality(&w, d);
	flame_columns_put(&w, NULL, d->view, false);
	flame_columns_put_functions(&w, NULL, d->view, false);
	json_member_int(&w, "stacks", d->profile->n_samples);
	json_member_int(&w, "stacksCut", 0);
	json_member_int(&w, "valueCut", 0);
	json_close(&w, '}');
	return json_writer_finish(&w);
}

/* In HTML, "</script" would end the data; '<' stands in strings only, where it may be escaped. */
static int add_escaped(struct buf *out, const struct buf *json)
{
	const char *p = json->data, *end = json->data + json->len;
	int r = 0;

	while (r == 0 && p < end) {
		const char *lt = memchr(p, '<', (size_t)(end - p));

		r = buf_add(out, p, (size_t)((lt ? lt : end) - p));
		if (r == 0 && lt)
			r = buf_add(out, "\\u003c", 6);
		p = lt ? lt + 1 : end;
	}
	return r;
}

static int write_html(struct buf *out, const struct record_document *d)
{
	CLEANUP(buf_fini) struct buf page, json;
	const char *marker;
	int r;

	buf_init(&page, PAGE_MAX_BYTES);
	buf_init(&json, JSON_MAX_BYTES);
	r = gzip_inflate(record_page_gzip, record_page_len, &page);
	if (r == 0)
		r = put_json(&json, d);
	if (r < 0)
		return r;
	marker = memmem(page.data, page.len, RECORD_PAGE_DATA, strlen(RECORD_PAGE_DATA));
	if (!marker)
		return -EBADMSG;
	r = buf_add(out, page.data, (size_t)(marker - page.data));
	if (r == 0)
		r = add_escaped(out, &json);
	marker += strlen(RECORD_PAGE_DATA);
	return r == 0 ? buf_add(out, marker, (size_t)(page.data + page.len - marker)) : r;
}

int record_writer_write(struct buf *out, const struct record_document *d,
			enum recording_format format, bool for_go_pgo, struct err *err)
{
	const struct flame_svg_texts svg = {d->title, d->subtitle, d->type.format};

	switch (format) {
	case RECORDING_FORMAT_PPROF:
		return write_pprof(out, d, for_go_pgo, err);
	case RECORDING_FORMAT_FOLDED:
		/* counts of samples, if there are any: what tools for folded stacks show */
		return pprof_stacks_each(d->profile, d->type.is_cpu ? 0 : d->type.index, add_folded,
					 out);
	case RECORDING_FORMAT_SPEEDSCOPE:
		return write_speedscope(out, d);
	case RECORDING_FORMAT_SVG:
		return flame_svg_write(out, d->view, &svg);
	case RECORDING_FORMAT_HTML:
		return write_html(out, d);
	case RECORDING_FORMAT_NONE:
		break;
	}
	return 0;
}
