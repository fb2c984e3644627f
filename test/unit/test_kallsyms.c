#include <errno.h>

#include "node-agent/symbol/kallsyms.h"
#include "test/lib/unit.h"

static const char text[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000040 t do_one_initcall\n"
			   "ffffffff81000300 W weak_one\n"
			   "ffffffff81000400 T _etext\n"
			   "ffffffff81200000 D some_data\n"
			   "ffffffff81200100 d more_data\n"
			   "ffffffffc0100200 t second\t[nf_tables]\n"
			   "ffffffffc0100000 t first\t[nf_tables]\n"
			   "ffffffffc0300000 t other\t[veth]\n"
			   "ffffffffc0400000 t bpf_prog_1234_sample\t[bpf]\n"
			   "garbage\n"
			   "\n"
			   "ffffffff81000310 T\n"
			   "ffffffff81000320 T $x\n";

static struct kallsyms *parse(const char *s, size_t len, size_t step, int outcome)
{
	struct kallsyms *k;

	assert_int_equal(kallsyms_new(&k), 0);
	for (size_t i = 0; i < len; i += step)
		assert_int_equal(kallsyms_add(k, s + i, len - i < step ? len - i : step), 0);
	assert_int_equal(kallsyms_finish(k), outcome);
	return k;
}

static void expect(struct kallsyms *k, uint64_t address, const char *name)
{
	const char *found = kallsyms_find(k, address);

	if (!name)
		assert_null(found);
	else
		assert_string_equal(found, name);
}

TEST(a_function_ends_where_the_next_symbol_begins)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = parse(text, sizeof(text) - 1, 1000, 0);

	expect(k, 0, NULL);
	expect(k, 0xffffffff80ffffff, NULL);
	expect(k, 0xffffffff81000000, "_stext");
	expect(k, 0xffffffff8100003f, "_stext");
	expect(k, 0xffffffff81000040, "do_one_initcall");
	expect(k, 0xffffffff810002ff, "do_one_initcall");
	expect(k, 0xffffffff81000320, "weak_one");
	expect(k, 0xffffffff81200000, NULL);
	expect(k, 0xffffffff81200500, NULL);
}

TEST(modules_and_bpf_programs_are_sorted_in)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = parse(text, sizeof(text) - 1, 7, 0);

	expect(k, 0xffffffffc01001ff, "first");
	expect(k, 0xffffffffc0100210, "second");
	expect(k, 0xffffffffc0300010, "other");
	expect(k, 0xffffffffc0400010, "bpf_prog_1234_sample");
}

TEST(the_gap_behind_a_module_has_no_name)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = parse(text, sizeof(text) - 1, 1, 0);

	expect(k, 0xffffffffc0100200 + KALLSYMS_GAP_MAX_BYTES - 1, "second");
	expect(k, 0xffffffffc0100200 + KALLSYMS_GAP_MAX_BYTES, NULL);
	expect(k, 0xffffffffc0400000 + KALLSYMS_GAP_MAX_BYTES, NULL);
	expect(k, UINT64_MAX, NULL);
}

TEST(zero_addresses_are_hidden_symbols)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t foo\n";
	CLEANUP(kallsyms_freep)
	struct kallsyms *k = parse(hidden, sizeof(hidden) - 1, 100, KALLSYMS_HIDDEN);

	expect(k, 0xffffffff81000000, NULL);
}

TEST(an_empty_text_is_no_error)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = parse("", 0, 1, KALLSYMS_READY);

	assert_int_equal(kallsyms_count(k), 0);
}

TEST(a_line_that_is_too_long_is_skipped_alone)
{
	char lines[3000];
	size_t n =
		(size_t)snprintf(lines, sizeof(lines), "ffffffff81000000 T a\nffffffff81000010 T ");
	CLEANUP(kallsyms_freep) struct kallsyms *k = NULL;

	memset(lines + n, 'x', 2000);
	n += 2000;
	n += (size_t)snprintf(lines + n, sizeof(lines) - n, "\nffffffff81000020 T b\n");
	k = parse(lines, n, 100, KALLSYMS_READY);
	expect(k, 0xffffffff81000018, "a");
	expect(k, 0xffffffff81000020, "b");
}

TEST(the_last_line_needs_no_newline)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = parse("ffffffff81000000 T last", 23, 5, 0);

	expect(k, 0xffffffff81000004, "last");
}

static int parse_a_little(void *arg)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = NULL;
	int r;

	(void)arg;
	r = kallsyms_new(&k);
	if (r == 0)
		r = kallsyms_add(k, text, sizeof(text) - 1);
	return r < 0 ? r : kallsyms_finish(k);
}

TEST(survives_every_failed_allocation)
{
	check_oom(parse_a_little, NULL);
}

/* Looks up each function of the running kernel. */
TEST(the_running_kernel_is_read_whole)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = NULL;
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512], type;
	unsigned long long address;
	size_t n = 0, n_same = 0;
	const char *found;
	int outcome;

	assert_non_null(f);
	assert_int_equal(kallsyms_new(&k), 0);
	while (fgets(line, sizeof(line), f))
		assert_int_equal(kallsyms_add(k, line, strlen(line)), 0);
	outcome = kallsyms_finish(k);
	assert_true(outcome == KALLSYMS_READY || (outcome == KALLSYMS_HIDDEN && geteuid() != 0));
	rewind(f);
	while (outcome == KALLSYMS_READY && fgets(line, sizeof(line), f)) {
		assert_int_equal(sscanf(line, "%llx %c %511s", &address, &type, name), 3);
		if (!strchr("tT", type) || address < (UINT64_C(1) << 63))
			continue;
		found = kallsyms_find(k, address);
		/* BPF programs and what the kernel generates come and go meanwhile */
		if (!found && (strstr(line, "[bpf]") || strstr(line, "[__builtin__")))
			continue;
		n++;
		assert_non_null(found);
		n_same += strcmp(found, name) == 0;
	}
	fclose(f);
	/* the others are aliases */
	assert_true(n_same * 10 >= n * 9);
	assert_true(outcome == KALLSYMS_HIDDEN || n > 10000);
}
