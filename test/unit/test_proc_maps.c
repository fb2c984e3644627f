#include <errno.h>

#include "node-agent/procfs/proc_maps.h"
#include "test/lib/unit.h"

static const struct {
	const char *line;
	int r;
	struct proc_map want; /* without path */
	const char *path;
} cases[] = {
	{"00400000-00401000 r-xp 00001000 08:02 173521 /usr/bin/a b",
	 0,
	 {0x400000, 0x401000, 0x1000, 8, 2, 173521, false, NULL, 0},
	 "/usr/bin/a b"},
	{"7f00-8000 rw-p 00000000 00:00 0 ", 0, {0x7f00, 0x8000, 0, 0, 0, 0, false, NULL, 0}, ""},
	{"7f00-8000 rw-p 00000000 00:00 0", 0, {0x7f00, 0x8000, 0, 0, 0, 0, false, NULL, 0}, ""},
	{"1000-2000 r-xp 00000000 fe:1f 18446744073709551615    /x (deleted)",
	 0,
	 {0x1000, 0x2000, 0, 0xfe, 0x1f, UINT64_MAX, true, NULL, 0},
	 "/x"},
	{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
	 0,
	 {0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, 0, false, NULL, 0},
	 "[vsyscall]"},
	/* a file may be called like the mark alone */
	{"1000-2000 r-xp 0 0:0 1 (deleted)",
	 0,
	 {0x1000, 0x2000, 0, 0, 0, 1, false, NULL, 0},
	 "(deleted)"},
	{"8000-7f00 rw-p 00000000 00:00 0", -EBADMSG, {0}, NULL},
	{"8000-8000 rw-p 00000000 00:00 0", -EBADMSG, {0}, NULL},
	{"11112222333344445-2 r-xp 0 0:0 0", -EBADMSG, {0}, NULL},
	{"1000-2000 r-xp 0 100000000:0 0", -EBADMSG, {0}, NULL},
	{"1000-2000 r-xp 0 0:0 18446744073709551616", -EBADMSG, {0}, NULL},
	{"1000-2000 r-xp 0 0:0 12x", -EBADMSG, {0}, NULL},
	{"1000-2000 r-x 0 0:0 12", -EBADMSG, {0}, NULL},
	{"00400000-", -EBADMSG, {0}, NULL},
	{"00400000-00401000 r-xp", -EBADMSG, {0}, NULL},
	{"", -EBADMSG, {0}, NULL},
};

TEST(reads_every_field_or_nothing)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct proc_map *want = &cases[i].want;
		struct proc_map m = {0};

		assert_int_equal(proc_map_parse(cases[i].line, strlen(cases[i].line), &m),
				 cases[i].r);
		assert_int_equal(m.start, want->start);
		assert_int_equal(m.end, want->end);
		assert_int_equal(m.file_offset, want->file_offset);
		assert_int_equal(m.dev_major, want->dev_major);
		assert_int_equal(m.dev_minor, want->dev_minor);
		assert_int_equal(m.ino, want->ino);
		assert_int_equal(m.deleted, want->deleted);
		if (cases[i].path) {
			assert_int_equal(m.path_len, strlen(cases[i].path));
			assert_memory_equal(m.path, cases[i].path, m.path_len);
		}
	}
}

TEST(executable_mappings_are_told_from_others_at_a_glance)
{
	static const struct {
		const char *line;
		bool executable;
	} lines[] = {
		{"00400000-00401000 r-xp 00001000 08:02 173521 /usr/bin/a b", true},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", true},
		{"7f00-8000 rwxp 00000000 00:00 0", true},
		{"7f00-8000 rw-p 00000000 00:00 0", false},
		{"7f00-8000 r--p 00000000 08:02 1 /x r-xp", false},
		{"7f00-8000", false},
		{"", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(proc_map_is_executable(lines[i].line, strlen(lines[i].line)),
				 lines[i].executable);
}
