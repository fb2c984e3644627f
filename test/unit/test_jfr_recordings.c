/*
 * Real recordings, of async-profiler and of the JDK, against what the JDK's own reader says of them
 * (test/data/jfr/golden.js), and what is left of them after their bytes were damaged.
 */
#include <errno.h>

#include "common/data/gzip.h"
#include "common/data/table.h"
#include "common/err.h"
#include "common/jfr/jfr_stacks.h"
#include "common/system/fs.h"
#include "test/lib/unit.h"

#define DATA "test/data/jfr/"

static const char *const recordings[] = {"async", "wall", "nobatch", "tsc", "jdk"};

struct line {
	UT_hash_handle hh;
	int64_t count;
	int64_t amount;
	char key[]; /* kind, class, frames */
};

static const char *const kinds[JFR_KIND_MAX] = {
	[JFR_CPU] = "cpu",     [JFR_WALL] = "wall", [JFR_NATIVE] = "native",
	[JFR_ALLOC] = "alloc", [JFR_LIVE] = "live", [JFR_LOCK] = "lock",
	[JFR_PARK] = "park",   [JFR_WAIT] = "wait", [JFR_MALLOC] = "malloc",
};

static void load(const char *name, struct buf *ret)
{
	CLEANUP(buf_fini) struct buf packed;
	char path[128];

	buf_init(&packed, 1 << 20);
	buf_init(ret, 8 << 20);
	snprintf(path, sizeof(path), DATA "%s.jfr.gz", name);
	assert_int_equal(fs_read_file(path, &packed), 0);
	assert_int_equal(gzip_inflate(packed.data, packed.len, ret), 0);
}

static ssize_t read_buf(void *ctx, void *to, size_t len, uint64_t offset)
{
	const struct buf *b = ctx;

	if (offset >= b->len)
		return 0;
	if (len > b->len - offset)
		len = b->len - offset;
	memcpy(to, b->data + offset, len);
	return (ssize_t)len;
}

static int add_line(struct line **lines, const char *key, size_t len, int64_t count, int64_t amount)
{
	struct line *l;

	HASH_FIND(hh, *lines, key, len, l);
	if (!l) {
		l = calloc(1, sizeof(*l) + len + 1);
		if (!l)
			return -ENOMEM;
		memcpy(l->key, key, len);
		HASH_ADD(hh, *lines, key, len, l);
	}
	l->count += count;
	l->amount += amount;
	return 0;
}

static void free_lines(struct line **lines)
{
	struct line *l, *next;

	HASH_ITER(hh, *lines, l, next)
	{
		HASH_DEL(*lines, l);
		free(l);
	}
}

static int add_stack(void *ctx, const struct jfr_stack *s)
{
	CLEANUP(buf_fini) struct buf key;

	buf_init(&key, 1 << 20);
	if (buf_addf(&key, "%s\t%s", kinds[s->kind], s->class_name ? s->class_name : "-") < 0)
		return -ENOMEM;
	assert_true(s->n_frames > 0 && !s->truncated);
	for (size_t i = 0; i < s->n_frames; i++) {
		const struct jfr_frame *f = &s->frames[i];
		int r = f->type == JFR_FRAME_JAVA ? buf_addf(&key, "\t%s:%u", f->function, f->line)
						  : buf_addf(&key, "\t%s", f->function);

		if (r < 0)
			return r;
		if (f->type == JFR_FRAME_KERNEL)
			assert_string_equal(f->file, "[kernel]");
		else if (f->type == JFR_FRAME_NATIVE && f->file[0] != '\0')
			assert_true(f->file[0] == '[' && f->file[strlen(f->file) - 1] == ']');
	}
	return add_line(ctx, key.data, key.len, s->count, s->amount);
}

static int ignore_stack(void *ctx, const struct jfr_stack *s)
{
	(void)ctx;
	assert_true(s->n_frames > 0 && s->n_frames <= JFR_STACK_DEPTH_MAX);
	for (size_t i = 0; i < s->n_frames; i++) {
		assert_non_null(s->frames[i].function);
		assert_non_null(s->frames[i].file);
		assert_true(s->frames[i].function_id < 1u << 20);
	}
	return 0;
}

static int read_recording(const struct buf *recording,
			  int (*stack)(void *, const struct jfr_stack *), void *ctx,
			  struct jfr_result *ret, struct err *err)
{
	union {
		const struct buf *in;
		void *out;
	} source = {.in = recording};
	const struct jfr_source src = {read_buf, source.out, recording->len};
	const struct jfr_stacks_config cfg = {.stack = stack, .ctx = ctx};

	return jfr_stacks_read(&src, &cfg, ret, err);
}

/* Each value is rounded once per class and stack of the recording, ours and theirs. */
#define ROUNDING 16

