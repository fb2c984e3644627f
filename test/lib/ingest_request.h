/* A request of Pyroscope's /ingest and the parts that it becomes. */
#ifndef TEST_LIB_INGEST_REQUEST_H
#define TEST_LIB_INGEST_REQUEST_H

#include <errno.h>

#include "cluster-agent/push/ingest_body.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define NOW_NS (INT64_C(1800000000) * (int64_t)NS_PER_S)

struct fixture {
	struct arena arena;
	struct ingest_request req;
	struct upload_parts parts;
	struct buf body;
	struct err err;
};

static inline void setup(struct fixture *f)
{
	*f = (struct fixture){.req = {.query = {.name = "app"}, .now_ns = NOW_NS}};
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&f->body, 1 << 20);
}

static inline void teardown(struct fixture *f)
{
	arena_fini(&f->arena);
	buf_fini(&f->body);
}

static inline void add(struct fixture *f, const char *text)
{
	assert_int_equal(buf_add(&f->body, text, strlen(text)), 0);
}

static inline int decode(struct fixture *f)
{
	f->err.msg[0] = '\0';
	return ingest_body_decode(&f->parts, &f->arena, &f->req, f->body.data, f->body.len,
				  &f->err);
}

static inline void decodes(struct fixture *f, size_t n_parts)
{
	if (decode(f) < 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(f->parts.n, n_parts);
}

static inline void refuses(struct fixture *f, const char *reason)
{
	assert_int_equal(decode(f), -EBADMSG);
	assert_string_equal(f->err.msg, reason);
}

static inline const struct profile *profile(const struct fixture *f)
{
	return &f->parts.items[0].profile;
}

static inline const struct profile_line *line_of(const struct profile *p, uint32_t sample,
						 uint32_t frame)
{
	return &p->locations[p->samples[sample].locations[frame]].lines[0];
}

static inline void frame_is(const struct fixture *f, uint32_t frame, const char *name,
			    const char *file, int64_t line)
{
	const struct profile *p = profile(f);
	const struct profile_line *l = line_of(p, 0, frame);

	assert_string_equal(p->functions[l->function].name.data, name);
	assert_string_equal(p->functions[l->function].file.data, file);
	assert_int_equal(l->line, line);
}

static inline void type_is(const struct fixture *f, uint32_t i, const char *type, int64_t total)
{
	const struct profile *p = profile(f);

	assert_true(i < p->n_types);
	assert_string_equal(p->types[i].type.data, type);
	assert_int_equal(made_profile_sum(p, i), total);
}

#endif /* TEST_LIB_INGEST_REQUEST_H */
