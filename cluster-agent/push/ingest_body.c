/*
 * "format" does not always tell the type of the body: several clients send multipart/form-data
 * without it, or a pprof. A pprof has control characters within its first bytes (lengths of
 * fields), text has none, and a recording begins with "FLR".
 */
#include "cluster-agent/push/ingest_body.h"

#include <errno.h>

#include "cluster-agent/push/folded_stacks.h"
#include "cluster-agent/push/foreign_part.h"
#include "cluster-agent/push/jfr_recording.h"
#include "cluster-agent/push/node_stacks.h"
#include "cluster-agent/push/previous_profile.h"
#include "cluster-agent/push/speedscope_profiles.h"
#include "common/http/multipart.h"
#include "common/limits.h"

struct decoding {
	struct upload_parts *ret;
	struct arena *arena;
	struct ingest_params *params; /* in the arena: parts borrow its labels */
	struct foreign_context context;
	uint64_t left_bytes; /* to be inflated */
	struct err *err;
};

struct text {
	const char *data; /* NULL: there is none */
	size_t len;
};

#define FORM_PARTS_MAX 16u

/* What is read of a form. */
enum form_part { PART_JFR, PART_PROFILE, PART_PREVIOUS, PART_CONFIG, FORM_PARTS };
static const char *const form_parts[FORM_PARTS] = {
	[PART_JFR] = "jfr",
	[PART_PROFILE] = "profile",
	[PART_PREVIOUS] = "prev_profile",
	[PART_CONFIG] = "sample_type_config",
};

static int add_part(struct decoding *d, const struct profile *p)
{
	return foreign_part_make(&d->ret->items[d->ret->n++], p, &d->context, d->err);
}

/* ---- formats ---- */

static int read_jfr(struct decoding *d, const struct text *body)
{
	struct jfr_profiles profiles = {.n = 0};
	CLEANUP(foreign_body_fini) struct foreign_body b;
	int r;

	foreign_body_init(&b, body->data, body->len, &d->left_bytes);
	r = foreign_body_inflate(&b, d->err);
	if (r < 0)
		return r;
	r = jfr_recording_read(&profiles, d->arena, b.data, b.len, d->params->period_ns, d->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < profiles.n; i++) {
		r = add_part(d, &profiles.items[i]);
		if (r < 0)
			return r;
	}
	profile_losses_add(&d->ret->losses, &profiles.losses);
	if (profiles.note[0])
		ingest_params_note(d->params, "%s", profiles.note);
	return 0;
}

static int read_folded(struct decoding *d, const struct text *body)
{
	const struct ingest_params *p = d->params;
	struct profile profile;
	struct folded_config cfg;
	int r = ingest_params_split_name(d->params);

	if (r < 0)
		return r;
	cfg = (struct folded_config){
		.form = p->format == INGEST_FORMAT_LINES ? FOLDED_LINES : FOLDED_VALUES,
		.unit = p->unit,
		.unit_is_default = !p->has_unit,
	};
	r = folded_stacks_read(&profile, d->arena, body->data, body->len, &cfg, d->err);
	if (r < 0)
		return r;
	d->context.metric = p->metric;
	d->context.period_ns = profile.period;
	return add_part(d, &profile);
}

static int read_config(struct decoding *d, const struct text *json, struct sample_type_config *ret)
{
	CLEANUP(foreign_body_fini) struct foreign_body b;
	int r;

	*ret = (struct sample_type_config){.metric = ""};
	foreign_body_init(&b, json->data ?: "", json->len, &d->left_bytes);
	if (!json->data)
		return 0;
	r = foreign_body_inflate(&b, d->err);
	if (r < 0)
		return r;
	r = sample_type_config_parse(ret, b.data, b.len, d->err);
	if (r < 0)
		return r;
	if (ret->metric[0])
		d->context.metric = ret->metric;
	return 0;
}

