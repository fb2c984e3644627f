#include "node-agent/dotnet/dotnet_names.h"

#include <errno.h>

#include "node-agent/dotnet/ready_to_run.h"
#include "test/lib/r2r_image.h"
#include "test/lib/unit.h"

#define FILE_MAX_BYTES 16384u
#define METHODS 24u

/* test/data/dotnet/names.cs, compiled by Mono. */
struct assembly {
	uint8_t bytes[FILE_MAX_BYTES];
	struct byte_source src;
	struct pe_image pe;
	struct dotnet_metadata metadata;
};

static void read_assembly(struct assembly *a)
{
	FILE *f = fopen("test/data/dotnet/names.dll", "re");
	size_t n;

	assert_non_null(f);
	n = fread(a->bytes, 1, sizeof(a->bytes), f);
	(void)fclose(f);
	byte_source_from_memory(&a->src, a->bytes, n);
	assert_int_equal(pe_image_parse(&a->pe, &a->src, PE_LAYOUT_FILE), 0);
	assert_int_equal(dotnet_metadata_open(&a->metadata, &a->pe, &a->src), 0);
}

static void expect_method(const struct assembly *a, uint32_t row, const char *name)
{
	char text[DOTNET_NAME_BYTES];

	assert_int_equal(dotnet_method_name(&a->metadata, &a->src, row, text, sizeof(text)), 0);
	assert_string_equal(text, name);
}

TEST(methods_have_the_names_that_a_programmer_gave_them)
{
	static struct assembly a;
	char text[DOTNET_NAME_BYTES];

	read_assembly(&a);
	assert_int_equal(a.metadata.n_rows[DOTNET_METHOD_DEF], METHODS);
	expect_method(&a, 1, "Shop.Basket<TItem>..ctor");
	expect_method(&a, 2, "Shop.Basket<TItem>.Load");
	expect_method(&a, 6, "Shop.Basket<TItem>.Pay.lambda__0");
	expect_method(&a, 8, "Shop.Basket<TItem>.Entry.Total");
	expect_method(&a, 10, "Shop.Basket<TItem>.Pair<TOther>.Both<TResult>");
	expect_method(&a, 12, "Bare.System.IComparable<string>.CompareTo");
	expect_method(&a, 13, "Shop.Basket<TItem>.Load.MoveNext");
	expect_method(&a, 16, "Shop.Basket<TItem>.Each.MoveNext");
	expect_method(&a, 24, "Shop.Basket<TItem>.Owe.lambda__0");
	assert_int_equal(dotnet_assembly_name(&a.metadata, &a.src, text, sizeof(text)), 0);
	assert_string_equal(text, "names");
	assert_int_equal(dotnet_method_name(&a.metadata, &a.src, 0, text, sizeof(text)), -ENOENT);
	assert_int_equal(dotnet_method_name(&a.metadata, &a.src, METHODS + 1, text, sizeof(text)),
			 -ENOENT);
}

TEST(a_long_name_is_cut)
{
	static struct assembly a;
	char text[8];

	read_assembly(&a);
	assert_int_equal(dotnet_method_name(&a.metadata, &a.src, 2, text, sizeof(text)), 0);
	assert_string_equal(text, "Shop.Ba");
}

TEST(a_member_of_a_generic_type_has_as_many_parameters_as_the_type)
{
	static struct assembly a;
	char text[DOTNET_NAME_BYTES];
	bool found = false;

	read_assembly(&a);
	for (uint32_t i = 1; i <= a.metadata.n_rows[DOTNET_MEMBER_REF]; i++) {
		int r = dotnet_member_name(&a.metadata, &a.src, i, text, sizeof(text));

		assert_true(r == 0 || r == -ENOENT);
		if (r == 0 && strcmp(text, "System.Func<T1,T2>..ctor") == 0)
			found = true;
	}
	assert_true(found);
}

static void expect_readable(const char *type, const char *method, const char *name)
{
	char text[DOTNET_NAME_BYTES];

	dotnet_readable_name(type, method, text, sizeof(text));
	assert_string_equal(text, name);
}

