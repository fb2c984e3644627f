/* Lines of test/data/dotnet/KnownChains.dll and azmcp.dll, which test/dotnet/compile.sh makes. */
#include "node-agent/dotnet/portable_pdb.h"

#include <errno.h>

#include "common/data/gzip.h"
#include "node-agent/dotnet/dotnet_names.h"
#include "test/lib/unit.h"

#define FOLDER "test/data/dotnet/"
#define FILE_MAX_BYTES 32768u

struct file {
	uint8_t bytes[FILE_MAX_BYTES];
	size_t n;
	struct byte_source src;
};

static struct assembly {
	struct file dll, pdb;
	struct pe_image pe;
	struct dotnet_metadata metadata;
	struct pe_debug debug;
	struct portable_pdb opened;
} a;

static void read_file(struct file *f, const char *path)
{
	FILE *in = fopen(path, "re");

	assert_non_null(in);
	f->n = fread(f->bytes, 1, sizeof(f->bytes), in);
	(void)fclose(in);
	byte_source_from_memory(&f->src, f->bytes, f->n);
}

static void read_assembly(const char *path)
{
	read_file(&a.dll, path);
	assert_int_equal(pe_image_parse(&a.pe, &a.dll.src, PE_LAYOUT_FILE), 0);
	assert_int_equal(dotnet_metadata_open(&a.metadata, &a.pe, &a.dll.src), 0);
	assert_int_equal(pe_debug_read(&a.debug, &a.pe, &a.dll.src), 0);
}

static void read_known(void)
{
	read_assembly(FOLDER "KnownChains.dll");
	read_file(&a.pdb, FOLDER "KnownChains.pdb");
	assert_int_equal(portable_pdb_open(&a.opened, &a.pdb.src, a.debug.id), 0);
}

/* The row of the method that has this name. */
static uint32_t method(const char *wanted)
{
	char name[DOTNET_NAME_BYTES];

	for (uint32_t row = 1; row <= a.metadata.n_rows[DOTNET_METHOD_DEF]; row++) {
		if (dotnet_method_name(&a.metadata, &a.dll.src, row, name, sizeof(name)) == 0 &&
		    strcmp(name, wanted) == 0)
			return row;
	}
	fail_msg("no method %s", wanted);
	return 0;
}

static void expect_line(const char *name, uint32_t il_offset, uint32_t line)
{
	struct pdb_line found;

	assert_int_equal(portable_pdb_find(&a.opened, &a.pdb.src, method(name), il_offset, &found),
			 0);
	assert_int_equal(found.line, line);
	assert_string_equal(found.file, "/src/KnownChains.cs");
}

/* The line of the source that has this text, for which it has to be the only one. */
static uint32_t line_of(const char *text)
{
	FILE *in = fopen("test/dotnet/KnownChains.cs", "re");
	uint32_t number = 0, found = 0;
	char line[512];

	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		number++;
		if (!strstr(line, text))
			continue;
		assert_int_equal(found, 0);
		found = number;
	}
	(void)fclose(in);
	assert_true(found > 0);
	return found;
}

TEST(an_assembly_says_which_file_its_pdb_is)
{
	read_known();
	assert_string_equal(a.debug.name, "KnownChains.pdb");
	assert_int_equal(a.debug.embedded.rva, 0);
	assert_int_equal(a.opened.metadata.n_rows[DOTNET_METHOD_DEBUG],
			 a.metadata.n_rows[DOTNET_METHOD_DEF]);
	a.debug.id[PDB_ID_BYTES - 1] ^= 1; /* another build's */
	assert_int_equal(portable_pdb_open(&a.opened, &a.pdb.src, a.debug.id), -ESTALE);
	assert_int_equal(portable_pdb_open(&a.opened, &a.dll.src, a.debug.id), -EBADMSG);
	read_file(&a.dll, FOLDER "names.dll");
	assert_int_equal(pe_image_parse(&a.pe, &a.dll.src, PE_LAYOUT_FILE), 0);
	assert_int_equal(pe_debug_read(&a.debug, &a.pe, &a.dll.src), -ENOENT);
}

