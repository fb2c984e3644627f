/*
 * Lines and inlined calls of programs that the compiler makes here, beside addr2line; "make lines"
 * compares more programs of more compilers at more addresses.
 */
#include <unistd.h>

#include "node-agent/lines/line_helper.h"
#include "test/lib/line_truth.h"
#include "test/lib/unit.h"

#define ADDRESSES 400u

static const char *dir;

static void write_file(const char *name, const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The sources are in a folder of their own, so that their names are relative ones. */
static int make_sources(void **state)
{
	char command[64];

	(void)state;
	/* what ccache has from another folder refers to the .dwo file there */
	assert_int_equal(setenv("CCACHE_DISABLE", "1", 1), 0);
	dir = temp_dir();
	snprintf(command, sizeof(command), "mkdir %s/src", dir);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
	assert_int_equal(chdir(dir), 0);      /* where llvm-dwp looks for .dwo files */
	write_file("src/sum.h", "static inline int twice(int x)\n{\n\treturn x * 2;\n}\n"
				"static inline int sum(const int *v, int n)\n{\n\tint s = 0;\n"
				"\tfor (int i = 0; i < n; i++)\n\t\ts += twice(v[i]) ^ i;\n"
				"\treturn s;\n}\n");
	write_file("src/a.c",
		   "#include \"sum.h\"\n#include <stdio.h>\n"
		   "__attribute__((noinline)) int half(const int *v, int n)\n{\n"
		   "\tif (n > 1000)\n\t\tputs(\"many\");\n"
		   "\treturn sum(v, n / 2) + sum(v + n / 2, n - n / 2);\n}\n"
		   "static int other(const int *v)\n{\n\treturn sum(v, 7) * twice(v[0]);\n}\n"
		   "int main(int n, char **a)\n{\n\tint v[99] = {n, a[0][0]};\n"
		   "\treturn half(v, 99) + other(v);\n}\n");
	write_file("src/b.cc",
		   "#include \"sum.h\"\n#include <algorithm>\n#include <string>\n"
		   "#include <vector>\nnamespace shop {\ntemplate <class T> struct Cart {\n"
		   "\tstd::vector<T> all;\n\tint add(T t)\n\t{\n\t\tall.push_back(t);\n"
		   "\t\tstd::sort(all.begin(), all.end());\n"
		   "\t\treturn (int)all.size();\n\t}\n};\n}\n"
		   "int main(int n, char **v)\n{\n\tshop::Cart<std::string> c;\n"
		   "\tshop::Cart<double> d;\n\tauto twice_all = [&](int k) {\n"
		   "\t\treturn twice(k) + c.add(v[0]);\n\t};\n"
		   "\treturn twice_all(n) + d.add(n);\n}\n");
	return 0;
}

static int remove_sources(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "cd / && rm -rf %s", dir);
	return system(command); // NOLINT(cert-env33-c)
}

/* Compares lines of program "a" with those that tools have for a program with the same code. */
static void compare(const char *command, const char *same)
{
	struct line_truth_result r;
	char text[384], path[64], same_path[64];

	snprintf(text, sizeof(text), "cd %s && %s", dir, command);
	assert_int_equal(system(text), 0); // NOLINT(cert-env33-c)
	snprintf(path, sizeof(path), "%s/a", dir);
	snprintf(same_path, sizeof(same_path), "%s/%s", dir, same);
	assert_int_equal(line_truth_check(path, same_path, ADDRESSES, 10, &r), 0);
	print_message("%s: %zu addresses, %zu with inlined calls, %zu without a line\n", command,
		      r.n, r.inlined, r.no_line);
	assert_true(r.n >= ADDRESSES / 2);
	assert_true(r.inlined > r.n / 10);
	assert_true(r.no_line < r.n / 2);
	assert_int_equal(r.neither, 0);
}

static void expect_same_lines(const char *command)
{
	compare(command, "a");
}

TEST(lines_of_c_are_those_of_addr2line)
{
	expect_same_lines("cc -O2 -g -o a src/a.c");
	expect_same_lines("cc -O2 -g1 -o a src/a.c");
	expect_same_lines("cc -O2 -g -gdwarf-4 -o a src/a.c");
	expect_same_lines("clang -O2 -g -o a src/a.c");
}

TEST(lines_of_link_time_optimization_are_those_of_addr2line)
{
	expect_same_lines("cc -O2 -g -flto -o a src/a.c");
}

TEST(lines_of_cpp_are_those_of_addr2line)
{
	expect_same_lines("c++ -O2 -g -o a src/b.cc");
}

/*
 * What clang leaves in the program has lines but no function; llvm-dwp puts the rest beside it.
 * llvm-addr2line 14 misses inlined calls with several ranges then, so it has one that is whole.
 */
static void expect_same_as_whole(const char *flags)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "clang -O2 -g %s -o whole src/a.c && clang -O2 -g %s -gsplit-dwarf -c -o x.o "
		 "src/a.c && "
		 "clang -o a x.o && llvm-dwp -e a -o a.dwp",
		 flags, flags);
	compare(command, "whole");
}

TEST(lines_of_split_dwarf_are_those_of_whole_dwarf)
{
	expect_same_as_whole("-gdwarf-5");
	expect_same_as_whole("-gdwarf-4");
	expect_same_as_whole("-ffunction-sections");
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], LINE_HELPER_COMMAND) == 0)
		return line_helper_run(NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	return unit_run(make_sources, remove_sources);
}
