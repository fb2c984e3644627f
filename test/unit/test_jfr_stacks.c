/* Recordings made by hand: forms of values that real ones rarely have, weights, limits, attacks. */
#include <errno.h>
#include <math.h>

#include "common/err.h"
#include "common/jfr/jfr_stacks.h"
#include "test/lib/jfr_builder.h"
#include "test/lib/unit.h"

#define SEEN_MAX 64u

/* What was reported: the first stacks as text, and sums. */
struct seen {
	char text[SEEN_MAX][256];
	size_t n;
	int64_t count[JFR_KIND_MAX];
	int64_t amount[JFR_KIND_MAX];
	int stop; /* result of the callback */
	struct jfr_settings settings;
	struct jfr_result result;
	struct err err;
};

static void init(struct jfr_builder *b)
{
	*b = (struct jfr_builder){.ticks = 1000000000};
	buf_init(&b->out, 256 << 20);
}

static void fini(struct jfr_builder *b)
{
	buf_fini(&b->out);
}

static ssize_t read_out(void *ctx, void *to, size_t len, uint64_t offset)
{
	const struct jfr_builder *b = ctx;

	assert_true(offset <= b->out.len);
	if (len > b->out.len - offset)
		len = b->out.len - offset;
	memcpy(to, b->out.data + offset, len);
	return (ssize_t)len;
}

static int see(void *ctx, const struct jfr_stack *s)
{
	struct seen *seen = ctx;
	const struct jfr_frame *f = s->frames;

	seen->count[s->kind] += s->count;
	seen->amount[s->kind] += s->amount;
	if (seen->n < SEEN_MAX)
		snprintf(seen->text[seen->n], sizeof(seen->text[0]), "%s %s:%u n=%zu%s %s",
			 f->function, f->file, f->line, s->n_frames, s->truncated ? " cut" : "",
			 s->class_name ? s->class_name : "-");
	seen->n++;
	return seen->stop;
}

static int read_built(struct jfr_builder *b, struct seen *seen)
{
	const struct jfr_source src = {read_out, b, b->out.len};
	const struct jfr_stacks_config cfg = {see, seen, &seen->settings};

	return jfr_stacks_read(&src, &cfg, &seen->result, &seen->err);
}

/* One chunk with execution samples of n stacks, and names for them. */
static void build_simple(struct jfr_builder *b, uint32_t n)
{
	build_chunk(b);
	build_setting(b, "interval", "10000000");
	for (uint32_t i = 1; i <= n; i++)
		build_execution(b, i);
	build_checkpoint(b, 4);
	build_names(b, n);
	build_end(b);
	build_chunk_end(b);
}

TEST(integers_may_be_plain_or_compressed)
{
	for (int is_plain = 0; is_plain < 2; is_plain++) {
		CLEANUP(fini) struct jfr_builder b;
		struct seen seen = {0};

		init(&b);
		b.is_plain = is_plain;
		build_simple(&b, 2);
		assert_int_equal(read_built(&b, &seen), 0);
		assert_int_equal(seen.n, 2);
		assert_string_equal(seen.text[0], "a.Foo.run a/Foo:11 n=1 -");
		assert_string_equal(seen.text[1], "a.Foo.run a/Foo:12 n=1 -");
		assert_int_equal(seen.count[JFR_CPU], 2);
		assert_int_equal(seen.amount[JFR_CPU], 20000000);
		assert_int_equal(seen.result.n_used[JFR_CPU], 2);
		assert_int_equal(seen.result.start_ns, 1700000000000000000);
		assert_int_equal(seen.result.end_ns, 1700000060000000000);
	}
}

