/* Requests of Pyroscope's /ingest → parts. */
#include "cluster-agent/push/foreign_part.h"
#include "common/data/buf.h"
#include "common/data/gzip.h"
#include "common/pprof/pprof_encode.h"
#include "test/lib/ingest_request.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define BOUNDARY "multipart/form-data; boundary=b"
#define PART(name) "--b\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n"

static void has_label(const struct fixture *f, size_t i, const char *name, const char *value)
{
	const struct row_label *l = &f->parts.items[0].labels[i];

	assert_true(i < f->parts.items[0].n_labels);
	assert_string_equal(l->name.data, name);
	assert_string_equal(l->value.data, value);
}

/* A pprof of "name/unit …" with one stack. */
static void add_pprof(struct fixture *f, const char *types, int64_t a, int64_t b)
{
	const struct made_sample sample = {.stack = {1, 2}, .depth = 2, .values = {a, b}};
	struct profile p = made_profile(&f->arena, types, &sample, 1);

	assert_int_equal(pprof_encode(&p, &f->body), 0);
}

/* ---- folded stacks ---- */

TEST(stacks_of_py_spy_have_files_and_lines)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(stacks_of_rbspy_have_files_and_lines)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(other_frames_keep_their_names)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(lines_are_a_sample_each)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(units_say_what_values_are)
{
	check_units("bytes", "sum", "go:heap_alloc_space:bytes");
	check_units("bytes", "average", "go:heap_inuse_space:bytes");
	check_units("objects", "average", "go:heap_inuse_objects:count");
	check_units("goroutines", "average", "go:goroutine_goroutine:count");
	check_units("lock_nanoseconds", NULL, "go:block_delay:nanoseconds");
	check_units("nanoseconds", NULL, "go:profile_cpu:nanoseconds");
}

TEST(what_is_no_stack_is_refused)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	refuses(&f, "the body is empty");
	add(&f, "\nmain;a\nmain;b\n");
	refuses(&f, "line 2 is not \"frame;frame value\", folded stacks, which is the default "
		    "format, and no other line is");
}

static uint64_t lost(const struct fixture *f, enum profile_loss loss)
{
	return profile(f)->losses.n[loss];
}

static void check_folded(const char *text, size_t n_samples, int64_t total_ns)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add(&f, text);
	decodes(&f, 1);
	if (profile(&f)->n_samples != n_samples || made_profile_sum(profile(&f), 0) != total_ns)
		fail_msg("%s: %u samples, %lld", text, profile(&f)->n_samples,
			 (long long)made_profile_sum(profile(&f), 0));
	assert_int_equal(lost(&f, PROFILE_LOSS_BROKEN_LINES), 0);
	frame_is(&f, 0, "a", "", 0);
}

TEST(values_of_stacks_have_any_form)
{
	const int64_t sample = 10000000;

	check_folded("main;a 3\r\nmain;b 4\r\n", 2, 7 * sample);
	check_folded("\xef\xbb\xbfmain;a 3", 1, 3 * sample);
	check_folded("main;a\t3\nmain;b \t 4\t\n", 2, 7 * sample);
	check_folded("  main ;  a    3  ", 1, 3 * sample);
	check_folded("main;a +7", 1, 7 * sample);
	check_folded("main;a 1e3\nmain;b 2.5E+2\nmain;c 5e-1", 3, 1250 * sample + sample / 2);
	/* decimals are not rounded line by line */
	check_folded("main;a 0.4\nmain;b 0.4\nmain;c 0.2", 3, sample);
	check_folded("main;a 1.5\nmain;b .25\nmain;c 3.", 3, 4 * sample + 3 * sample / 4);
	/* comments, and what looks like one */
	check_folded("# flame\n#\n#comment 5\nmain;a 3\n# end 7", 1, 3 * sample);
	check_folded("#<Shop>#save;a 3", 1, 3 * sample);
	check_folded("#run;a 3", 1, 3 * sample);
	/* before and after */
	check_folded("main;a 10 3\nmain;b 0\t4.0\n", 2, 7 * sample);
}

TEST(a_number_before_the_value_is_of_the_name_unless_all_lines_have_one)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add(&f, "main;worker 3 12\nmain;a 1");
	decodes(&f, 1);
	frame_is(&f, 0, "worker 3", "", 0);
	type_is(&f, 0, "pprof:cpu:nanoseconds", 13 * INT64_C(10000000));
}

TEST(sums_of_decimals_are_kept)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.req.query.units = "bytes";
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_addf(&f.body, "main;f%d 0.3\n", i), 0);
	decodes(&f, 1);
	type_is(&f, 0, "pprof:heap_alloc_space:bytes", 300);
}

