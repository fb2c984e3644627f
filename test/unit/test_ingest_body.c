/* Requests of Pyroscope's /ingest → parts. */
#include <errno.h>

#include "cluster-agent/push/ingest_body.h"
#include "cluster-agent/push/node_names.h"
#include "common/data/buf.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define NOW_NS (INT64_C(1800000000) * (int64_t)NS_PER_S)
#define BOUNDARY "multipart/form-data; boundary=b"
#define PART(name) "--b\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n"

struct fixture {
	struct arena arena;
	struct ingest_request req;
	struct upload_parts parts;
	struct buf body;
	struct err err;
};

static void setup(struct fixture *f)
{
	*f = (struct fixture){.req = {.query = {.name = "app"}, .now_ns = NOW_NS}};
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&f->body, 1 << 20);
}

static void teardown(struct fixture *f)
{
	arena_fini(&f->arena);
	buf_fini(&f->body);
}

static void add(struct fixture *f, const char *text)
{
	assert_int_equal(buf_add(&f->body, text, strlen(text)), 0);
}

static int decode(struct fixture *f)
{
	f->err.msg[0] = '\0';
	return ingest_body_decode(&f->parts, &f->arena, &f->req, f->body.data, f->body.len,
				  &f->err);
}

static void decodes(struct fixture *f, size_t n_parts)
{
	if (decode(f) < 0)
		fail_msg("%s", f->err.msg);
	assert_int_equal(f->parts.n, n_parts);
}

static void refuses(struct fixture *f, const char *reason)
{
	assert_int_equal(decode(f), -EBADMSG);
	assert_string_equal(f->err.msg, reason);
}

static void has_label(const struct fixture *f, size_t i, const char *name, const char *value)
{
	const struct row_label *l = &f->parts.items[0].labels[i];

	assert_true(i < f->parts.items[0].n_labels);
	assert_string_equal(l->name.data, name);
	assert_string_equal(l->value.data, value);
}

static const struct profile *profile(const struct fixture *f)
{
	return &f->parts.items[0].profile;
}

static const struct profile_line *line_of(const struct profile *p, uint32_t sample, uint32_t frame)
{
	return &p->locations[p->samples[sample].locations[frame]].lines[0];
}

static void frame_is(const struct fixture *f, uint32_t frame, const char *name, const char *file,
		     int64_t line)
{
	const struct profile *p = profile(f);
	const struct profile_line *l = line_of(p, 0, frame);

	assert_string_equal(p->functions[l->function].name.data, name);
	assert_string_equal(p->functions[l->function].file.data, file);
	assert_int_equal(l->line, line);
}

static void type_is(const struct fixture *f, uint32_t i, const char *type, int64_t total)
{
	const struct profile *p = profile(f);

	assert_true(i < p->n_types);
	assert_string_equal(p->types[i].type.data, type);
	assert_int_equal(made_profile_sum(p, i), total);
}

/* A pprof of "name/unit …" with one stack. */
static void add_pprof(struct fixture *f, const char *types, int64_t a, int64_t b)
{
	const struct made_sample sample = {.stack = {1, 2}, .depth = 2, .values = {a, b}};
	struct profile p = made_profile(&f->arena, types, &sample, 1);

	assert_int_equal(pprof_encode(&p, &f->body), 0);
}

/* ---- folded stacks ---- */

static void stacks_of_py_spy_have_files_and_lines(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	add(&f, "py-spy> Sampling process 100 times a second. Press Control-C to exit.\n\n"
		"<module> (prog.py:6);leaf (a (b)/prog.py:5) 181\r\n\n"
		"<module> (prog.py:6) 14\n 5\n");
	decodes(&f, 1);
	type_is(&f, 0, "python:cpu:nanoseconds", INT64_C(200) * 10000000);
	assert_int_equal(profile(&f)->n_types, 1);
	assert_int_equal(profile(&f)->n_locations, 2);
	assert_int_equal(profile(&f)->n_samples, 3);
	frame_is(&f, 0, "leaf", "a (b)/prog.py", 5);
	frame_is(&f, 1, "<module>", "prog.py", 6);
	assert_int_equal(profile(&f)->time_ns, 0);
}

