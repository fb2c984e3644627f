#include <errno.h>

#include "node-agent/symbol/perf_map.h"
#include "node-agent/symbol/perf_map_name.h"
#include "test/lib/unit.h"

/* name NULL: none. */
static void expect(struct perf_map *m, uint64_t address, const char *name)
{
	const char *found = "";
	size_t len = 0;
	int r = perf_map_find(m, address, &found, &len);

	assert_int_equal(r, name ? 0 : -ENOENT);
	if (!name)
		return;
	if (len != strlen(name) || memcmp(found, name, len) != 0)
		fail_msg("0x%llx: \"%.*s\", not \"%s\"", (unsigned long long)address, (int)len,
			 found, name);
}

static struct perf_map *map_of(const char *text)
{
	struct perf_map *m;

	assert_int_equal(perf_map_new(&m, 1 << 20), 0);
	assert_int_equal(perf_map_add(m, text, strlen(text)), 0);
	return m;
}

TEST(lines_of_all_writers_are_read)
{
	CLEANUP(perf_map_freep)
	struct perf_map *m =
		map_of("1000 10 LazyCompile:*a b /x y.js:1:2\n"
		       "0x00007F0000002000 0x0000000000000020 long a.B.c(int, long)\r\n"
		       "3000\t8\ttabs\n"
		       "4000 10  two blanks \n");

	expect(m, 0xfff, NULL);
	expect(m, 0x1000, "LazyCompile:*a b /x y.js:1:2");
	expect(m, 0x100f, "LazyCompile:*a b /x y.js:1:2");
	expect(m, 0x1010, NULL);
	expect(m, 0x7f000000201f, "long a.B.c(int, long)");
	expect(m, 0x3007, "tabs");
	expect(m, 0x4000, "two blanks");
	expect(m, UINT64_MAX, NULL);
}

TEST(what_is_no_function_is_ignored)
{
	CLEANUP(perf_map_freep)
	struct perf_map *m = map_of("\n \n1000\n1000 10\n1000 10 \nx 10 a\n1000 0 empty\n"
				    "1000 10000001 huge\nfffffffffffffff0 20 wraps\n"
				    "11111111111111111 1 long\n0x 1 a\n1000 -1 a\n"
				    "2000 10 good\n3000 10 not yet");

	expect(m, 0x1000, NULL);
	expect(m, 0xfffffffffffffff8, NULL);
	expect(m, 0x2000, "good");
	expect(m, 0x3000, NULL);
	assert_int_equal(perf_map_add(m, "\n", 1), 0);
	expect(m, 0x3000, "not yet");
}

TEST(the_beginning_of_a_line_counts_until_its_end_comes)
{
	CLEANUP(perf_map_freep) struct perf_map *m = map_of("1000 10 whole\n2000 20 beg");
	size_t bytes;

	expect(m, 0x2010, NULL);
	assert_int_equal(perf_map_add_rest(m), 0);
	expect(m, 0x1000, "whole");
	expect(m, 0x2010, "beg");
	bytes = perf_map_bytes(m);
	assert_int_equal(perf_map_add_rest(m), 0);
	assert_int_equal(perf_map_bytes(m), bytes);
	assert_int_equal(perf_map_add(m, "inning\n3000 1", 13), 0);
	assert_int_equal(perf_map_add_rest(m), 0);
	expect(m, 0x2010, "beginning");
	expect(m, 0x3000, NULL);
	assert_int_equal(perf_map_add(m, "0 last", 6), 0);
	assert_int_equal(perf_map_add_rest(m), 0);
	expect(m, 0x300f, "last");
}

TEST(the_last_written_has_an_address)
{
	CLEANUP(perf_map_freep)
	struct perf_map *m = map_of("1000 100 whole\n1020 20 inside\n1030 40 overlaps\n"
				    "2000 10 old\n2000 10 new\n3000 10 small\n2ff0 100 around\n");
	static const char later[] = "1000 8 later\n";

	expect(m, 0x101f, "whole");
	expect(m, 0x1020, "inside");
	expect(m, 0x102f, "inside");
	expect(m, 0x1030, "overlaps");
	expect(m, 0x106f, "overlaps");
	expect(m, 0x1070, "whole");
	expect(m, 0x10ff, "whole");
	expect(m, 0x2005, "new");
	expect(m, 0x3005, "around");
	assert_int_equal(perf_map_add(m, later, strlen(later)), 0);
	expect(m, 0x1007, "later");
	expect(m, 0x1008, "whole");
}

