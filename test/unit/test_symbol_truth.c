/* Real files, made here by the compiler with all options that change their layout. */
#include <errno.h>

#include "test/lib/unit.h"

#include "common/elf/eh_function.h"
#include "test/lib/symbol_truth.h"

static const char *dir;

static const char assembler[] =
	"__asm__(\".text\\n.globl bare\\n.type bare, @function\\n\"\n"
	"        \"bare: nop\\nnop\\nnop\\nret\\n.skip 64, 0x90\\n\"\n"
	"        \".globl untyped\\nuntyped: nop\\nret\\n.skip 48, 0x90\\n\");\n";

static void write_sources(void)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/a.c", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("#include <stdio.h>\n#include <string.h>\nextern char **environ;\n", f);
	fputs(assembler, f);
	for (int i = 0; i < 200; i++)
		fprintf(f,
			"__attribute__((noinline, aligned(%d))) %s int f%d(int x) { if (x == %d) "
			"puts(environ[0]); return x * %d; }\n",
			i % 3 ? 16 : 64, i % 2 ? "static" : "", i, i, i + 3);
	fputs("__attribute__((alias(\"f0\"))) int another_name(int);\n", f);
	fputs("int main(int n, char **v) { int s = (int)strlen(v[0]);\n", f);
	for (int i = 0; i < 200; i++)
		fprintf(f, "s += f%d(n + s);\n", i);
	fputs("return s; }\n", f);
	fclose(f);

	snprintf(path, sizeof(path), "%s/b.cc", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("#include <map>\n#include <string>\n#include <vector>\n"
	      "namespace shop { template <class T> struct Cart { std::vector<T> items;\n"
	      "  __attribute__((noinline)) void add(const T &t) { items.push_back(t); }\n"
	      "  virtual ~Cart() {} }; }\n"
	      "int main() { shop::Cart<std::string> c; shop::Cart<std::map<int, double>> d;\n"
	      "  c.add(\"x\"); d.add({{1, 2.0}}); return (int)(c.items.size() + d.items.size()); "
	      "}\n",
	      f);
	fclose(f);
}

static int make_sources(void **state)
{
	(void)state;
	dir = temp_dir();
	write_sources();
	return 0;
}

static int remove_sources(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command); // NOLINT(cert-env33-c)
}

static void run(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s", dir, command);
	assert_int_equal(system(line), 0); // NOLINT(cert-env33-c)
}

static struct truth_result compare(const char *nm, const char *file)
{
	struct truth_result result;
	struct truth truth;
	char text[512], path[256];
	FILE *f;

	snprintf(text, sizeof(text), "cd %s && %s", dir, nm);
	f = popen(text, "re"); // NOLINT(cert-env33-c)
	assert_non_null(f);
	truth_read(&truth, f);
	assert_int_equal(pclose(f), 0);
	snprintf(path, sizeof(path), "%s/%s", file[0] == '/' ? "" : dir, file);
	assert_int_equal(truth_check(&truth, path, &result), 0);
	truth_fini(&truth);
	print_message("%s: %zu right, %zu unresolved, %zu gaps, %zu wrong\n", file, result.right,
		      result.unresolved, result.gaps, result.wrong);
	assert_int_equal(result.wrong, 0);
	return result;
}

TEST(every_layout_of_an_executable_is_named_right)
{
	static const char *const flags[] = {"-pie -fPIE",
					    "-no-pie -fno-pie",
					    "-static",
					    "-static-pie -fPIE",
					    "-pie -fPIE -Wl,-z,noseparate-code",
					    "-pie -fPIE -ffunction-sections -fcf-protection=none"};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct truth_result r;
		char command[256];

		snprintf(command, sizeof(command), "cc -O1 %s -o a a.c", flags[i]);
		run(command);
		r = compare("nm -S --defined-only a", "a");
		assert_true(r.right > 600 && r.unresolved == 0);
	}
}

TEST(a_stripped_executable_has_no_names_and_no_wrong_ones)
{
	struct truth_result r;

	run("cc -O1 -o a a.c && strip -o b a");
	r = compare("nm -S --defined-only a", "b");
	assert_int_equal(r.right, 0);
	assert_true(r.unresolved > 600);
}

TEST(a_stripped_library_has_its_exported_names_alone)
{
	struct truth_result r;

	run("cc -O1 -shared -fPIC -o a a.c && strip -o b a");
	r = compare("nm -S --defined-only a", "b");
	assert_true(r.right > 300 && r.unresolved >= 290);
}

/* The start of the function: one that nm lists and that contains the address. -1: none. */
static int64_t ask_start(const struct elf_layout *l, const struct byte_source *src,
			 const struct truth *t, uint64_t address)
{
	uint64_t start;
	int r = eh_function_start(l, src, address, &start);

	if (r < 0) {
		assert_int_equal(r, -ENOENT);
		return -1;
	}
	for (size_t i = 0; i < t->n; i++) {
		if (t->symbols[i].start == start)
			assert_true(t->symbols[i].size == 0 ||
				    address - start < t->symbols[i].size);
	}
	return (int64_t)start;
}