static void stacks_of_rbspy_have_files_and_lines(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	f.req.query.spy_name = "rbspy";
	f.req.query.sample_rate = "50";
	add(&f, "<main> - app.rb:12;sleep [c function] - (unknown);block in a - b - lib/w.rb:3 7");
	decodes(&f, 1);
	type_is(&f, 0, "ruby:cpu:nanoseconds", INT64_C(7) * 20000000);
	frame_is(&f, 0, "block in a - b", "lib/w.rb", 3);
	frame_is(&f, 1, "sleep [c function]", "", 0);
	frame_is(&f, 2, "<main>", "app.rb", 12);
}

static void other_frames_keep_their_names(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	add(&f, "main;;foo(int, char) (libfoo.so.1);do_syscall_64_[k];f(int);a b (c) 1");
	decodes(&f, 1);
	frame_is(&f, 0, "a b (c)", "", 0);
	frame_is(&f, 1, "f(int)", "", 0);
	frame_is(&f, 2, "do_syscall_64", "[kernel]", 0);
	frame_is(&f, 3, "foo(int, char)", "libfoo.so.1", 0);
	frame_is(&f, 4, "main", "", 0);
	type_is(&f, 0, "pprof:cpu:nanoseconds", 10000000);
}

static void lines_are_a_sample_each(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	f.req.query.format = "lines";
	add(&f, "main;a\nmain;a 7\nmain;b");
	decodes(&f, 1);
	assert_int_equal(profile(&f)->n_samples, 3);
	type_is(&f, 0, "pprof:cpu:nanoseconds", 30000000);
}

static void check_units(const char *units, const char *aggregation, const char *type)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.req.query.format = "groups";
	f.req.query.units = units;
	f.req.query.aggregation_type = aggregation;
	f.req.query.spy_name = "gospy";
	add(&f, "main 30");
	decodes(&f, 1);
	type_is(&f, 0, type, 30);
}

static void units_say_what_values_are(void **state)
{
	(void)state;
	check_units("bytes", "sum", "go:heap_alloc_space:bytes");
	check_units("bytes", "average", "go:heap_inuse_space:bytes");
	check_units("objects", "average", "go:heap_inuse_objects:count");
	check_units("goroutines", "average", "go:goroutine_goroutine:count");
	check_units("lock_nanoseconds", NULL, "go:block_delay:nanoseconds");
	check_units("nanoseconds", NULL, "go:profile_cpu:nanoseconds");
}

static void what_is_no_stack_is_refused(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	refuses(&f, "the body is empty");
	add(&f, "main;a 1\nmain;b");
	refuses(&f, "line 2 is not \"frame;frame value\", folded stacks, which is the default "
		    "format");
	f.body.len = 0;
	add(&f, "main -1");
	assert_int_equal(decode(&f), -EBADMSG);
	f.body.len = 0;
	add(&f, "main 1.5");
	assert_int_equal(decode(&f), -EBADMSG);
}

static void names_of_node_are_without_file_and_line(void **state)
{
	CLEANUP(teardown) struct fixture f;
	static const struct {
		const char *name, *file, *expected;
	} names[] = {
		{"./app.js:leaf:4", "/srv/app.js", "leaf"},
		{"./app.js:(anonymous:L#6:C#21):6", "/srv/app.js", "(anonymous:L#6:C#21)"},
		{"node:internal/timers:processTimers:504", "node:internal/timers", "processTimers"},
		{":(garbage collector):0", "", "(garbage collector)"},
		{"other.js:leaf:4", "/srv/app.js", "other.js:leaf:4"},
		{"./app.js:leaf", "/srv/app.js", "./app.js:leaf"},
		{"./app.js::4", "/srv/app.js", "./app.js::4"},
		{"leaf", "/srv/app.js", "leaf"},
	};

	(void)state;
	setup(&f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct profile_function fn = {{names[i].name, strlen(names[i].name)},
					      {names[i].file, strlen(names[i].file)}};

		assert_int_equal(node_name_shorten(&fn, &f.arena), 0);
		assert_int_equal(fn.name.len, strlen(names[i].expected));
		assert_string_equal(fn.name.data, names[i].expected);
	}
}

/* ---- parameters ---- */