static int read_pprof(struct decoding *d, const struct text *body, const struct text *previous,
		      const struct text *config_json)
{
	struct sample_type_config config;
	struct profile profile, before;
	int r = read_config(d, config_json, &config);

	if (r == 0)
		r = foreign_pprof_decode(&profile, d->arena, body->data, body->len, &d->left_bytes,
					 d->err);
	if (r == 0 && previous->data) {
		r = foreign_pprof_decode(&before, d->arena, previous->data, previous->len,
					 &d->left_bytes, d->err);
		if (r < 0)
			return err_wrap(d->err, r, "prev_profile");
		r = previous_profile_subtract(&profile, &before, &config, d->err);
	}
	if (r < 0)
		return r;
	/* a pprof that only counts samples needs a period: its own or the one of the request */
	if (profile.period <= 0)
		d->context.period_ns = d->params->period_ns;
	return add_part(d, &profile);
}

static int read_speedscope(struct decoding *d, const struct text *body)
{
	struct speedscope_profiles profiles;
	int r = ingest_params_split_name(d->params);

	if (r == 0)
		r = speedscope_profiles_read(&profiles, d->arena, body->data, body->len,
					     &d->params->unit, d->err);
	if (r < 0)
		return r;
	d->context.metric = d->params->metric;
	for (size_t i = 0; r == 0 && i < profiles.n; i++) {
		d->context.period_ns = profiles.items[i].period;
		r = add_part(d, &profiles.items[i]);
	}
	return r;
}

static int read_nodes(struct decoding *d, const struct text *body, enum node_form form)
{
	struct profile profile = {.n_types = 0};
	int r = ingest_params_split_name(d->params);

	if (r == 0)
		r = node_stacks_read(&profile, d->arena, body->data, body->len,
				     &(struct node_config){form, d->params->unit}, d->err);
	if (r < 0)
		return r;
	d->context.metric = d->params->metric;
	d->context.period_ns = profile.period;
	return add_part(d, &profile);
}

/* ---- the body ---- */

static bool begins_with(const struct text *t, const char *magic, size_t len)
{
	return t->len >= len && memcmp(t->data, magic, len) == 0;
}

static bool is_binary(const struct text *t)
{
	size_t n = t->len < 4096 ? t->len : 4096;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)t->data[i];

		if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
			return true;
	}
	return false;
}

static enum ingest_format format_of(const struct text *body)
{
	if (begins_with(body, "FLR\0", 4))
		return INGEST_FORMAT_JFR;
	if (is_binary(body))
		return INGEST_FORMAT_PPROF;
	return speedscope_detect(body->data, body->len) ? INGEST_FORMAT_SPEEDSCOPE
							: INGEST_FORMAT_FOLDED;
}

/* The types of Pyroscope's old clients. */
static enum ingest_format format_of_type(const char *content_type)
{
	if (strcmp(content_type, "binary/octet-stream+trie") == 0)
		return INGEST_FORMAT_TRIE;
	return strcmp(content_type, "binary/octet-stream+tree") == 0 ? INGEST_FORMAT_TREE
								     : INGEST_FORMAT_NONE;
}

static int read_plain(struct decoding *d, const struct text *body)
{
	enum ingest_format format = d->params->format;
	const struct text none = {NULL, 0};

	if (format == INGEST_FORMAT_NONE)
		format = format_of(body);
	switch (format) {
	case INGEST_FORMAT_JFR:
		return read_jfr(d, body);
	case INGEST_FORMAT_PPROF:
		return read_pprof(d, body, &none, &none);
	case INGEST_FORMAT_SPEEDSCOPE:
		return read_speedscope(d, body);
	case INGEST_FORMAT_TRIE:
		return read_nodes(d, body, NODE_TRIE);
	case INGEST_FORMAT_TREE:
		return read_nodes(d, body, NODE_TREE);
	default:
		return read_folded(d, body);
	}
}

