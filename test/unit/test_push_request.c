/* Bodies of PusherService/Push → parts. */
#include <errno.h>

#include "cluster-agent/push/push_request.h"
#include "common/data/buf.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_encode.h"
#include "common/text/base64.h"
#include "proto/push.pb-c.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define MAX_SERIES 3

struct fixture {
	struct arena arena;
	struct buf pprof;
	struct buf body;
	struct upload_parts parts;
	struct err err;
};

static void setup(struct fixture *f)
{
	const struct made_sample sample = {.stack = {1, 2}, .depth = 2, .values = {3, 30}};
	struct profile p;

	*f = (struct fixture){.parts = {.n = 0}};
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&f->pprof, 1 << 20);
	buf_init(&f->body, 4 << 20);
	p = made_profile(&f->arena, "samples/count cpu/nanoseconds", &sample, 1);
	p.time_ns = 1000;
	p.duration_ns = 10;
	assert_int_equal(pprof_encode(&p, &f->pprof), 0);
}

static void teardown(struct fixture *f)
{
	arena_fini(&f->arena);
	buf_fini(&f->pprof);
	buf_fini(&f->body);
}

/* Packs n series of n_samples profiles each; services are "s0", "s1", …; none if named is false. */
static void pack(struct fixture *f, size_t n, size_t n_samples, bool named)
{
	Push__V1__LabelPair label = PUSH__V1__LABEL_PAIR__INIT, metric = PUSH__V1__LABEL_PAIR__INIT;
	Push__V1__LabelPair *labels[] = {&metric, &label};
	Push__V1__RawSample sample = PUSH__V1__RAW_SAMPLE__INIT, *samples[MAX_SERIES];
	char name[] = "__name__", value[] = "process_cpu", service_name[] = "service_name";
	size_t len;

	f->body.len = 0;
	metric.name = name;
	metric.value = value;
	label.name = service_name;
	sample.raw_profile.data = (uint8_t *)f->pprof.data;
	sample.raw_profile.len = f->pprof.len;
	for (size_t i = 0; i < MAX_SERIES; i++)
		samples[i] = &sample;
	/* one request after the other: protobuf joins them */
	for (size_t i = 0; i < n; i++) {
		Push__V1__RawProfileSeries series = PUSH__V1__RAW_PROFILE_SERIES__INIT,
					   *all[] = {&series};
		Push__V1__PushRequest req = PUSH__V1__PUSH_REQUEST__INIT;
		char service[32];

		snprintf(service, sizeof(service), "s%zu", i);
		label.value = service;
		series.labels = labels;
		series.n_labels = named ? 2 : 1;
		series.samples = samples;
		series.n_samples = n_samples;
		req.series = all;
		req.n_series = 1;
		len = push__v1__push_request__get_packed_size(&req);
		assert_int_equal(buf_reserve(&f->body, len), 0);
		push__v1__push_request__pack(&req, (uint8_t *)f->body.data + f->body.len);
		f->body.len += len;
	}
}

static int decode(struct fixture *f, enum push_codec codec)
{
	const struct push_request req = {.codec = codec, .now_ns = 5000};

	f->err.msg[0] = '\0';
	return push_request_decode(&f->parts, &f->arena, &req, f->body.data, f->body.len, &f->err);
}

static void decodes(struct fixture *f, enum push_codec codec, size_t n)
{
	if (decode(f, codec) < 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(f->parts.n, n);
}

static void check_part(const struct fixture *f, size_t i, const char *service)
{
	const struct upload_part *part = &f->parts.items[i];

	assert_string_equal(part->service.data, service);
	assert_int_equal(part->profile.n_types, 1);
	assert_string_equal(part->profile.types[0].type.data, "go:profile_cpu:nanoseconds");
	assert_int_equal(made_profile_sum(&part->profile, 0), 30);
	assert_int_equal(part->profile.time_ns, 1010);
	assert_int_equal(part->n_labels, 0);
}

TEST(each_profile_is_a_part)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	pack(&f, 2, 2, true);
	decodes(&f, PUSH_PROTOBUF, 4);
	check_part(&f, 0, "s0");
	check_part(&f, 1, "s0");
	check_part(&f, 3, "s1");
}