static void a_name_has_labels(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	f.req.query.name = "my app{env=prod, region=\"eu west\",__session_id__=77,hostname=h1,"
			   "env=other,empty=,bad=\xff}";
	add(&f, "main 1");
	decodes(&f, 1);
	assert_string_equal(f.parts.items[0].service.data, "my app");
	assert_string_equal(f.parts.items[0].host.data, "h1");
	assert_int_equal(f.parts.items[0].n_labels, 4);
	has_label(&f, 0, "env", "prod");
	has_label(&f, 1, "region", "eu west");
	has_label(&f, 2, "hostname", "h1");
	has_label(&f, 3, "bad", "?");
	f.req.query.name = "app{service_name=/other}";
	decodes(&f, 1);
	assert_string_equal(f.parts.items[0].service.data, "/other");
}

static void check_window(const char *from, const char *until, int64_t start_ns, int64_t end_ns)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.req.query.from = from;
	f.req.query.until = until;
	add(&f, "main 1");
	decodes(&f, 1);
	assert_int_equal(profile(&f)->time_ns, end_ns);
	assert_int_equal(profile(&f)->duration_ns, end_ns - start_ns);
}

static void times_have_any_unit(void **state)
{
	const int64_t s = (int64_t)NS_PER_S, t = 1795451163;

	(void)state;
	check_window("1795451163", "1795451173", t * s, (t + 10) * s);
	check_window("1795451163000", "1795451173000", t * s, (t + 10) * s);
	check_window("1795451163000000", "1795451173000000", t * s, (t + 10) * s);
	check_window("1795451163000000001", "1795451173", t * s + 1, (t + 10) * s);
	check_window("1795451163", NULL, t * s, NOW_NS);
	check_window(NULL, "1795451163", t * s, t * s);
}

static void parameters_are_checked(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	add(&f, "main 1");
	f.req.query.name = NULL;
	refuses(&f, "query parameter name is missing");
	f.req.query.name = "app{a=b";
	refuses(&f, "the name has no '}' at its end");
	f.req.query.name = "{a=b}";
	refuses(&f, "the name has no application");
	f.req.query.name = "app{a}";
	refuses(&f, "the label \"a\" in the name has no '='");
	f.req.query = (struct ingest_query){.name = "app", .from = "now-1h"};
	refuses(&f, "from is not a time since the epoch in seconds, or in milli-, micro- or "
		    "nanoseconds");
	f.req.query = (struct ingest_query){.name = "app", .from = "20", .until = "10"};
	refuses(&f, "from is after until");
	f.req.query = (struct ingest_query){.name = "app", .from = "99999999999"};
	assert_int_equal(decode(&f), -EBADMSG);
	f.req.query = (struct ingest_query){.name = "app", .format = "trie"};
	refuses(&f, "format \"trie\" is none of folded, groups, lines, pprof and jfr");
	f.req.query = (struct ingest_query){.name = "app", .sample_rate = "-1"};
	refuses(&f, "sampleRate is not a number up to 1000000, per second");
	f.req.query = (struct ingest_query){.name = "app", .units = "miles"};
	assert_int_equal(decode(&f), -EBADMSG);
}

/* ---- pprof ---- */

static void a_pprof_is_recognised(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	add_pprof(&f, "samples/count cpu/nanoseconds", 3, 30);
	decodes(&f, 1);
	assert_int_equal(profile(&f)->n_types, 1);
	type_is(&f, 0, "go:profile_cpu:nanoseconds", 30);
	f.req.query.format = "pprof";
	decodes(&f, 1);
	f.req.query.format = "jfr";
	assert_int_equal(decode(&f), -EBADMSG);
}

static void a_form_says_what_a_pprof_is(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	f.req.content_type = BOUNDARY;
	add(&f, PART("profile"));
	add_pprof(&f, "contentions/count delay/nanoseconds", 3, 30);
	add(&f, "\r\n" PART("sample_type_config") "{\"contentions\":{\"display-name\":"
						  "\"mutex_count\"}}\r\n--b--\r\n");
	decodes(&f, 1);
	type_is(&f, 0, "go:mutex_contentions:count", 3);
	type_is(&f, 1, "go:mutex_delay:nanoseconds", 30);
}

/* now and before: alloc_space and inuse_space. */
static void add_two(struct fixture *f, int64_t now, int64_t before, const char *config)
{
	f->req.content_type = BOUNDARY;
	f->body.len = 0;
	add(f, PART("profile"));
	add_pprof(f, "alloc_space/bytes inuse_space/bytes", now, 7);
	add(f, "\r\n" PART("prev_profile"));
	add_pprof(f, "alloc_space/bytes inuse_space/bytes", before, 5);
	add(f, "\r\n" PART("sample_type_config"));
	add(f, config);
	add(f, "\r\n--b--\r\n");
}

