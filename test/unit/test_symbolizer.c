/* The whole folder on this process itself: its file, its libraries, the vDSO, the kernel. */
#include "node-agent/symbol/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>

#include "node-agent/symbol/symbol_metrics.h"
#include "test/lib/handler_return.h"
#include "test/lib/unit.h"

/* The mapping of /proc/self/maps that has the address; its path is the caller's to free. */
static void find_mapping(uint64_t address, struct symbol_mapping *ret)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];

	memset(ret, 0, sizeof(*ret));
	ret->fd = -1;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uint64_t start, end, offset;
		int path = 0;
		struct file_version version;

		assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n",
					&start, &end, &offset, &path),
				 3);
		if (address < start || address >= end)
			continue;
		line[strcspn(line, "\n")] = '\0';
		ret->path = strdup(line + path);
		ret->start = start;
		ret->file_offset = offset;
		ret->fd = open(ret->path, O_RDONLY | O_CLOEXEC);
		if (ret->fd >= 0 && file_version_read(ret->fd, "", &version, NULL) == 0)
			ret->id = version.id;
		break;
	}
	fclose(f);
	assert_non_null(ret->path);
}

static void drop_mapping(struct symbol_mapping *m)
{
	free((void *)(uintptr_t)m->path);
	closep(&m->fd);
}

static int start(void **state)
{
	const struct symbolizer_config cfg = {.table_budget_bytes = 0};

	return symbolizer_new((struct symbolizer **)state, &cfg);
}

static int stop(void **state)
{
	symbolizer_free(*state);
	return 0;
}

static const struct symbol_frame *resolve(struct symbolizer *s, const struct symbol_mapping *m,
					  uint64_t address, enum symbol_address_kind kind)
{
	const struct symbol_location *l = symbolizer_resolve_user(s, m, address, kind);

	assert_int_equal(l->n, 1);
	return l->frames;
}

static uint64_t counted(enum symbol_metric m)
{
	return metric_get(&symbol_metrics[m]);
}

TEST_FIXTURE(our_own_functions_have_their_names, start, stop)
{
	uint64_t address = (uintptr_t)symbolizer_new;
	struct symbol_mapping m;
	const struct symbol_frame *f;
	uint64_t cached = counted(SYMBOL_METRIC_CACHED);

	find_mapping(address, &m);
	f = resolve(*state, &m, address, SYMBOL_ADDRESS_EXACT);
	assert_string_equal(f->function, "symbolizer_new");
	assert_string_equal(f->file, "[test_symbolizer]");
	/* its return address would belong to the function before it */
	assert_string_not_equal(resolve(*state, &m, address, SYMBOL_ADDRESS_RETURN)->function,
				"symbolizer_new");
	assert_ptr_equal(resolve(*state, &m, address + 1, SYMBOL_ADDRESS_RETURN), f);
	assert_true(counted(SYMBOL_METRIC_CACHED) > cached);
	drop_mapping(&m);
}

/* Two functions without a byte in between, the first of which ends with a call. */
__asm__(".text\n"
	".globl ends_with_a_call, begins_behind\n"
	".type ends_with_a_call, %function\n"
	"ends_with_a_call:\n"
	"	nop\n"
	"	nop\n"
	".size ends_with_a_call, . - ends_with_a_call\n"
	".type begins_behind, %function\n"
	"begins_behind:\n"
	"	nop\n"
	"	ret\n"
	".size begins_behind, . - begins_behind\n");
void ends_with_a_call(void);
void begins_behind(void);

TEST_FIXTURE(the_first_byte_is_the_functions_unless_a_call_returns_there, start, stop)
{
	uint64_t address = (uintptr_t)begins_behind;
	struct symbol_mapping m;

	find_mapping(address, &m);
	assert_string_equal(resolve(*state, &m, address, SYMBOL_ADDRESS_EXACT)->function,
			    "begins_behind");
	assert_string_equal(resolve(*state, &m, address, SYMBOL_ADDRESS_RETURN)->function,
			    "ends_with_a_call");
	assert_string_equal(
		resolve(*state, &m, (uintptr_t)ends_with_a_call, SYMBOL_ADDRESS_EXACT)->function,
		"ends_with_a_call");
	drop_mapping(&m);
}