TEST(an_offset_has_the_line_of_the_statement_that_it_is_in)
{
	uint32_t burn, later;
	struct pdb_line l;

	read_known();
	burn = line_of("int x = 0;");
	expect_line("Known.Chains.Burn", 0, burn);
	expect_line("Known.Chains.Burn", 1, burn);
	expect_line("Known.Chains.Burn", 2, burn + 1);
	expect_line("Known.Chains.Burn", 6, burn + 2);
	expect_line("Known.Chains.Burn", 0x13, burn + 1);
	expect_line("Known.Chains.Burn", 0x1b, burn + 3);
	expect_line("Known.Chains.Burn", UINT32_MAX, burn + 3);
	expect_line("Known.Square.Area", 0, line_of("override int Area("));
	/* a hidden point is the first one */
	later = line_of("await Task.Yield();");
	expect_line("Known.Chains.Later.MoveNext", 0, later);
	expect_line("Known.Chains.Later.MoveNext", 0x64, later + 1);
	/* what the compiler has made */
	assert_int_equal(
		portable_pdb_find(&a.opened, &a.pdb.src, method("Known.Chains.Later"), 0, &l),
		-ENOENT);
	assert_int_equal(portable_pdb_find(&a.opened, &a.pdb.src, 0, 0, &l), -ENOENT);
	assert_int_equal(portable_pdb_find(&a.opened, &a.pdb.src, 1000, 0, &l), -ENOENT);
}

TEST(a_pdb_may_be_in_the_assembly)
{
	static uint8_t deflated[FILE_MAX_BYTES];
	struct buf out;

	read_assembly(FOLDER "azmcp.dll");
	assert_true(a.debug.embedded.rva != 0 && a.debug.embedded.size_bytes < sizeof(deflated));
	assert_int_equal(pe_image_read(&a.pe, &a.dll.src, a.debug.embedded.rva, deflated,
				       a.debug.embedded.size_bytes),
			 0);
	buf_init(&out, a.debug.embedded_bytes);
	assert_int_equal(zlib_inflate(deflated, a.debug.embedded.size_bytes, &out), 0);
	assert_int_equal(out.len, a.debug.embedded_bytes);
	memcpy(a.pdb.bytes, out.data, out.len);
	byte_source_from_memory(&a.pdb.src, a.pdb.bytes, out.len);
	assert_int_equal(portable_pdb_open(&a.opened, &a.pdb.src, a.debug.id), 0);
	expect_line("Known.Chains.Burn", 6, line_of("int x = 0;") + 2);
	buf_fini(&out);
}

TEST(damage_is_found)
{
	uint32_t row;
	size_t n;

	read_known();
	row = method("Known.Chains.Round");
	n = a.pdb.n;
	for (size_t len = 0; len < n; len++) { /* it was cut */
		struct byte_source src;
		struct portable_pdb pdb;
		struct pdb_line l;

		byte_source_from_memory(&src, a.pdb.bytes, len);
		if (portable_pdb_open(&pdb, &src, a.debug.id) == 0)
			assert_true(portable_pdb_find(&pdb, &src, row, 0, &l) <= 0);
	}
	for (size_t at = 0; at < n; at++) { /* a byte is another one */
		struct portable_pdb pdb;
		struct pdb_line l;

		a.pdb.bytes[at] ^= 0xff;
		if (portable_pdb_open(&pdb, &a.pdb.src, a.debug.id) == 0 &&
		    portable_pdb_find(&pdb, &a.pdb.src, row, 40, &l) == 0)
			assert_true(l.line > 0 && l.file[0] != '\0');
		a.pdb.bytes[at] ^= 0xff;
	}
	for (size_t at = 0; at < a.dll.n; at++) {
		struct pe_debug d;

		a.dll.bytes[at] ^= 0xff;
		if (pe_debug_read(&d, &a.pe, &a.dll.src) == 0)
			assert_null(strchr(d.name, '/'));
		a.dll.bytes[at] ^= 0xff;
	}
}