static void what_was_there_before_is_subtracted(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	add_two(&f, 100, 60, "{}");
	decodes(&f, 1);
	type_is(&f, 0, "go:heap_alloc_space:bytes", 40);
	type_is(&f, 1, "go:heap_inuse_space:bytes", 7);
	/* the process is new */
	add_two(&f, 50, 60, "{}");
	decodes(&f, 1);
	type_is(&f, 0, "go:heap_alloc_space:bytes", 50);
	/* the client says that nothing is cumulative */
	add_two(&f, 100, 60, "{\"alloc_space\":{}}");
	decodes(&f, 1);
	type_is(&f, 0, "go:heap_alloc_space:bytes", 100);
}

static void forms_are_checked(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	f.req.content_type = "multipart/form-data";
	add(&f, "x");
	refuses(&f, "Content-Type has no valid boundary");
	f.req.content_type = BOUNDARY;
	refuses(&f, "the body is not valid multipart/form-data");
	f.body.len = 0;
	add(&f, PART("other") "x\r\n--b--");
	refuses(&f, "multipart/form-data has neither \"profile\" nor \"jfr\"");
	add_two(&f, 2, 1, "[]");
	refuses(&f, "sample_type_config is not a JSON object of sample types");
	f.body.len = 0;
	add(&f, PART("jfr") "FLR\r\n--b--");
	assert_int_equal(decode(&f), -EBADMSG);
}

/* ---- compression ---- */

static void bodies_may_be_gzipped_once(void **state)
{
	CLEANUP(teardown) struct fixture f;
	CLEANUP(buf_fini) struct buf twice;

	(void)state;
	setup(&f);
	buf_init(&twice, 1 << 20);
	assert_int_equal(gzip_deflate("main 1", 6, 6, &f.body), 0);
	decodes(&f, 1);
	type_is(&f, 0, "pprof:cpu:nanoseconds", 10000000);
	assert_int_equal(gzip_deflate(f.body.data, f.body.len, 6, &twice), 0);
	f.body.len = 0;
	assert_int_equal(buf_add(&f.body, twice.data, twice.len), 0);
	refuses(&f, "gzip within gzip");
}

static void what_inflates_without_end_is_refused(void **state)
{
	CLEANUP(teardown) struct fixture f;
	size_t len = LIMIT_UPLOAD_INFLATED_BYTES + 1;
	char *zeros = calloc(1, len);

	(void)state;
	assert_non_null(zeros);
	setup(&f);
	assert_int_equal(gzip_deflate(zeros, len, 1, &f.body), 0);
	free(zeros);
	assert_int_equal(decode(&f), -EFBIG);
	assert_string_equal(f.err.msg, "the profile inflates to more than 134217728 bytes");
}

static int decode_once(void *arg)
{
	struct fixture *f = arg;
	struct arena arena;
	int r;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	r = ingest_body_decode(&f->parts, &arena, &f->req, f->body.data, f->body.len, &f->err);
	arena_fini(&arena);
	return r;
}

static void memory_may_run_out(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	add(&f, "a;b 1\na;c 1");
	check_oom(decode_once, &f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_py_spy_have_files_and_lines),
		cmocka_unit_test(stacks_of_rbspy_have_files_and_lines),
		cmocka_unit_test(other_frames_keep_their_names),
		cmocka_unit_test(lines_are_a_sample_each),
		cmocka_unit_test(units_say_what_values_are),
		cmocka_unit_test(what_is_no_stack_is_refused),
		cmocka_unit_test(names_of_node_are_without_file_and_line),
		cmocka_unit_test(a_name_has_labels),
		cmocka_unit_test(times_have_any_unit),
		cmocka_unit_test(parameters_are_checked),
		cmocka_unit_test(a_pprof_is_recognised),
		cmocka_unit_test(a_form_says_what_a_pprof_is),
		cmocka_unit_test(what_was_there_before_is_subtracted),
		cmocka_unit_test(forms_are_checked),
		cmocka_unit_test(bodies_may_be_gzipped_once),
		cmocka_unit_test(what_inflates_without_end_is_refused),
		cmocka_unit_test(memory_may_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