TEST_FIXTURE(what_a_signal_handler_returns_to_has_a_name, start, stop)
{
	uint64_t signal_return = handler_return_address();
	struct symbol_mapping m;
	const char *name;

	assert_true(signal_return > 0);
	find_mapping(signal_return, &m);
	name = resolve(*state, &m, signal_return, SYMBOL_ADDRESS_RETURN)->function;
	assert_true(strcmp(name, SYMBOL_SIGNAL_RETURN) == 0 ||
		    strcmp(name, "__kernel_rt_sigreturn") == 0);
	drop_mapping(&m);
}

TEST_FIXTURE(a_file_that_may_hang_is_read_all_the_same, start, stop)
{
	uint64_t address = (uintptr_t)our_own_functions_have_their_names;
	struct symbol_mapping m;

	find_mapping(address, &m);
	m.may_hang = true;
	assert_string_equal(resolve(*state, &m, address, SYMBOL_ADDRESS_EXACT)->function,
			    "our_own_functions_have_their_names");
	drop_mapping(&m);
}

TEST_FIXTURE(a_library_function_has_its_exported_name, start, stop)
{
	uint64_t address = (uintptr_t)getpid;
	struct symbol_mapping m;
	const struct symbol_frame *f;

	find_mapping(address, &m);
	f = resolve(*state, &m, address, SYMBOL_ADDRESS_EXACT);
	assert_string_equal(f->function, "getpid");
	assert_string_equal(f->file, "[libc.so.6]");
	drop_mapping(&m);
}

TEST_FIXTURE(equal_strings_are_the_same_pointer, start, stop)
{
	struct symbol_mapping m;
	const struct symbol_frame *a, *b;

	find_mapping((uintptr_t)getpid, &m);
	a = resolve(*state, &m, (uintptr_t)getpid, SYMBOL_ADDRESS_EXACT);
	b = resolve(*state, &m, (uintptr_t)getppid, SYMBOL_ADDRESS_EXACT);
	assert_ptr_equal(a->file, b->file);
	assert_ptr_equal(symbolizer_frame(*state, "getpid", "[libc.so.6]")->frames, a);
	drop_mapping(&m);
}

TEST_FIXTURE(the_vdso_has_names, start, stop)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR), found = 0;
	struct symbol_mapping m;

	assert_true(vdso != 0);
	find_mapping(vdso, &m);
	assert_string_equal(m.path, "[vdso]");
	for (uint64_t a = vdso; a < vdso + 8192; a++) {
		const struct symbol_frame *f = resolve(*state, &m, a, SYMBOL_ADDRESS_EXACT);

		assert_string_equal(f->file, "[vdso]");
		found += strcmp(f->function, "clock_gettime") == 0;
	}
	assert_true(found > 0);
	drop_mapping(&m);
}

TEST_FIXTURE(what_has_no_file_is_unknown, start, stop)
{
	const struct symbol_mapping jit = {.path = "", .fd = -1, .start = 0x1000};
	const struct symbol_mapping heap = {.path = "[heap]", .fd = -1, .start = 0x1000};
	const struct symbol_mapping *const mappings[] = {NULL, &jit, &heap};
	uint64_t before = counted(SYMBOL_METRIC_NO_MAPPING);

	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++) {
		const struct symbol_frame *f =
			resolve(*state, mappings[i], 0x1800, SYMBOL_ADDRESS_EXACT);

		assert_string_equal(f->function, "[unknown]");
		assert_string_equal(f->file, "");
	}
	assert_int_equal(counted(SYMBOL_METRIC_NO_MAPPING), before + 3);
}

