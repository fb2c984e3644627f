#include <errno.h>
#include <stddef.h>
#include <sys/sysmacros.h>

#include "node-agent/sample/sampler.h"
#include "test/lib/unit.h"

struct record {
	struct sample_event e;
	uint64_t addrs[3];
};

static struct record good(void)
{
	return (struct record){
		.e = {.header = {.type = EVENT_SAMPLE, .size = sizeof(struct record)},
		      .comm = "worker",
		      .n_kernel = 1,
		      .n_user = 2,
		      .end = WALK_END_UNREADABLE},
		.addrs = {1, 2, 3},
	};
}

TEST(a_good_sample_passes_with_its_addresses)
{
	struct record r = good();

	assert_int_equal(event_parse(&r, sizeof(r)), EVENT_SAMPLE);
	assert_int_equal(sample_event_addrs(&r.e)[2], 3);
}

/* Two frames of the native frame 1, one of 4, and one that none was left for. */
TEST(frames_belong_to_the_native_frame_before_if_the_first_ones_have_not_begun)
{
	struct {
		struct sample_event e;
		struct chain_entry chain[4];
	} r = {.e = good().e,
	       .chain = {chain_entry(0x1000, 0, 1, 0), chain_entry(0x1000, 0, 1, 0),
			 chain_entry(0x1000, 0, 4, 0), chain_entry(0x1000, 0, CHAIN_REST, 0)}};
	const uint32_t indexes[] = {0, 0, 1, 4};

	r.e.n_chain = 4;
	assert_int_equal(sample_event_chain_index(&r.e, 2), 4);
	r.e.chain_state = CHAIN_NOT_BEGUN;
	for (size_t i = 0; i < ARRAY_SIZE(indexes); i++)
		assert_int_equal(sample_event_chain_index(&r.e, i), indexes[i]);
}

TEST(frames_of_an_interpreter_are_between_a_sample_and_its_addresses)
{
	struct {
		struct sample_event e;
		struct chain_entry chain[2];
		uint64_t addrs[3];
	} r = {.e = good().e, .addrs = {1, 2, 3}};

	r.chain[1] = chain_entry(0x7f0000000018, 0x7f00000000ff, CHAIN_REST, 0x7bcdef);
	r.e.n_chain = 2;
	r.e.header.size = sizeof(r);
	assert_int_equal(event_parse(&r, sizeof(r)), EVENT_SAMPLE);
	assert_int_equal(sample_event_addrs(&r.e)[2], 3);
	assert_int_equal(chain_entry_code(&sample_event_chain(&r.e)[1]), 0x7f0000000018);
	assert_int_equal(chain_entry_at(&sample_event_chain(&r.e)[1]), 0x7f00000000ff);
	assert_int_equal(chain_entry_index(&sample_event_chain(&r.e)[1]), CHAIN_REST);
	assert_int_equal(chain_entry_check(&sample_event_chain(&r.e)[1]), 0x7bcdef);
	r.e.n_chain = 3;
	assert_int_equal(event_parse(&r, sizeof(r)), -EBADMSG);
	r.e.n_chain = CHAIN_ENTRIES;
	assert_int_equal(event_parse(&r, sizeof(r)), -EBADMSG);
}

static void check_bad(const struct record *r, size_t len)
{
	assert_int_equal(event_parse(r, len), -EBADMSG);
}

TEST(whatever_does_not_add_up_is_refused)
{
	struct record r;

	r = good();
	check_bad(&r, sizeof(r) - 8); /* shorter than its header claims */
	check_bad(&r, 8);             /* not even a header */
	r.e.n_user = 3;
	check_bad(&r, sizeof(r)); /* more addresses than bytes */
	r.e.n_user = 1;
	check_bad(&r, sizeof(r));
	r = good();
	r.e.end = WALK_END_MAX;
	check_bad(&r, sizeof(r));
	r = good();
	r.e.root_at = r.e.n_user;
	check_bad(&r, sizeof(r));
	r = good();
	memset(r.e.comm, 'x', sizeof(r.e.comm)); /* not terminated */
	check_bad(&r, sizeof(r));
	r = good();
	r.e.header.type = 77;
	check_bad(&r, sizeof(r));
	r = good();
	r.e.header.type = EVENT_EXIT; /* which is a header and nothing more */
	check_bad(&r, sizeof(r));
	r = good();
	r.e.header.size = 40;
	check_bad(&r, 40);
}