static void compare_line(struct line **lines, char *text)
{
	char kind[16], key[65536];
	long long count, amount;
	struct line *l;
	int at = 0;

	assert_int_equal(sscanf(text, "%15s\t%lld\t%lld\t%n", kind, &count, &amount, &at), 3);
	snprintf(key, sizeof(key), "%s\t%s", kind, text + at);
	HASH_FIND(hh, *lines, key, strlen(key), l);
	if (!l)
		fail_msg("not found: %s", key);
	assert_in_range(l->count - count + ROUNDING, 0, 2 * ROUNDING);
	assert_in_range(l->amount - amount + ROUNDING, 0, 2 * ROUNDING);
	HASH_DEL(*lines, l);
	free(l);
}

TEST(stacks_and_values_are_those_of_the_jdks_reader)
{
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		CLEANUP(free_lines) struct line *lines = NULL;
		CLEANUP(buf_fini) struct buf recording;
		CLEANUP(buf_fini) struct buf golden;
		struct jfr_result result;
		char path[128], *line, *rest;

		load(recordings[i], &recording);
		assert_int_equal(read_recording(&recording, add_stack, &lines, &result, NULL), 0);
		assert_int_equal(result.n_chunks, 1);
		assert_int_equal(result.unread_bytes, 0);
		assert_int_equal(result.lost[JFR_LOSS_UNKNOWN_STACK], 0);
		assert_int_equal(result.lost[JFR_LOSS_NO_INTERVAL], 0);
		assert_true(result.end_ns > result.start_ns);
		assert_true(result.peak_bytes <= JFR_STACKS_MAX_BYTES);
		buf_init(&golden, 1 << 20);
		snprintf(path, sizeof(path), DATA "%s.golden", recordings[i]);
		assert_int_equal(fs_read_file(path, &golden), 0);
		for (line = golden.data; *line != '\0'; line = rest) {
			rest = strchr(line, '\n');
			assert_non_null(rest);
			*rest++ = '\0';
			compare_line(&lines, line);
		}
		if (lines)
			fail_msg("%s: not in the golden file: %s", recordings[i], lines->key);
	}
}

TEST(chunks_of_several_recordings_add_up)
{
	CLEANUP(buf_fini) struct buf both, second;
	struct jfr_result one, two, sum;

	load("async", &both);
	load("jdk", &second);
	assert_int_equal(read_recording(&both, ignore_stack, NULL, &one, NULL), 0);
	assert_int_equal(read_recording(&second, ignore_stack, NULL, &two, NULL), 0);
	assert_int_equal(buf_add(&both, second.data, second.len), 0);
	assert_int_equal(read_recording(&both, ignore_stack, NULL, &sum, NULL), 0);
	assert_int_equal(sum.n_chunks, 2);
	for (size_t k = 0; k < JFR_KIND_MAX; k++)
		assert_int_equal(sum.n_used[k], one.n_used[k] + two.n_used[k]);
	assert_int_equal(sum.start_ns, one.start_ns);
	assert_int_equal(sum.end_ns, two.end_ns);
}

TEST(a_truncated_recording_ends_in_an_error)
{
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		CLEANUP(buf_fini) struct buf recording;
		struct jfr_result result;
		size_t whole;

		load(recordings[i], &recording);
		whole = recording.len;
		for (size_t len = 1; len < whole; len += whole / 16) {
			struct err err = {{0}};

			buf_truncate(&recording, whole - len);
			assert_int_equal(
				read_recording(&recording, ignore_stack, NULL, &result, &err),
				-ENODATA);
			assert_string_not_equal(err.msg, "");
			assert_int_equal(result.unread_bytes, whole - len);
		}
	}
}

/* Whatever a flipped bit does, it does within bounds, which ASan checks. */
TEST(damaged_recordings_are_read_or_refused)
{
	uint32_t seed = 1;
	unsigned n_broken = 0;

	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		CLEANUP(buf_fini) struct buf recording;
		struct jfr_result result;

		load(recordings[i], &recording);
		for (unsigned k = 0; k < 200; k++) {
			size_t at;
			uint8_t bit;
			int r;

			seed = seed * 1664525 + 1013904223;
			at = (k % 4 == 0 ? seed >> 8 & 0x7f : seed >> 8) % recording.len;
			bit = (uint8_t)(1u << (seed >> 5 & 7));
			recording.data[at] ^= (char)bit;
			r = read_recording(&recording, ignore_stack, NULL, &result, NULL);
			assert_true(r == 0 || r == -EBADMSG || r == -ENODATA);
			assert_true(result.peak_bytes <= JFR_STACKS_MAX_BYTES);
			n_broken += r != 0;
			recording.data[at] ^= (char)bit;
		}
	}
	assert_true(n_broken > 50);
}

static int read_all(void *arg)
{
	struct jfr_result result;

	return read_recording(arg, ignore_stack, NULL, &result, NULL);
}

TEST(lack_of_memory_is_an_error)
{
	CLEANUP(buf_fini) struct buf recording;

	load("tsc", &recording);
	check_oom(read_all, &recording);
}