TEST_FIXTURE(a_file_that_cannot_be_opened_shows_the_offset, start, stop)
{
	const struct symbol_mapping m = {.path = "/usr/lib/my lib.so (deleted)",
					 .fd = -1,
					 .start = 0x7f0000001000,
					 .file_offset = 0x2000};
	const struct symbol_frame *f = resolve(*state, &m, 0x7f0000001234, SYMBOL_ADDRESS_EXACT);

	assert_string_equal(f->function, "my_lib.so+0x2234");
	assert_string_equal(f->file, "[my_lib.so]");
}

TEST_FIXTURE(a_file_that_is_no_elf_file_shows_the_offset, start, stop)
{
	struct symbol_mapping m = {.path = "/proc/self/maps", .start = 0x1000, .id = {1, 2, 3, 4}};
	uint64_t before = counted(SYMBOL_METRIC_BAD_ELF);

	m.fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	m.id.size_bytes = 64;
	assert_string_equal(resolve(*state, &m, 0x1010, SYMBOL_ADDRESS_EXACT)->function,
			    "maps+0x10");
	assert_int_equal(counted(SYMBOL_METRIC_BAD_ELF), before + 1);
	closep(&m.fd);
}

TEST_FIXTURE(a_file_truncated_meanwhile_is_no_crash, start, stop)
{
	char path[] = "/tmp/symbolizer-XXXXXX";
	uint64_t address = (uintptr_t)symbolizer_new;
	struct symbol_mapping m, copy;
	char buf[4096];
	off_t at = 0;
	ssize_t n;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	find_mapping(address, &m);
	for (; (n = pread(m.fd, buf, sizeof(buf), at)) > 0; at += n)
		assert_int_equal(pwrite(fd, buf, (size_t)n, at), n);
	copy = m;
	copy.fd = fd;
	copy.path = path;
	copy.id.ino++;
	assert_string_equal(resolve(*state, &copy, address, SYMBOL_ADDRESS_EXACT)->function,
			    "symbolizer_new");
	assert_int_equal(ftruncate(fd, 5000), 0);
	assert_non_null(strstr(
		resolve(*state, &copy, (uintptr_t)symbolizer_free, SYMBOL_ADDRESS_EXACT)->function,
		"+0x"));
	unlink(path);
	close(fd);
	drop_mapping(&m);
}

TEST_FIXTURE(kernel_addresses_have_names, start, stop)
{
	struct symbolizer *s = *state;
	uint64_t address = 0;
	char line[512], name[256] = "";
	const struct symbol_location *l;
	FILE *f = fopen("/proc/kallsyms", "re");

	assert_non_null(f);
	while (address == 0 && fgets(line, sizeof(line), f)) {
		if (strstr(line, " do_syscall_64\n") || strstr(line, " el0t_64_sync\n") ||
		    strstr(line, " el0_svc\n"))
			assert_int_equal(sscanf(line, "%" SCNx64 " %*c %255s", &address, name), 2);
	}
	fclose(f);
	if (address == 0) {
		/* kernel addresses are hidden */
		l = symbolizer_resolve_kernel(s, UINT64_C(0xffffffff81000000),
					      SYMBOL_ADDRESS_EXACT);
		assert_string_equal(l->frames->function, "[kernel]");
	} else {
		l = symbolizer_resolve_kernel(s, address + 8, SYMBOL_ADDRESS_RETURN);
		assert_string_equal(l->frames->function, name);
		l = symbolizer_resolve_kernel(s, 0x8000000000000000, SYMBOL_ADDRESS_EXACT);
		assert_string_equal(l->frames->function, "[unknown]");
	}
	assert_string_equal(l->frames->file, "[kernel]");
}

TEST(hidden_kernel_symbols_say_so)
{
	const char *root = temp_dir();
	char path[64];
	struct symbolizer_config cfg = {.proc_root = root};
	CLEANUP(symbolizer_freep) struct symbolizer *s = NULL;
	const struct symbol_location *l;
	FILE *f;

	snprintf(path, sizeof(path), "%s/kallsyms", root);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("0000000000000000 T _stext\n", f);
	fclose(f);
	assert_int_equal(symbolizer_new(&s, &cfg), 0);
	l = symbolizer_resolve_kernel(s, 0xffffffff81000000, SYMBOL_ADDRESS_EXACT);
	assert_string_equal(l->frames->function, "[kernel]");
	assert_string_equal(l->frames->file, "[kernel]");
	unlink(path);
}