TEST(an_exit_is_a_header)
{
	struct event_header h = {.type = EVENT_EXIT, .size = sizeof(h)};

	assert_int_equal(event_parse(&h, sizeof(h)), EVENT_EXIT);
}

TEST(a_fork_has_one_size)
{
	struct fork_event e = {.header = {.type = EVENT_FORK, .size = sizeof(e)}};

	assert_int_equal(event_parse(&e, sizeof(e)), EVENT_FORK);
	e.header.size -= 8;
	assert_int_equal(event_parse(&e, sizeof(e) - 8), -EBADMSG);
}

static int parse_exec(struct exec_event *e, size_t path_bytes)
{
	e->header.type = EVENT_EXEC;
	e->header.size = (uint32_t)(offsetof(struct exec_event, path) + path_bytes);
	return event_parse(e, e->header.size);
}

TEST(the_path_of_an_exec_ends_inside_the_record)
{
	struct exec_event e = {0};

	memset(e.path, 'x', sizeof(e.path));
	assert_int_equal(parse_exec(&e, sizeof(e.path)), -EBADMSG);
	assert_int_equal(parse_exec(&e, 0), -EBADMSG);
	e.path[7] = '\0';
	assert_int_equal(parse_exec(&e, 8), EVENT_EXEC);
	e.path[7] = 'x';
	e.path[8] = '\0'; /* behind the record */
	assert_int_equal(parse_exec(&e, 8), -EBADMSG);
	e.path[sizeof(e.path) - 1] = '\0';
	assert_int_equal(parse_exec(&e, sizeof(e.path)), EVENT_EXEC);
}

TEST(a_device_number_is_that_of_stat)
{
	const struct event_file f = {.dev = 259ULL << 20 | 65537,
				     .ino = 2,
				     .size_bytes = 3,
				     .mtime_ns = 4,
				     .ctime_ns = 5};
	struct file_version v;

	event_file_version(&f, &v);
	assert_int_equal(v.id.dev, makedev(259, 65537));
	assert_int_equal(v.id.ino, 2);
	assert_int_equal(v.id.size_bytes, 3);
	assert_int_equal(v.id.mtime_ns, 4);
	assert_int_equal(v.ctime_ns, 5);
}

TEST(the_ring_follows_rate_and_cpus_within_its_limits)
{
	assert_int_equal(sampler_ring_bytes(1, 1), SAMPLER_RING_MIN_BYTES);
	assert_int_equal(sampler_ring_bytes(99, 16), 2u << 20);
	assert_int_equal(sampler_ring_bytes(10000, 512), SAMPLER_RING_MAX_BYTES);
}

TEST(pieces_of_a_code_object_end_inside_their_record)
{
	struct code_event e = {.header = {.type = EVENT_CODE, .size = sizeof(e)}};

	assert_int_equal(event_parse(&e, sizeof(e)), EVENT_CODE);
	e.n_bytes[CODE_PIECES - 1] = sizeof(e.words[0]);
	assert_int_equal(event_parse(&e, sizeof(e)), EVENT_CODE);
	e.n_bytes[CODE_PIECES - 1]++;
	assert_int_equal(event_parse(&e, sizeof(e)), -EBADMSG);
	e.n_bytes[CODE_PIECES - 1] = 0;
	e.header.size = sizeof(e) - 8;
	assert_int_equal(event_parse(&e, sizeof(e) - 8), -EBADMSG);
}