TEST(lines_that_cannot_be_read_are_left_out_and_counted)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(buf_addf(&f.body, i == 5000 ? "<html>\n" : "main;f%d 1\n", i), 0);
	add(&f, "main;a -1\nmain;a 1e300\nmain;a 0x10\nmain;a nan\nmain;a\n7\n");
	f.req.query.units = "objects";
	decodes(&f, 1);
	assert_int_equal(profile(&f)->n_samples, 9999 + 2);
	assert_int_equal(lost(&f, PROFILE_LOSS_BROKEN_LINES), 1 + 4);
	assert_int_equal(lost(&f, PROFILE_LOSS_NEGATIVE_VALUES), 1);
	assert_int_equal(lost(&f, PROFILE_LOSS_CLAMPED_VALUES), 1);
	assert_true(profile(&f)->samples[9999].values[0] == 0);
	assert_true(profile(&f)->samples[10000].values[0] == INT64_MAX);
}

TEST(the_root_of_a_deep_stack_is_cut)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(buf_addf(&f.body, "f%d;", i), 0);
	add(&f, " 1\nmain;a 1");
	decodes(&f, 1);
	assert_int_equal(profile(&f)->samples[0].n_locations, LIMIT_PPROF_STACK_DEPTH);
	frame_is(&f, 0, "f4999", "", 0);
	frame_is(&f, LIMIT_PPROF_STACK_DEPTH - 1, "[truncated]", "", 0);
	assert_int_equal(lost(&f, PROFILE_LOSS_CUT_STACKS), 1);
	assert_int_equal(profile(&f)->n_samples, 2);
}

static void check_austin(const char *mode, const char *values[2], const char *type, int64_t total)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	assert_int_equal(
		buf_addf(&f.body,
			 "# austin: 3.7.0\n# interval: 10000\n# mode: %s\n# python: 3.11.2\n\n"
			 "P42;T0:42;/srv/app.py:<module>:7;/srv/a b.py:leaf:12 %s\n"
			 "P42;T0:42;/srv/app.py:<module>:8;:GC: %s\n\n# duration: 20000\n",
			 mode, values[0], values[1]),
		0);
	decodes(&f, 1);
	assert_int_equal(profile(&f)->n_samples, 2);
	type_is(&f, 0, type, total);
	frame_is(&f, 0, "leaf", "/srv/a b.py", 12);
	frame_is(&f, 1, "<module>", "/srv/app.py", 7);
	frame_is(&f, 3, "P42", "", 0);
	assert_false(profile_losses_any(&profile(&f)->losses));
}

TEST(files_of_austin_say_what_their_values_are)
{
	check_austin("wall", (const char *[]){"10013", "7"}, "python:wall:nanoseconds", 10020000);
	check_austin("cpu", (const char *[]){"10013", "7"}, "python:cpu:nanoseconds", 10020000);
	check_austin("memory", (const char *[]){"4096", "0"}, "python:heap_alloc_space:bytes",
		     4096);
	check_austin("full", (const char *[]){"10013,0,-512", "7,1,0"}, "python:wall:nanoseconds",
		     10020000);
	check_austin("full", (const char *[]){"10013 4096", "7 0"}, "python:wall:nanoseconds",
		     10020000);
}

TEST(names_of_node_are_without_file_and_line)
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

TEST(a_name_has_labels)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(times_have_any_unit)
{
	const int64_t s = (int64_t)NS_PER_S, t = 1795451163;

	check_window("1795451163", "1795451173", t * s, (t + 10) * s);
	check_window("1795451163000", "1795451173000", t * s, (t + 10) * s);
	check_window("1795451163000000", "1795451173000000", t * s, (t + 10) * s);
	check_window("1795451163000000001", "1795451173", t * s + 1, (t + 10) * s);
	check_window("1799999000", NULL, INT64_C(1799999000) * s, NOW_NS);
	check_window(NULL, "1795451163", t * s, t * s);
}

TEST(names_are_checked)
{
	CLEANUP(teardown) struct fixture f;

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
}

TEST(times_may_be_relative_or_have_fractions)
{
	const int64_t s = (int64_t)NS_PER_S, t = 1795451163;

	check_window("now-1h", "now", NOW_NS - 3600 * s, NOW_NS);
	check_window("now-1h30m", "now-30min", NOW_NS - 5400 * s, NOW_NS - 1800 * s);
	check_window("-2d", "-1.5 d", NOW_NS - 172800 * s, NOW_NS - 129600 * s);
	check_window("now", NULL, NOW_NS, NOW_NS);
	check_window("1795451163.5", "1795451173.25", t * s + s / 2, (t + 10) * s + s / 4);
	check_window("1_795_451_163", "1,795,451,173", t * s, (t + 10) * s);
	check_window("1799999000250.5", NULL, INT64_C(1799999000) * s + 250500000, NOW_NS);
	check_window("20261123", "2026-11-23T00:00:10Z", 1795392000 * s, 1795392010 * s);
	/* an open window is not of years */
	check_window("1", NULL, s, s);
}