TEST(pieces_may_end_anywhere_and_lines_be_long)
{
	static const char text[] = "1000 10 first\n2000 10 second\n3000 10 third\n";
	char line[2 * PERF_MAP_LINE_BYTES];
	struct perf_map *m;

	for (size_t step = 1; step < sizeof(text); step++) {
		assert_int_equal(perf_map_new(&m, 0), 0);
		for (size_t i = 0; i < strlen(text); i += step)
			assert_int_equal(
				perf_map_add(m, text + i,
					     step < strlen(text) - i ? step : strlen(text) - i),
				0);
		expect(m, 0x1001, "first");
		expect(m, 0x3001, "third");
		perf_map_free(m);
	}
	m = map_of("");
	memset(line, 'x', sizeof(line));
	memcpy(line, "1000 10 ", 8);
	assert_int_equal(perf_map_add(m, line, sizeof(line)), 0);
	assert_int_equal(perf_map_add(m, "\n2000 10 next\n", 14), 0);
	line[PERF_MAP_LINE_BYTES] = '\0';
	expect(m, 0x1000, line + 8);
	expect(m, 0x2000, "next");
	perf_map_skip_line(m);
	assert_int_equal(perf_map_add(m, "3000 10 rest\n4000 10 line\n", 26), 0);
	expect(m, 0x3000, NULL);
	expect(m, 0x4000, "line");
	perf_map_free(m);
}

TEST(memory_is_bounded_and_the_newest_stay)
{
	enum { BYTES = 256 * 1024, N = 200000 };
	CLEANUP(perf_map_freep) struct perf_map *m = NULL;
	char line[64];

	assert_int_equal(perf_map_new(&m, BYTES), 0);
	/* one function that is compiled again and again needs no more than one */
	for (unsigned i = 0; i < N; i++) {
		int len = snprintf(line, sizeof(line), "1000 10 version%u\n", i);

		assert_int_equal(perf_map_add(m, line, (size_t)len), 0);
	}
	assert_false(perf_map_is_cut(m));
	expect(m, 0x1008, "version199999");
	for (unsigned i = 0; i < N; i++) {
		int len = snprintf(line, sizeof(line), "%x 10 f%u\n", 0x100000 + 16 * i, i);

		assert_int_equal(perf_map_add(m, line, (size_t)len), 0);
		assert_true(perf_map_bytes(m) < (size_t)2 * BYTES);
	}
	assert_true(perf_map_is_cut(m));
	expect(m, 0x100000 + 16 * (N - 1), "f199999");
	expect(m, 0x100000 + 16 * (N - 1000), "f199000");
	expect(m, 0x100000, NULL);
}

/* Against the definition: the last line that has an address. */
TEST(many_random_ranges_are_right)
{
	enum { N = 300, SPACE = 1000 };
	uint32_t starts[N], sizes[N], x = 1;

	for (unsigned round = 0; round < 30; round++) {
		CLEANUP(perf_map_freep) struct perf_map *m = map_of("");
		char line[64];

		for (unsigned i = 0; i < N; i++) {
			x = x * 1664525 + 1013904223;
			starts[i] = (x >> 8) % SPACE;
			sizes[i] = (x >> 20) % (round + 2);
			(void)snprintf(line, sizeof(line), "%x %x n%u\n", starts[i], sizes[i], i);
			assert_int_equal(perf_map_add(m, line, strlen(line)), 0);
			if (i == N / 2)
				expect(m, SPACE * 2, NULL); /* sorted in between */
		}
		for (uint32_t at = 0; at < SPACE + 40; at++) {
			unsigned last = N;

			for (unsigned i = 0; i < N; i++)
				last = at >= starts[i] && at < starts[i] + sizes[i] ? i : last;
			(void)snprintf(line, sizeof(line), "n%u", last);
			expect(m, at, last < N ? line : NULL);
		}
	}
}