TEST(names_of_roslyn_are_made_readable)
{
	expect_readable("Shop.Basket+<>c", "<Pay>b__0_1", "Shop.Basket.Pay.lambda__0_1");
	expect_readable("Shop.Basket.<>c__DisplayClass3_0", "<Pay>b__0",
			"Shop.Basket.Pay.lambda__0");
	expect_readable("Shop.Basket+<>c", ".cctor", "Shop.Basket.<>c..cctor");
	expect_readable("Shop.Basket+<Load>d__3", "MoveNext", "Shop.Basket.Load.MoveNext");
	expect_readable("Shop.Basket", "<Pay>g__Check|0_0", "Shop.Basket.Pay.Check");
	expect_readable("Shop.<>c.<<Main>b__0_1>d", "MoveNext",
			"Shop.<>c.Main.lambda__0_1.MoveNext");
	expect_readable("Program", "<Main>$", "Program.Main");
	expect_readable("<Program>F1A2__Entry", "Total", "Entry.Total");
	expect_readable("Shop.List`1", "Add", "Shop.List<T>.Add");
	expect_readable("Shop.Map`2+Keys", "Add", "Shop.Map<T1,T2>.Keys.Add");
	expect_readable("", "DynamicClass", "DynamicClass");
	expect_readable("<PrivateImplementationDetails>", "ComputeStringHash",
			"<PrivateImplementationDetails>.ComputeStringHash");
}

TEST(odd_names_stay_as_they_are)
{
	expect_readable("Shop.<", "<>", "Shop.<.<>");
	expect_readable("Shop", "<a", "Shop.<a");
	expect_readable("Shop", "<a>z__1", "Shop.<a>z__1");
	expect_readable("Shop`", "a`1x", "Shop`.a`1x");
	expect_readable("Sh\x01op", "\xff", "Sh?op.?");
	expect_readable("<<<<<<<<a>b__1>b__1>b__1>b__1>b__1>b__1>b__1>b__1", "m",
			"<<<<a>b__1>b__1>b__1>b__1.lambda__1.lambda__1.lambda__1.lambda__1.m");
}

static const uint8_t one_return[] = {0xc3};
static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x5d, 0xc3};

static const struct r2r_function functions[] = {
	{.code = framed, .code_bytes = sizeof(framed), .method = 8},
	{.code = one_return, .code_bytes = 1}, /* a handler of the same method */
	{.code = framed, .code_bytes = sizeof(framed), .method = 2},
	{.code = framed, .code_bytes = sizeof(framed), .method = 10, .instance = true},
	{.code = one_return, .code_bytes = 1, .method = 17},
	{.code = one_return, .code_bytes = 1, .split_off = 2},
};
#define SPLIT_OFF UINT32_MAX

static struct byte_source build_image(struct r2r_image *m)
{
	static struct assembly a;
	struct byte_source src;
	uint64_t offset;

	read_assembly(&a);
	assert_int_equal(
		pe_image_offset(&a.pe, a.pe.metadata.rva, a.pe.metadata.size_bytes, &offset), 0);
	r2r_image_build(m, functions, ARRAY_SIZE(functions), a.bytes + offset,
			a.pe.metadata.size_bytes, METHODS);
	byte_source_from_memory(&src, m->bytes, m->len);
	return src;
}