/* Symbols in all encodings, method n is called by symbol n. */
static void build_encodings(struct jfr_builder *b)
{
	build_checkpoint(b, 5);
	build_pool(b, TYPE_SYMBOL, 7);
	build_long(b, 1);
	build_raw(b, 3, 1); /* UTF-8 */
	build_int(b, 2);
	build_bytes(b, "\xc3\xa9", 2);
	build_long(b, 2);
	build_raw(b, 4, 1); /* chars */
	build_int(b, 3);
	build_integer(b, 'a', 2);
	build_integer(b, 0xe9, 2);
	build_integer(b, 0x20ac, 2);
	build_long(b, 3);
	build_raw(b, 5, 1); /* Latin-1 */
	build_int(b, 2);
	build_bytes(b, "b\xe9", 2);
	build_long(b, 4);
	build_raw(b, 2, 1); /* constant */
	build_long(b, UINT64_MAX);
	build_long(b, 5);
	build_raw(b, 1, 1); /* empty */
	build_long(b, 6);
	build_raw(b, 0, 1); /* null */
	build_long(b, 7);
	build_text(b, "C");
	build_pool(b, TYPE_CLASS, 1);
	build_long(b, 1);
	build_long(b, 7);
	build_pool(b, TYPE_METHOD, 6);
	for (unsigned i = 1; i <= 6; i++) {
		build_long(b, i);
		build_long(b, 1);
		build_long(b, i);
	}
	build_pool(b, TYPE_STACK, 6);
	for (unsigned i = 1; i <= 6; i++) {
		build_long(b, i);
		build_raw(b, i == 2, 1);
		build_int(b, 1);
		build_long(b, i);
		build_int(b, UINT32_MAX);
		build_long(b, 0);
	}
	build_pool(b, TYPE_STRING, 1);
	build_long(b, UINT64_MAX);
	build_text(b, "pooled");
	build_end(b);
}

TEST(texts_have_five_encodings)
{
	static const char *const names[] = {
		"C.\xc3\xa9 C:0 n=1 -",  "C.a\xc3\xa9\xe2\x82\xac C:0 n=1 cut -",
		"C.b\xc3\xa9 C:0 n=1 -", "C.pooled C:0 n=1 -",
		"C C:0 n=1 -",           "[unknown] :0 n=1 -",
	};

	for (int is_plain = 0; is_plain < 2; is_plain++) {
		CLEANUP(fini) struct jfr_builder b;
		struct seen seen = {0};

		init(&b);
		b.is_plain = is_plain;
		build_chunk(&b);
		for (unsigned i = 1; i <= 6; i++)
			build_execution(&b, i);
		build_encodings(&b);
		build_chunk_end(&b);
		assert_int_equal(read_built(&b, &seen), 0);
		assert_int_equal(seen.n, 6);
		for (size_t i = 0; i < 6; i++)
			assert_string_equal(seen.text[i], names[i]);
	}
}

TEST(constants_are_collected_from_a_chain)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};

	init(&b);
	build_chunk(&b);
	build_execution(&b, 1);
	build_checkpoint(&b, 1);
	build_pool(&b, TYPE_SYMBOL, 2);
	build_long(&b, 1);
	build_text(&b, "a/Foo");
	build_long(&b, 2);
	build_text(&b, "run");
	build_end(&b);
	build_execution(&b, 1);
	build_checkpoint(&b, 2);
	build_pool(&b, TYPE_METHOD, 1);
	build_long(&b, 1);
	build_long(&b, 1);
	build_long(&b, 2);
	build_pool(&b, TYPE_CLASS, 1);
	build_long(&b, 1);
	build_long(&b, 1);
	build_end(&b);
	build_checkpoint(&b, 1);
	build_pool(&b, TYPE_STACK, 1);
	build_long(&b, 1);
	build_raw(&b, 0, 1);
	build_int(&b, 2);
	for (unsigned i = 0; i < 2; i++) {
		build_long(&b, 1);
		build_int(&b, 5 + i);
		build_long(&b, 0);
	}
	build_end(&b);
	build_execution(&b, 1);
	build_chunk_end(&b);
	assert_int_equal(read_built(&b, &seen), 0);
	assert_int_equal(seen.n, 1);
	assert_string_equal(seen.text[0], "a.Foo.run a/Foo:5 n=2 -");
	assert_int_equal(seen.count[JFR_CPU], 3);
	/* no interval is known */
	assert_int_equal(seen.amount[JFR_CPU], 0);
	assert_int_equal(seen.result.lost[JFR_LOSS_NO_INTERVAL], 3);
}

static void build_wait(struct jfr_builder *b, unsigned type, uint64_t ticks, uint64_t stack)
{
	build_begin(b, type);
	build_long(b, 1);
	build_long(b, ticks);
	build_long(b, stack);
	build_long(b, 1);
	build_end(b);
}

