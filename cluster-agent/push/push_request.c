/*
 * The request is walked twice: to count the profiles, so that the parts are one array, and to
 * decode them, series by series. JSON becomes protobuf first.
 */
#include "cluster-agent/push/push_request.h"

#include <errno.h>

#include "cluster-agent/push/foreign_part.h"
#include "common/limits.h"
#include "common/pprof/pprof_wire.h"
#include "common/protobuf/json_message.h"
#include "proto/push.pb-c.h"

struct decoding {
	struct upload_parts *ret;
	struct arena *arena;
	int64_t now_ns;
	uint64_t left_bytes; /* to be inflated */
	struct err *err;
};

/* ---- parts ---- */

static int make_parts(struct decoding *d, size_t n)
{
	if (n > UPLOAD_PARTS_MAX)
		return err_set(d->err, -EFBIG, "more than %u profiles", UPLOAD_PARTS_MAX);
	d->ret->items = arena_calloc(d->arena, n + 1, sizeof(*d->ret->items));
	return d->ret->items ? 0 : arena_error(d->arena, n * sizeof(*d->ret->items));
}

static int new_labels(struct decoding *d, struct series_labels **ret)
{
	*ret = arena_calloc(d->arena, 1, sizeof(**ret));
	if (!*ret)
		return arena_error(d->arena, sizeof(**ret));
	(*ret)->arena = d->arena;
	return 0;
}

static int add_profile(struct decoding *d, const struct series_labels *labels, const void *data,
		       size_t len)
{
	const struct foreign_context context = {.labels = labels, .now_ns = d->now_ns};
	struct profile profile;
	int r = foreign_pprof_decode(&profile, d->arena, data, len, &d->left_bytes, d->err);

	return r < 0 ? r
		     : foreign_part_make(&d->ret->items[d->ret->n++], &profile, &context, d->err);
}

/* ---- protobuf ---- */

static int broken(const struct decoding *d)
{
	return err_set(d->err, -EBADMSG, "not a valid PushRequest");
}

/* Returns 1 and the next field of bytes with that number, 0 at the end, or -EBADMSG. */
static int next_bytes(struct wire_reader *r, uint32_t number, struct wire_reader *ret)
{
	struct wire_field f;
	int n;

	while ((n = wire_reader_read_field(r, &f)) > 0) {
		if (f.number != number)
			continue;
		if (f.type != WIRE_BYTES)
			return -EBADMSG;
		*ret = (struct wire_reader){f.data, f.data + f.len};
		return 1;
	}
	return n;
}

static struct row_text text_of(const struct wire_reader *r)
{
	return (struct row_text){(const char *)r->p, (size_t)(r->end - r->p)};
}

/* The last value of a field counts, "" without any. */
static int read_text(struct wire_reader message, uint32_t number, struct row_text *ret)
{
	struct wire_reader value;
	int n;

	*ret = (struct row_text){"", 0};
	while ((n = next_bytes(&message, number, &value)) > 0)
		*ret = text_of(&value);
	return n;
}

static int read_labels(struct decoding *d, struct wire_reader series, struct series_labels *labels)
{
	struct wire_reader pair;
	struct row_text name, value;
	int n;

	while ((n = next_bytes(&series, 1, &pair)) > 0) {
		if (read_text(pair, 1, &name) < 0 || read_text(pair, 2, &value) < 0)
			return broken(d);
		n = series_labels_add(labels, name, value, d->err);
		if (n < 0)
			return n;
	}
	return n < 0 ? broken(d) : 0;
}

static int read_series(struct decoding *d, struct wire_reader series)
{
	struct series_labels *labels;
	struct wire_reader sample;
	struct row_text profile;
	int n = new_labels(d, &labels);

	if (n == 0)
		n = read_labels(d, series, labels);
	if (n < 0)
		return n;
	while ((n = next_bytes(&series, 2, &sample)) > 0) {
		if (read_text(sample, 1, &profile) < 0)
			return broken(d);
		n = add_profile(d, labels, profile.data, profile.len);
		if (n < 0)
			return n;
	}
	return n < 0 ? broken(d) : 0;
}

static int count_profiles(struct decoding *d, struct wire_reader request, size_t *ret)
{
	struct wire_reader series, sample;
	int n;

	*ret = 0;
	while ((n = next_bytes(&request, 1, &series)) > 0) {
		while ((n = next_bytes(&series, 2, &sample)) > 0)
			++*ret;
		if (n < 0)
			break;
	}
	return n < 0 ? broken(d) : 0;
}

static int read_protobuf(struct decoding *d, const struct foreign_body *body)
{
	const uint8_t *p = (const uint8_t *)body->data;
	struct wire_reader request = {p, p + body->len}, series;
	size_t n_profiles;
	int n = count_profiles(d, request, &n_profiles);

	if (n == 0)
		n = make_parts(d, n_profiles);
	if (n < 0)
		return n;
	while ((n = next_bytes(&request, 1, &series)) > 0) {
		n = read_series(d, series);
		if (n < 0)
			return n;
	}
	return n < 0 ? broken(d) : 0;
}

/* ---- JSON ---- */

static int read_json(struct decoding *d, const struct foreign_body *body)
{
	CLEANUP(foreign_body_fini) struct foreign_body message;
	int r;

	foreign_body_init(&message, NULL, 0, &d->left_bytes);
	r = json_message_encode(&push__v1__push_request__descriptor, body->data, body->len,
				&message.storage, d->err);
	if (r < 0)
		return r;
	message.data = message.storage.data ? message.storage.data : "";
	message.len = message.storage.len;
	return read_protobuf(d, &message);
}

int push_request_decode(struct upload_parts *ret, struct arena *arena, const void *ctx,
			const void *body, size_t len, struct err *err)
{
	const struct push_request *req = ctx;
	struct decoding d = {.ret = ret,
			     .arena = arena,
			     .now_ns = req->now_ns,
			     .left_bytes = LIMIT_UPLOAD_INFLATED_BYTES,
			     .err = err};
	CLEANUP(foreign_body_fini) struct foreign_body b;
	int r;

	*ret = (struct upload_parts){.n = 0};
	foreign_body_init(&b, body, len, &d.left_bytes);
	r = foreign_body_inflate(&b, err);
	if (r < 0)
		return r;
	return req->codec == PUSH_JSON ? read_json(&d, &b) : read_protobuf(&d, &b);
}