static void read_truth(struct truth *t, const char *file)
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "cd %s && nm -S --defined-only %s", dir, file);
	f = popen(command, "re"); // NOLINT(cert-env33-c)
	assert_non_null(f);
	truth_read(t, f);
	assert_int_equal(pclose(f), 0);
}

TEST(functions_without_names_have_different_frames)
{
	struct byte_source src;
	struct elf_layout l;
	AUTO_CLOSE int fd = -1;
	struct truth t;
	struct stat st;
	char path[64];
	size_t n_right = 0;

	run("cc -O1 -o a a.c && strip -o b a");
	read_truth(&t, "a");
	snprintf(path, sizeof(path), "%s/b", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	byte_source_from_fd(&src, fd, (uint64_t)st.st_size);
	assert_int_equal(elf_layout_parse(&l, &src), 0);
	for (size_t i = 0; i < t.n; i++) {
		const struct truth_symbol *s = &t.symbols[i];
		uint64_t end = s->start + s->size;

		if (s->size == 0 || strncmp(s->name, "f", 1) != 0)
			continue;
		assert_int_equal(ask_start(&l, &src, &t, s->start), s->start);
		assert_int_equal(ask_start(&l, &src, &t, s->start + s->size / 2), s->start);
		assert_int_equal(ask_start(&l, &src, &t, end - 1), s->start);
		assert_int_not_equal(ask_start(&l, &src, &t, end), s->start);
		n_right++;
	}
	assert_true(n_right >= 200);
	truth_fini(&t);
}

/* What the symbolizer shows of an address without a name. */
static void show(struct truth_check *c, uint64_t vaddr, char ret[static 256])
{
	uint64_t offset;

	assert_int_equal(elf_layout_offset(&c->layout, vaddr, &offset), 0);
	snprintf(ret, 256, "%s",
		 symbolizer_resolve_user(c->symbolizer, &c->mapping, offset, SYMBOL_ADDRESS_EXACT)
			 ->frames[0]
			 .function);
}

/* Nothing says where they begin but their code. */
TEST(functions_without_tables_are_one_each)
{
	struct truth_check c = {0};
	size_t n = 0, n_whole = 0, n_merged = 0;
	char path[64], last[256] = "";
	struct truth t;

	run("cc -O2 -fno-asynchronous-unwind-tables -fno-exceptions -o a a.c && strip -o b a");
	read_truth(&t, "a");
	snprintf(path, sizeof(path), "%s/b", dir);
	assert_int_equal(truth_check_open(&c, path), 0);
	for (size_t i = 0; i < t.n; i++) {
		const struct truth_symbol *s = &t.symbols[i];
		char first[256], middle[256], end[256];

		if (s->size == 0 || s->name[0] != 'f' || s->name[1] < '0' || s->name[1] > '9' ||
		    strchr(s->name, '.'))
			continue;
		show(&c, s->start, first);
		show(&c, s->start + s->size / 2, middle);
		show(&c, s->start + s->size - 1, end);
		n++;
		n_whole += strcmp(first, middle) == 0 && strcmp(first, end) == 0;
		n_merged += strcmp(first, last) == 0;
		memcpy(last, first, sizeof(last));
	}
	print_message("%zu functions, %zu whole, %zu merged\n", n, n_whole, n_merged);
	assert_true(n >= 200);
	assert_true(n_whole >= n - n / 50);
	assert_int_equal(n_merged, 0);
	truth_check_close(&c);
	truth_fini(&t);
}

TEST(cpp_names_are_readable)
{
	struct truth_result r;

	run("c++ -O1 -o a b.cc");
	r = compare("nm -S --defined-only a", "a");
	assert_true(r.right > 50 && r.unresolved == 0);
}

/* With its debug file (libc6-dbg), functions that it does not export have names as well. */
TEST(the_c_library_is_named_right)
{
	const char *libc = "/lib/x86_64-linux-gnu/libc.so.6";
	struct truth_result r;

	if (access(libc, R_OK) < 0)
		libc = "/lib/aarch64-linux-gnu/libc.so.6";
	r = compare("f=$(ls /lib/*-linux-gnu/libc.so.6); nm -DS --defined-only $f; "
		    "d=$(readelf -n $f | sed -n 's,.*Build ID: \\(..\\)\\(.*\\),\\1/\\2,p'); "
		    "d=/usr/lib/debug/.build-id/$d.debug; "
		    "[ ! -e $d ] || nm -S --defined-only $d",
		    libc);
	assert_true(r.right > 5000 && r.unresolved == 0);
}

GROUP_FIXTURE(make_sources, remove_sources)