TEST_FIXTURE(frames_of_our_own_have_clean_texts, start, stop)
{
	const struct symbol_frame *f = symbolizer_frame(*state, "my\nname", "a file")->frames;

	assert_string_equal(f->function, "my?name");
	assert_string_equal(f->file, "a_file");
	assert_ptr_equal(symbolizer_frame(*state, "my\nname", "a file")->frames, f);
}

/* Adds frames until no more fits. */
static void fill_frames(struct symbolizer *s, const char *file)
{
	char name[32];

	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "function-%d", i);
		symbolizer_frame(s, name, file);
	}
}

TEST(a_profile_of_too_many_names_shows_where_functions_begin)
{
	const struct symbolizer_config cfg = {.frame_limit_bytes = 24u * 1024};
	const uint64_t address = (uintptr_t)symbolizer_new;
	CLEANUP(symbolizer_freep) struct symbolizer *s = NULL;
	uint64_t full, resolved, no_memory;
	const struct symbol_frame *f;
	struct symbol_mapping m;

	find_mapping(address, &m);
	assert_int_equal(symbolizer_new(&s, &cfg), 0);
	/* functions of the program until no more fits */
	for (uint64_t a = m.start; counted(SYMBOL_METRIC_FRAMES_FULL) == 0; a += 16)
		(void)resolve(s, &m, a, SYMBOL_ADDRESS_EXACT);
	full = counted(SYMBOL_METRIC_FRAMES_FULL);
	resolved = counted(SYMBOL_METRIC_RESOLVED);
	no_memory = counted(SYMBOL_METRIC_NO_MEMORY);

	f = resolve(s, &m, address + 1, SYMBOL_ADDRESS_EXACT);
	assert_ptr_equal(strstr(f->function, "test_symbolizer+0x"), f->function);
	/* which says of which build the address is */
	assert_ptr_equal(strstr(f->file, "[test_symbolizer@"), f->file);
	assert_int_equal(strlen(f->file), strlen("[test_symbolizer@]") + 40);
	/* every address of the function has the same frame */
	assert_ptr_equal(resolve(s, &m, address + 5, SYMBOL_ADDRESS_EXACT), f);
	assert_int_equal(counted(SYMBOL_METRIC_FRAMES_FULL), full + 2);
	assert_int_equal(counted(SYMBOL_METRIC_RESOLVED), resolved);
	assert_int_equal(counted(SYMBOL_METRIC_NO_MEMORY), no_memory);

	symbolizer_end_profile(s);
	f = resolve(s, &m, address + 1, SYMBOL_ADDRESS_EXACT);
	assert_string_equal(f->function, "symbolizer_new");
	drop_mapping(&m);
}

TEST(frames_without_any_room_are_unknown_until_the_cycle_ends)
{
	const struct symbolizer_config cfg = {.frame_limit_bytes = 64u * 1024};
	CLEANUP(symbolizer_freep) struct symbolizer *s = NULL;

	assert_int_equal(symbolizer_new(&s, &cfg), 0);
	fill_frames(s, "[file]");
	assert_string_equal(symbolizer_frame(s, "one more", "x")->frames->function, "[unknown]");
	symbolizer_end_cycle(s);
	assert_string_equal(symbolizer_frame(s, "one more", "x")->frames->function, "one more");
}

static int new_and_free(void *arg)
{
	CLEANUP(symbolizer_freep) struct symbolizer *s = NULL;
	const struct symbolizer_config cfg = {.n_addresses = 64};

	(void)arg;
	return symbolizer_new(&s, &cfg);
}

TEST(survives_every_failed_allocation)
{
	check_oom(new_and_free, NULL);
}