static void check_default(const struct ingest_query *q, int64_t total, const char *note)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.req.query = *q;
	f.req.query.name = "app";
	add(&f, "main 1");
	decodes(&f, 1);
	type_is(&f, 0, "pprof:cpu:nanoseconds", total);
	assert_int_equal(profile(&f)->time_ns, 0);
	if (note)
		assert_string_equal(f.parts.note, note);
	else
		assert_null(f.parts.note);
}

TEST(parameters_that_mean_nothing_have_defaults)
{
	const int64_t sample = 10000000;

	check_default(&(struct ingest_query){.sample_rate = "99.5"}, 10050251, NULL);
	check_default(&(struct ingest_query){.sample_rate = "1e3"}, 1000000, NULL);
	check_default(&(struct ingest_query){.sample_rate = ""}, sample, NULL);
	check_default(&(struct ingest_query){.sample_rate = "-1"}, sample,
		      "sampleRate is taken for 100: \"-1\" is not a rate");
	check_default(&(struct ingest_query){.sample_rate = "abc"}, sample,
		      "sampleRate is taken for 100: \"abc\" is not a rate");
	check_default(&(struct ingest_query){.sample_rate = "0"}, sample,
		      "sampleRate is taken for 100: \"0\" is not a rate");
	check_default(&(struct ingest_query){.sample_rate = "1e30"}, sample,
		      "sampleRate is taken for 100: \"1e30\" is not a rate");
	check_default(&(struct ingest_query){.units = "miles"}, sample,
		      "units \"miles\" are not known and taken for samples");
	check_default(&(struct ingest_query){.format = "other"}, sample,
		      "format \"other\" is not known; the body decides");
	check_default(&(struct ingest_query){.from = "yesterday"}, sample,
		      "from is ignored: \"yesterday\" is not a time");
	check_default(&(struct ingest_query){.from = "now-1lightyear", .until = "-"}, sample,
		      "from is ignored: \"now-1lightyear\" is not a time; "
		      "until is ignored: \"-\" is not a time");
	check_default(&(struct ingest_query){.until = "99999999999"}, sample,
		      "until is ignored: \"99999999999\" is not a time");
	check_default(&(struct ingest_query){.until = "now-9999999999999999999999y"}, sample,
		      "until is ignored: \"now-9999999999999999999999y\" is not a time");
}

TEST(a_start_after_the_end_is_ignored)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.req.query.from = "now";
	f.req.query.until = "now-1h";
	add(&f, "main 1");
	decodes(&f, 1);
	assert_true(profile(&f)->time_ns == NOW_NS - INT64_C(3600) * (int64_t)NS_PER_S);
	assert_int_equal(profile(&f)->duration_ns, 0);
	assert_string_equal(f.parts.note, "from is ignored: it is after until");
}

static void check_ending(const char *name, const char *type, int64_t total)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.req.query = (struct ingest_query){.name = name, .spy_name = "gospy"};
	add(&f, "main 2");
	decodes(&f, 1);
	type_is(&f, 0, type, total);
	assert_int_equal(f.parts.items[0].service.len, strlen("my.app"));
	assert_memory_equal(f.parts.items[0].service.data, "my.app", strlen("my.app"));
}

TEST(endings_of_names_say_what_values_are)
{
	check_ending("my.app{}", "go:profile_cpu:nanoseconds", 20000000);
	check_ending("my.app.cpu{}", "go:profile_cpu:nanoseconds", 20000000);
	check_ending("my.app.wall{a=b}", "go:wall:nanoseconds", 20000000);
	check_ending("my.app.inuse_space", "go:heap_inuse_space:bytes", 2);
	check_ending("my.app.mutex_duration", "go:mutex_delay:nanoseconds", 2);
	check_ending("my.app.block_count", "go:block_contentions:count", 2);
	check_ending("my.app.exceptions", "go:exceptions:count", 2);
}

/* ---- pprof ---- */

TEST(a_pprof_is_recognised)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(a_form_says_what_a_pprof_is)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(what_was_there_before_is_subtracted)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(forms_are_checked)
{
	CLEANUP(teardown) struct fixture f;

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

TEST(bodies_may_be_gzipped_once)
{
	CLEANUP(teardown) struct fixture f;
	CLEANUP(buf_fini) struct buf twice;

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

TEST(what_inflates_without_end_is_refused)
{
	CLEANUP(teardown) struct fixture f;
	size_t len = LIMIT_UPLOAD_INFLATED_BYTES + 1;
	char *zeros = calloc(1, len);

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

TEST(memory_may_run_out)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add(&f, "a;b 1\na;c 1");
	check_oom(decode_once, &f);
}
