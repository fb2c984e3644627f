#include <errno.h>

#include "common/flame/speedscope_json.h"
#include "test/lib/unit.h"

#define F(s)                       \
	{                          \
		(s), sizeof(s) - 1 \
	}

static const struct flame_frame stack[] = {F("leaf a.c:3"), F("main :0")};
static const struct speedscope_texts texts = {"coroot-cluster-agent", "a:b:bytes", "bytes", "svc",
					      NULL};

TEST(a_frame_is_shared_and_values_are_weights)
{
	CLEANUP(speedscope_json_fini) struct speedscope_json s;
	CLEANUP(buf_fini) struct buf out;

	struct speedscope_texts compared = texts;

	compared.base = "svc";
	buf_init(&out, 1 << 20);
	assert_int_equal(speedscope_json_init(&s, 3), 0);
	assert_int_equal(speedscope_json_add(&s, stack, 2, (struct stack_value){7, 0}), 0);
	assert_int_equal(speedscope_json_add(&s, stack + 1, 1, (struct stack_value){0, 5}), 0);
	assert_int_equal(speedscope_json_add(&s, stack, 0, (struct stack_value){1, 2}), 0);
	assert_int_equal(speedscope_json_add(&s, stack, 2, (struct stack_value){1, 0}), -EFBIG);
	assert_int_equal(speedscope_json_write(&s, &compared, &out), 0);
	assert_string_equal(
		out.data,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"name\":\"a:b:bytes\",\"exporter\":\"coroot-cluster-agent\","
		"\"activeProfileIndex\":0,\"shared\":{\"frames\":[{\"name\":\"\"},"
		"{\"name\":\"leaf\",\"file\":\"a.c\",\"line\":3},{\"name\":\"main\"}]},"
		"\"profiles\":[{\"type\":\"sampled\",\"name\":\"svc\",\"unit\":\"bytes\","
		"\"startValue\":0,\"samples\":[[2,1],[]],\"weights\":[7,1],\"endValue\":8},"
		"{\"type\":\"sampled\",\"name\":\"svc\",\"unit\":\"bytes\",\"startValue\":0,"
		"\"samples\":[[2],[]],\"weights\":[5,2],\"endValue\":7}]}");
}

static int make(void *arg)
{
	CLEANUP(speedscope_json_fini) struct speedscope_json s = {0};
	CLEANUP(buf_fini) struct buf out;
	int r;

	(void)arg;
	buf_init(&out, 1 << 20);
	r = speedscope_json_init(&s, 3);
	if (r == 0)
		r = speedscope_json_add(&s, stack, 2, (struct stack_value){7, 0});
	return r == 0 ? speedscope_json_write(&s, &texts, &out) : r;
}

TEST(every_failed_allocation_is_reported)
{
	check_oom(make, NULL);
}