TEST(durations_are_in_the_ticks_of_their_chunk)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};

	init(&b);
	b.is_jdk = true;
	for (unsigned i = 0; i < 2; i++) {
		b.ticks = i == 0 ? 1000 : UINT64_C(2500000000);
		build_chunk(&b);
		build_wait(&b, TYPE_MONITOR, 50, 1);
		build_wait(&b, TYPE_PARK, 5000, 1);
		build_checkpoint(&b, 4);
		build_names(&b, 1);
		build_end(&b);
		build_chunk_end(&b);
	}
	assert_int_equal(read_built(&b, &seen), 0);
	assert_int_equal(seen.result.n_chunks, 2);
	assert_int_equal(seen.count[JFR_LOCK], 2);
	assert_int_equal(seen.amount[JFR_LOCK], 50000000 + 20);
	/* a/Foo is no lock */
	assert_int_equal(seen.amount[JFR_PARK], 5000000000 + 2000);
	assert_string_equal(seen.text[0] + strlen("a.Foo.run a/Foo:11 n=1 "), "a.Foo");
}

static void build_alloc(struct jfr_builder *b, uint64_t size, uint64_t tlab)
{
	build_begin(b, TYPE_ALLOC);
	build_long(b, 1);
	build_long(b, 1);
	build_long(b, 1);
	build_long(b, size);
	build_long(b, tlab);
	build_end(b);
}

static void read_weights(struct seen *seen, bool is_jdk, const char *alloc, const char *lock)
{
	CLEANUP(fini) struct jfr_builder b;

	init(&b);
	b.is_jdk = is_jdk;
	build_chunk(&b);
	build_setting(&b, "alloc", alloc);
	build_setting(&b, "lock", lock);
	build_alloc(&b, 1000, 100000);
	build_alloc(&b, 100000, 100000);
	build_alloc(&b, 5000000, 5000000);
	build_alloc(&b, 2000, 30000);
	build_wait(&b, TYPE_MONITOR, 2000, 1);
	build_wait(&b, TYPE_MONITOR, 30000, 1);
	build_checkpoint(&b, 4);
	build_names(&b, 1);
	build_end(&b);
	build_chunk_end(&b);
	assert_int_equal(read_built(&b, seen), 0);
}

TEST(samples_stand_for_what_was_not_sampled)
{
	struct seen jdk = {0}, async = {0};
	double expected = 1000 / (1 - exp(-0.01)) + 100000 / (1 - exp(-1)) +
			  5000000 / (1 - exp(-50)) + 100000;

	/* the JDK's settings are called otherwise */
	read_weights(&jdk, true, "100000", "10000");
	assert_int_equal(jdk.amount[JFR_ALLOC], 100000 + 100000 + 5000000 + 30000);
	assert_int_equal(jdk.count[JFR_ALLOC], 100 + 1 + 1 + 15);
	assert_int_equal(jdk.count[JFR_LOCK], 2);
	assert_int_equal(jdk.amount[JFR_LOCK], 32000);
	assert_int_equal(jdk.settings.alloc_interval_bytes, 0);

	/* the last allocation is a TLAB that was filled; the first wait is one of five */
	read_weights(&async, false, "100000", "10000");
	assert_int_equal(async.settings.alloc_interval_bytes, 100000);
	assert_int_equal(async.settings.lock_interval_ns, 10000);
	assert_int_equal(async.amount[JFR_ALLOC], llround(expected));
	assert_int_equal(async.count[JFR_ALLOC],
			 llround(1 / (1 - exp(-0.01)) + 1 / (1 - exp(-1)) + 1 + 50));
	assert_int_equal(async.count[JFR_LOCK], 5 + 1);
	assert_int_equal(async.amount[JFR_LOCK], 10000 + 30000);

	/* the defaults */
	memset(&async, 0, sizeof(async));
	read_weights(&async, false, "0", "-1");
	assert_int_equal(async.settings.alloc_interval_bytes, 524287);
	assert_int_equal(async.settings.lock_interval_ns, 0);
}

TEST(settings_of_a_session_are_remembered)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};

	init(&b);
	build_chunk(&b);
	build_execution(&b, 1);
	build_checkpoint(&b, 4);
	build_names(&b, 1);
	build_end(&b);
	build_chunk_end(&b);
	seen.settings.cpu_interval_ns = 7;
	assert_int_equal(read_built(&b, &seen), 0);
	assert_int_equal(seen.amount[JFR_CPU], 7);
	assert_int_equal(seen.settings.cpu_interval_ns, 7);
}