TEST(without_a_service_it_is_unspecified)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	pack(&f, 1, 1, false);
	decodes(&f, PUSH_PROTOBUF, 1);
	check_part(&f, 0, "unspecified");
}

TEST(json_is_the_same)
{
	CLEANUP(teardown) struct fixture f;
	CLEANUP(buf_fini) struct buf text;

	setup(&f);
	buf_init(&text, 1 << 20);
	assert_int_equal(base64_encode(f.pprof.data, f.pprof.len, &text), 0);
	assert_int_equal(buf_addf(&f.body,
				  "{\"series\":[{\"labels\":[{\"name\":\"service_name\",\"value\":"
				  "\"json\"}],\"samples\":[{\"rawProfile\":\"%s\",\"ID\":\"1\"},"
				  "{\"raw_profile\":\"%s\"}]}]}",
				  text.data, text.data),
			 0);
	decodes(&f, PUSH_JSON, 2);
	check_part(&f, 0, "json");
	check_part(&f, 1, "json");
}

TEST(an_empty_request_is_no_profile)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	decodes(&f, PUSH_PROTOBUF, 0);
	assert_int_equal(buf_addf(&f.body, "{}"), 0);
	decodes(&f, PUSH_JSON, 0);
}

TEST(one_bad_profile_spoils_all)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	pack(&f, 2, 1, true);
	f.body.data[f.body.len - 1] ^= 0x55; /* the checksum of the last gzip */
	assert_int_equal(decode(&f, PUSH_PROTOBUF), -EBADMSG);
	assert_string_equal(f.err.msg, "not valid gzip");
	f.body.len--;
	assert_int_equal(decode(&f, PUSH_PROTOBUF), -EBADMSG);
	assert_string_equal(f.err.msg, "not a valid PushRequest");
}

TEST(profiles_are_limited)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.pprof.len = 0;
	pack(&f, UPLOAD_PARTS_MAX / 2 + 1, 2, true);
	assert_int_equal(decode(&f, PUSH_PROTOBUF), -EFBIG);
	assert_string_equal(f.err.msg, "more than 4096 profiles");
}

/* Makes the pprof inflate to n bytes more, which no reader of it uses. */
static void pad(struct fixture *f, size_t n)
{
	CLEANUP(buf_fini) struct buf raw;
	size_t head;

	buf_init(&raw, n + (1 << 20));
	assert_int_equal(gzip_inflate(f->pprof.data, f->pprof.len, &raw), 0);
	/* field 20, of n bytes */
	assert_int_equal(buf_add(&raw, "\xa2\x01", 2), 0);
	for (head = n; head >= 0x80; head >>= 7)
		assert_int_equal(buf_add(&raw, &(char){(char)(head | 0x80)}, 1), 0);
	assert_int_equal(buf_add(&raw, &(char){(char)head}, 1), 0);
	assert_int_equal(buf_reserve(&raw, n), 0);
	memset(raw.data + raw.len, 0, n);
	raw.len += n;
	f->pprof.len = 0;
	assert_int_equal(gzip_deflate(raw.data, raw.len, 1, &f->pprof), 0);
}

/* Thousands of small bodies that inflate to 100 MB each would keep a CPU busy for minutes. */
TEST(all_profiles_share_a_limit)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	pad(&f, 100 * MIB);
	pack(&f, 1, 1, true);
	decodes(&f, PUSH_PROTOBUF, 1);
	pack(&f, 2, 1, true);
	assert_int_equal(decode(&f, PUSH_PROTOBUF), -EFBIG);
	assert_string_equal(f.err.msg, "the profile inflates to more than 134217728 bytes");
}