TEST(names_are_those_that_a_reader_knows)
{
	static const struct {
		const char *text, *function, *file;
		uint32_t line;
	} cases[] = {
		{"LazyCompile:*hot /tmp/a.js:1:13", "hot", "/tmp/a.js", 1},
		{"JS:~get size file:///srv/my app/b.mjs:120:9", "get size", "/srv/my_app/b.mjs",
		 120},
		{"Function:^emit node:events:466:44", "emit", "node:events", 466},
		{"JS:* /app/c.js:7", "(anonymous)", "/app/c.js", 7},
		{"Script:~ /app/c.js:1:1", "(anonymous)", "/app/c.js", 1},
		{"JS:+wasm-function[12]", "wasm-function[12]", "[jit]", 0},
		{"Builtin:ArrayPush", "Builtin:ArrayPush", "[jit]", 0},
		{"long B.hot(int)", "B.hot", "B", 0},
		{"void java.lang.Object.<init>()", "java.lang.Object.<init>", "java/lang/Object",
		 0},
		{"void B$$Lambda$1/0x00007f6784000a08.run()", "B$$Lambda.run", "B", 0},
		{"java.lang.Object java.util.HashMap$Node.put(int, java.lang.Object)",
		 "java.util.HashMap$Node.put", "java/util/HashMap", 0},
		{"Ljava/util/HashMap;::put", "java.util.HashMap.put", "java/util/HashMap", 0},
		{"Lapp/Main$Job;::run(I)V", "app.Main$Job.run", "app/Main", 0},
		{"I2C/C2I adapters", "I2C/C2I adapters", "[jit]", 0},
		{"StubRoutines (1)", "StubRoutines (1)", "[jit]", 0},
		{"int32 [System.Private.CoreLib] System.String::Concat(string,string)[PreJIT]",
		 "System.String.Concat", "[System.Private.CoreLib]", 0},
		{"instance void [App] App.Main::Run(class [System.Runtime]X)[OptimizedTier1]",
		 "App.Main.Run", "[App]", 0},
		{"py::run:/app/a.py", "run", "/app/a.py", 0},
		{"py::<module>:<string>", "<module>", "<string>", 0},
		{"wasm[0]::function[3]::add", "wasm[0]::function[3]::add", "[jit]", 0},
		{"RegExp:^x y\\.z(a)", "RegExp:^x y\\.z(a)", "[jit]", 0},
		{"RegExp:a;b [c] d::e(f)[g]", "RegExp:a;b [c] d::e(f)[g]", "[jit]", 0},
		{"some: thing a.b(c)", "some: thing a.b(c)", "[jit]", 0},
		{"java.lang.String[] A.b(int)", "A.b", "A", 0},
		{"TRACE_12::/app/a b.lua:34", "TRACE_12", "/app/a_b.lua", 34},
		{"TRACE_12::/app/a.lua", "TRACE_12::/app/a.lua", "[jit]", 0},
		{"TRACE_x::/app/a.lua:1", "TRACE_x::/app/a.lua:1", "[jit]", 0},
		{"TRACE-2$App::run$17", "TRACE-2$App::run$17", "[jit]", 0},
		{"JIT$App::run", "JIT$App::run", "[jit]", 0},
		{"$lists:map/2", "$lists:map/2", "[lists]", 0},
		{"$'Elixir.App':'-run/1-fun-0-'/3", "$'Elixir.App':'-run/1-fun-0-'/3",
		 "['Elixir.App']", 0},
		{"$global::apply/x", "$global::apply/x", "[jit]", 0},
		{"$global::call_light_bif_shared", "$global::call_light_bif_shared", "[jit]", 0},
		{"julia_f;g_12", "julia_f;g_12", "[jit]", 0},
		{"a\x1b[31m\xff", "a?[31m?", "[jit]", 0},
		{"", "[unknown]", "[jit]", 0},
		{"JS:", "(anonymous)", "[jit]", 0},
		{"L;::x", "L;::x", "[jit]", 0},
		{"py::", "py::", "[jit]", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perf_map_name name;

		perf_map_name_parse(&name, cases[i].text, strlen(cases[i].text));
		assert_string_equal(name.function, cases[i].function);
		assert_string_equal(name.file, cases[i].file);
		assert_int_equal(name.line, cases[i].line);
	}
}