/* The first part of each name; those that are missing have no data. */
static int read_parts(struct decoding *d, struct multipart_reader *m, struct text ret[FORM_PARTS])
{
	struct multipart_part part;
	unsigned n, name;
	int r;

	for (n = 0; (r = multipart_next(m, &part)) > 0; n++) {
		if (n == FORM_PARTS_MAX)
			return err_set(d->err, -EBADMSG,
				       "more than %u parts in multipart/form-data", FORM_PARTS_MAX);
		for (name = 0; name < FORM_PARTS; name++)
			if (!ret[name].data && part.name_len == strlen(form_parts[name]) &&
			    memcmp(part.name, form_parts[name], part.name_len) == 0)
				ret[name] = (struct text){part.data, part.len};
	}
	return r < 0 ? err_set(d->err, r, "the body is not valid multipart/form-data") : 0;
}

static int read_form(struct decoding *d, struct multipart_reader *m)
{
	struct text parts[FORM_PARTS] = {{NULL, 0}}, *profile = &parts[PART_PROFILE];
	int r = read_parts(d, m, parts);

	if (r < 0)
		return r;
	if (parts[PART_JFR].data)
		return read_jfr(d, &parts[PART_JFR]);
	if (!profile->data)
		return err_set(d->err, -EBADMSG,
			       "multipart/form-data has neither \"profile\" nor \"jfr\"");
	if (d->params->format == INGEST_FORMAT_NONE &&
	    speedscope_detect(profile->data, profile->len))
		d->params->format = INGEST_FORMAT_SPEEDSCOPE;
	if (d->params->format != INGEST_FORMAT_NONE && d->params->format != INGEST_FORMAT_PPROF)
		return read_plain(d, profile);
	return read_pprof(d, profile, &parts[PART_PREVIOUS], &parts[PART_CONFIG]);
}

static int read_body(struct decoding *d, const struct ingest_request *req, const void *data,
		     size_t len)
{
	CLEANUP(foreign_body_fini) struct foreign_body b;
	struct multipart_reader form;
	struct text body;
	int is_form = multipart_begin(&form, req->content_type), r;

	foreign_body_init(&b, data, len, &d->left_bytes);
	if (is_form < 0)
		return err_set(d->err, is_form, "Content-Type has no valid boundary");
	r = foreign_body_inflate(&b, d->err);
	if (r < 0)
		return r;
	body = (struct text){b.data, b.len};
	if (body.len == 0)
		return err_set(d->err, -EBADMSG, "the body is empty");
	form.p = body.data;
	form.end = body.data + body.len;
	return is_form ? read_form(d, &form) : read_plain(d, &body);
}

int ingest_body_decode(struct upload_parts *ret, struct arena *arena, const void *ctx,
		       const void *body, size_t len, struct err *err)
{
	const struct ingest_request *req = ctx;
	struct decoding d = {.ret = ret,
			     .arena = arena,
			     .params = arena_calloc(arena, 1, sizeof(*d.params)),
			     .left_bytes = LIMIT_UPLOAD_INFLATED_BYTES,
			     .err = err};
	int r;

	*ret = (struct upload_parts){.items = arena_calloc(arena, JFR_GROUPS, sizeof(*ret->items))};
	if (!d.params || !ret->items)
		return arena_error(arena, sizeof(*d.params));
	r = ingest_params_parse(d.params, arena, &req->query, req->now_ns, err);
	if (r < 0)
		return r;
	if (d.params->format == INGEST_FORMAT_NONE && req->content_type)
		d.params->format = format_of_type(req->content_type);
	d.context = (struct foreign_context){
		.labels = &d.params->labels,
		.start_ns = d.params->start_ns,
		.end_ns = d.params->end_ns,
		.now_ns = req->now_ns,
	};
	r = read_body(&d, req, body, len);
	if (r == 0 && d.params->note[0])
		ret->note = d.params->note;
	return r;
}