TEST(hardware_events_are_not_nanoseconds)
{
	static const char *const settings[][2] = {{"event", "cycles"}, {"interval", "1000000"}};
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};

	init(&b);
	build_chunk(&b);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		build_setting(&b, settings[i][0], settings[i][1]);
	build_execution(&b, 1);
	build_checkpoint(&b, 4);
	build_names(&b, 1);
	build_end(&b);
	build_chunk_end(&b);
	assert_int_equal(read_built(&b, &seen), 0);
	assert_int_equal(seen.count[JFR_CPU], 1);
	assert_int_equal(seen.amount[JFR_CPU], 0);
	assert_int_equal(seen.result.lost[JFR_LOSS_NO_INTERVAL], 1);
}

TEST(what_has_no_stack_is_counted_and_reported)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};

	init(&b);
	build_chunk(&b);
	build_setting(&b, "interval", "10000000");
	build_execution(&b, 0);
	build_execution(&b, 1);
	build_execution(&b, 77);
	build_execution(&b, 77);
	build_begin(&b, 555); /* an event that is not known */
	build_text(&b, "x");
	build_end(&b);
	build_checkpoint(&b, 4);
	build_names(&b, 1);
	build_end(&b);
	build_chunk_end(&b);
	assert_int_equal(read_built(&b, &seen), 0);
	assert_int_equal(seen.n, 3);
	assert_string_equal(seen.text[0], "a.Foo.run a/Foo:11 n=1 -");
	assert_string_equal(seen.text[1], "[unknown] :0 n=1 -");
	assert_string_equal(seen.text[2], "[unknown] :0 n=1 -");
	assert_int_equal(seen.amount[JFR_CPU], 40000000);
	assert_int_equal(seen.result.lost[JFR_LOSS_NO_STACK], 1);
	assert_int_equal(seen.result.lost[JFR_LOSS_UNKNOWN_STACK], 2);
}

static void build_others(struct jfr_builder *b, bool is_jdk)
{
	b->is_jdk = is_jdk;
	build_chunk(b);
	build_event(b, TYPE_OLD_OBJECT, 0, 1, 64);
	build_event(b, TYPE_OLD_OBJECT, 0, 1, 32);
	if (!is_jdk)
		build_event(b, TYPE_MALLOC, 0, 2, 4096);
	for (int i = 0; i < 3; i++)
		build_event(b, TYPE_SOCKET, 7, 1, 0);
	build_event(b, TYPE_LOAD, 0, 0, 0);
	build_event(b, TYPE_PARK, 5, 1, 1);
	build_checkpoint(b, 4);
	build_names(b, 2);
	build_end(b);
	build_chunk_end(b);
}

TEST(objects_and_memory_in_use_are_read_and_other_events_are_named)
{
	for (int is_jdk = 0; is_jdk < 2; is_jdk++) {
		CLEANUP(fini) struct jfr_builder b;
		struct seen seen = {0};

		init(&b);
		build_others(&b, is_jdk);
		build_others(&b, is_jdk);
		assert_int_equal(read_built(&b, &seen), 0);
		assert_int_equal(seen.count[JFR_LIVE], 4);
		assert_int_equal(seen.amount[JFR_LIVE], 2 * 96);
		assert_int_equal(seen.count[JFR_MALLOC], is_jdk ? 0 : 2);
		assert_int_equal(seen.amount[JFR_MALLOC], is_jdk ? 0 : 8192);
		assert_int_equal(seen.result.n_other_events, 6);
		assert_int_equal(seen.result.n_other_types, 1);
		assert_string_equal(seen.result.other_types[0].name, "jdk.SocketRead");
		assert_int_equal(seen.result.other_types[0].n_events, 6);
	}
}

TEST(the_callback_may_stop)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {.stop = -ECANCELED};

	init(&b);
	build_simple(&b, 3);
	build_simple(&b, 3);
	assert_int_equal(read_built(&b, &seen), -ECANCELED);
	assert_int_equal(seen.n, 1);
}

/* More stacks than fit are reported in batches, and beyond those as "[other]"; none is lost. */
TEST(memory_is_bounded_whatever_there_is)
{
	CLEANUP(fini) struct jfr_builder b;
	const uint32_t n = 8 * 32768 + 1000;
	struct seen seen = {0};

	init(&b);
	build_simple(&b, n);
	assert_int_equal(read_built(&b, &seen), 0);
	assert_int_equal(seen.count[JFR_CPU], n);
	assert_int_equal(seen.n, 8 * 32768 + 1);
	assert_int_equal(seen.result.lost[JFR_LOSS_STACKS_FULL], 1000);
	assert_int_equal(seen.result.lost[JFR_LOSS_UNKNOWN_STACK], 0);
	assert_true(seen.result.peak_bytes <= JFR_STACKS_MAX_BYTES);
}