/* first: the function that the method begins with, or SPLIT_OFF */
static void expect_code(const struct byte_source *src, uint32_t rva, const char *name,
			uint32_t first)
{
	CLEANUP(ready_to_run_methods_freep) struct ready_to_run_methods *methods = NULL;
	struct ready_to_run_function f;
	struct dotnet_metadata metadata;
	struct ready_to_run code;
	struct pe_image pe;
	char text[DOTNET_NAME_BYTES];
	uint32_t method, found;
	int r;

	assert_int_equal(pe_image_parse(&pe, src, PE_LAYOUT_FILE), 0);
	assert_int_equal(pe.machine, PE_MACHINE_X86_64);
	assert_int_equal(ready_to_run_open(&code, &pe, src), 0);
	assert_int_equal(dotnet_metadata_open(&metadata, &pe, src), 0);
	assert_int_equal(ready_to_run_methods_new(&methods, &code, &pe, &metadata, src, 4096), 0);
	r = ready_to_run_find(&code, &pe, src, rva, &f);
	if (!name) {
		assert_int_equal(r, -ENOENT);
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(ready_to_run_methods_find(methods, f.index, &method, &found), 0);
	assert_int_equal(found, first);
	assert_int_equal(ready_to_run_method_name(method, &pe, &metadata, src, text, sizeof(text)),
			 0);
	assert_string_equal(text, name);
}

TEST(compiled_code_has_the_name_of_its_method)
{
	static struct r2r_image m;
	const struct byte_source src = build_image(&m);

	expect_code(&src, m.starts[0], "Shop.Basket<TItem>.Entry.Total", 0);
	expect_code(&src, m.ends[0] - 1, "Shop.Basket<TItem>.Entry.Total", 0);
	expect_code(&src, m.ends[0], NULL, 0);
	expect_code(&src, m.starts[1], "Shop.Basket<TItem>.Entry.Total", 0);
	expect_code(&src, m.starts[2] + 1, "Shop.Basket<TItem>.Load", 2);
	expect_code(&src, m.starts[5], "Shop.Basket<TItem>.Load", SPLIT_OFF);
	expect_code(&src, m.starts[3], "Shop.Basket<TItem>.Pair<TOther>.Both<TResult>", 3);
	expect_code(
		&src, m.starts[4],
		"Shop.Basket<TItem>.Each.System.Collections.Generic.IEnumerator<int>.get_Current",
		4);
	expect_code(&src, m.starts[0] - 1, NULL, 0);
}

TEST(a_table_of_methods_has_a_limit)
{
	static struct r2r_image m;
	const struct byte_source src = build_image(&m);
	struct ready_to_run_methods *methods;
	struct dotnet_metadata metadata;
	struct ready_to_run code;
	struct pe_image pe;

	assert_int_equal(pe_image_parse(&pe, &src, PE_LAYOUT_FILE), 0);
	assert_int_equal(ready_to_run_open(&code, &pe, &src), 0);
	assert_int_equal(dotnet_metadata_open(&metadata, &pe, &src), 0);
	assert_int_equal(ready_to_run_methods_new(&methods, &code, &pe, &metadata, &src, 16),
			 -EFBIG);
}

TEST(code_of_a_composite_image_is_not_supported)
{
	static struct r2r_image m;
	const struct byte_source src = build_image(&m);
	struct ready_to_run code;
	struct pe_image pe;

	assert_int_equal(pe_image_parse(&pe, &src, PE_LAYOUT_FILE), 0);
	r2r_put(&m, R2R_OFFSET + 72 + 8, READY_TO_RUN_COMPONENT, 4);
	assert_int_equal(ready_to_run_open(&code, &pe, &src), -ENOTSUP);
	r2r_put(&m, R2R_OFFSET + 72 + 8, 0, 4);
	r2r_put(&m, R2R_OFFSET + 72 + 4, 99, 2);
	assert_int_equal(ready_to_run_open(&code, &pe, &src), -ENOTSUP);
}

TEST(an_assembly_without_compiled_code_has_none)
{
	static struct assembly a;
	struct ready_to_run code;

	read_assembly(&a);
	assert_int_equal(ready_to_run_open(&code, &a.pe, &a.src), -ENOENT);
	assert_int_equal(a.pe.machine, 0x14c);
}

TEST(what_is_no_pe_is_none)
{
	struct byte_source src;
	struct pe_image pe;
	uint8_t bytes[PE_HEAD_BYTES] = "MZ";

	byte_source_from_memory(&src, bytes, sizeof(bytes));
	assert_int_equal(pe_image_parse(&pe, &src, PE_LAYOUT_FILE), -ENOEXEC);
	byte_source_from_memory(&src, bytes, 2);
	assert_int_equal(pe_image_parse(&pe, &src, PE_LAYOUT_FILE), -ENOEXEC);
	memcpy(bytes, "\177ELF", 4);
	byte_source_from_memory(&src, bytes, sizeof(bytes));
	assert_int_equal(pe_image_parse(&pe, &src, PE_LAYOUT_FILE), -ENOEXEC);
}