/* One stack of 60,000 methods, each in a class of its own, with long names. */
static void build_many_names(struct jfr_builder *b, uint32_t n)
{
	char name[600];

	build_checkpoint(b, 4);
	build_pool(b, TYPE_STACK, n / 1000);
	for (uint32_t i = 0; i < n; i++) {
		if (i % 1000 == 0) {
			build_long(b, 1 + i / 1000);
			build_raw(b, 0, 1);
			build_int(b, 1000);
		}
		build_long(b, i);
		build_int(b, 1);
		build_long(b, 0);
	}
	build_pool(b, TYPE_METHOD, n);
	for (uint32_t i = 0; i < n; i++) {
		build_long(b, i);
		build_long(b, i);
		build_long(b, i);
	}
	build_pool(b, TYPE_CLASS, n);
	for (uint32_t i = 0; i < n; i++) {
		build_long(b, i);
		build_long(b, i);
	}
	build_pool(b, TYPE_SYMBOL, n);
	memset(name, 'x', sizeof(name));
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name + sizeof(name) - 10, 10, "%09u", i);
		build_long(b, i);
		build_text(b, name);
	}
	build_end(b);
}

TEST(names_beyond_the_limit_are_other)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};

	init(&b);
	build_chunk(&b);
	for (uint32_t i = 1; i <= 60; i++)
		build_execution(&b, i);
	build_many_names(&b, 60000);
	build_chunk_end(&b);
	assert_int_equal(read_built(&b, &seen), 0);
	assert_int_equal(seen.count[JFR_CPU], 60);
	assert_true(seen.result.lost[JFR_LOSS_NAMES_FULL] > 27000);
	assert_true(seen.result.peak_bytes <= JFR_STACKS_MAX_BYTES);
	assert_string_equal(seen.text[59], "[other] :0 n=1000 -");
}

TEST(deep_stacks_are_cut_at_the_root)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};

	init(&b);
	build_chunk(&b);
	build_execution(&b, 9);
	build_checkpoint(&b, 1);
	build_pool(&b, TYPE_STACK, 1);
	build_long(&b, 9);
	build_raw(&b, 0, 1);
	build_int(&b, JFR_STACK_DEPTH_MAX + 5);
	for (unsigned i = 0; i < JFR_STACK_DEPTH_MAX + 5; i++) {
		build_long(&b, 1);
		build_int(&b, 1);
		build_long(&b, 0);
	}
	build_end(&b);
	build_chunk_end(&b);
	assert_int_equal(read_built(&b, &seen), 0);
	assert_string_equal(seen.text[0], "[unknown] :0 n=4096 cut -");
}

/* Ways to break the second of two chunks; all of the first is reported in any case. */
enum attack {
	SIZE_ZERO,
	SIZE_HUGE,
	NOT_FINISHED,
	BAD_MAGIC,
	BAD_VERSION,
	NO_TICKS,
	METADATA_OUTSIDE,
	METADATA_IS_AN_EVENT,
	EVENT_SIZE_ZERO,
	EVENT_TOO_LONG,
	CHAIN_FORWARD,
	CHAIN_OUTSIDE,
	POOL_OF_CYCLES,
	POOL_OF_NOTHING,
	POOL_UNKNOWN,
	NEGATIVE_COUNT,
	BAD_ENCODING,
	N_ATTACKS,
};

static void build_bad_checkpoint(struct jfr_builder *b, enum attack a)
{
	if (a == CHAIN_FORWARD)
		b->last = b->out.len - b->chunk + 1000;
	if (a == CHAIN_OUTSIDE)
		b->last = b->out.len - b->chunk + (size_t)1 - ((size_t)1 << 40);
	build_checkpoint(b, a == CHAIN_FORWARD || a == CHAIN_OUTSIDE ? 4 : 5);
	if (a == POOL_OF_CYCLES || a == POOL_OF_NOTHING)
		build_pool(b, a == POOL_OF_CYCLES ? TYPE_CYCLE : TYPE_EMPTY, INT32_MAX);
	if (a == POOL_UNKNOWN)
		build_pool(b, 99, 1);
	if (a == NEGATIVE_COUNT)
		build_pool(b, TYPE_SYMBOL, UINT32_MAX);
	if (a == BAD_ENCODING) {
		build_pool(b, TYPE_SYMBOL, 1);
		build_long(b, 2);
		build_raw(b, 9, 1);
	}
	build_names(b, 1);
	build_end(b);
}

static void build_attack(struct jfr_builder *b, enum attack a)
{
	build_chunk(b);
	build_execution(b, 1);
	build_execution(b, 1);
	if (a == EVENT_SIZE_ZERO || a == EVENT_TOO_LONG)
		build_set_size(b, a == EVENT_SIZE_ZERO ? 0 : 1 << 20);
	if (a >= CHAIN_FORWARD) {
		build_bad_checkpoint(b, a);
	} else {
		build_checkpoint(b, 4);
		build_names(b, 1);
		build_end(b);
	}
	build_chunk_end(b);
	if (a == SIZE_ZERO)
		build_header(b, 8, 0);
	if (a == SIZE_HUGE)
		build_header(b, 8, UINT64_MAX);
	if (a == NOT_FINISHED) {
		build_header(b, 8, 1 << 30);
		build_header(b, 16, 0);
		build_header(b, 24, 0);
	}
	if (a == BAD_MAGIC)
		b->out.data[b->chunk] = 'G';
	if (a == BAD_VERSION)
		b->out.data[b->chunk + 5] = 9;
	if (a == NO_TICKS)
		build_header(b, 56, 0);
	if (a == METADATA_OUTSIDE)
		build_header(b, 24, UINT64_C(1) << 63);
	if (a == METADATA_IS_AN_EVENT)
		build_header(b, 24, b->last);
}

TEST(a_broken_chunk_ends_the_reading_with_an_error)
{
	for (enum attack a = 0; a < N_ATTACKS; a++) {
		CLEANUP(fini) struct jfr_builder b;
		struct seen seen = {0};
		int expected = a == SIZE_HUGE || a == NOT_FINISHED ? -ENODATA : -EBADMSG;

		init(&b);
		build_simple(&b, 3);
		build_attack(&b, a);
		assert_int_equal(read_built(&b, &seen), expected);
		assert_memory_equal(seen.err.msg, "chunk 2 of the recording, at byte ", 34);
		assert_int_equal(seen.result.n_chunks, 1);
		assert_true(seen.n >= 3);
		assert_string_equal(seen.text[0], "a.Foo.run a/Foo:11 n=1 -");
		assert_string_equal(seen.text[2], "a.Foo.run a/Foo:13 n=1 -");
		/* samples of a chunk that can be read in part are reported */
		if (a == EVENT_SIZE_ZERO || a == EVENT_TOO_LONG)
			assert_int_equal(seen.count[JFR_CPU], 4);
		else if (a >= CHAIN_FORWARD)
			assert_int_equal(seen.count[JFR_CPU], 5);
		else
			assert_int_equal(seen.count[JFR_CPU], 3);
	}
}

/* A recording of nothing but the smallest chunks, checkpoints or pools takes linear time. */
TEST(small_pieces_take_no_more_than_linear_time)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};

	init(&b);
	build_chunk(&b);
	build_execution(&b, 1);
	for (unsigned i = 0; i < 300000; i++) {
		build_checkpoint(&b, 0);
		build_end(&b);
	}
	build_chunk_end(&b);
	for (unsigned i = 0; i < 300; i++)
		build_simple(&b, 1);
	assert_int_equal(read_built(&b, &seen), 0);
	assert_int_equal(seen.count[JFR_CPU], 301);
}

static ssize_t read_error(void *ctx, void *to, size_t len, uint64_t offset)
{
	const struct jfr_builder *b = ctx;

	if (offset >= b->chunk)
		return -EIO;
	if (len > b->chunk - offset)
		len = b->chunk - offset;
	memcpy(to, b->out.data + offset, len);
	return (ssize_t)len;
}

TEST(an_error_of_the_source_is_returned)
{
	CLEANUP(fini) struct jfr_builder b;
	struct seen seen = {0};
	struct jfr_source src = {read_error, &b, 0};
	const struct jfr_stacks_config cfg = {see, &seen, NULL};

	init(&b);
	build_simple(&b, 1);
	build_simple(&b, 1);
	src.size_bytes = b.out.len;
	assert_int_equal(jfr_stacks_read(&src, &cfg, &seen.result, &seen.err), -EIO);
	assert_true(seen.n <= 1);
	/* a file that is shorter than it was */
	src = (struct jfr_source){read_out, &b, b.out.len};
	buf_truncate(&b.out, b.chunk + 100);
	assert_int_equal(jfr_stacks_read(&src, &cfg, &seen.result, &seen.err), -EBADMSG);
}
