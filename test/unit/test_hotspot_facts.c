/* What libraries of JDK 8 to 25 said of themselves (test/data/hotspot/), written into memory. */
#include "node-agent/interpreter/hotspot/hotspot_facts.h"

#include <errno.h>

#include "test/lib/unit.h"

#define BASE UINT64_C(0x7f0000000000)
#define BIAS UINT64_C(0x7e0000000000) /* of addresses in the file */
#define IMAGE_BYTES 65536u
#define STATICS 256u
#define STRUCTS 4096u
#define TYPES 16384u
#define CONSTANTS 20480u
#define STRINGS 24576u
#define STRUCT_BYTES 48u
#define TYPE_BYTES 40u
#define CONSTANT_BYTES 16u

static uint8_t image[IMAGE_BYTES];
static size_t n_bytes, n_strings, n_structs, n_types, n_constants, n_statics;
static struct hotspot_layout layout;

static int read_image(void *ctx, uint64_t at, void *to, size_t n)
{
	(void)ctx;
	if (at < BASE || at - BASE > n_bytes || n > n_bytes - (at - BASE))
		return -EFAULT;
	memcpy(to, image + (at - BASE), n);
	return 0;
}

static const struct interpreter_memory memory = {read_image, NULL};

static void put(size_t at, uint64_t v)
{
	assert_true(at + sizeof(v) <= sizeof(image));
	memcpy(image + at, &v, sizeof(v));
}

static uint64_t text(const char *s)
{
	size_t at = STRINGS + n_strings;

	assert_true(at + strlen(s) < sizeof(image));
	memcpy(image + at, s, strlen(s) + 1);
	n_strings += strlen(s) + 1;
	return BASE + at;
}

static void add_struct(const char *type, const char *field, bool is_static, uint64_t value)
{
	size_t at = STRUCTS + n_structs++ * STRUCT_BYTES;

	put(at, text(type));
	put(at + 8, text(field));
	put(at + 24, is_static);
	put(at + (is_static ? 40 : 32), value);
}

/* Statics are in a row; the version is at the address of its own. */
static void add_line(const char *line)
{
	static size_t version_at;
	char kind[16] = "", a[128] = "", b[128] = "", c[32] = "";

	(void)sscanf(line, "%15s %127s %127s %31s", kind, a, b, c);
	if (strcmp(kind, "static") == 0) {
		if (strcmp(b, "_vm_major_version") == 0)
			version_at = STATICS + n_statics * 8;
		add_struct(a, b, true, BASE + STATICS + n_statics++ * 8);
	} else if (strcmp(kind, "field") == 0) {
		add_struct(a, b, false, strtoul(c, NULL, 10));
	} else if (strcmp(kind, "type") == 0) {
		put(TYPES + n_types * TYPE_BYTES, text(a));
		put(TYPES + n_types++ * TYPE_BYTES + 32, strtoul(b, NULL, 10));
	} else if (strcmp(kind, "constant") == 0) {
		put(CONSTANTS + n_constants * CONSTANT_BYTES, text(a));
		put(CONSTANTS + n_constants++ * CONSTANT_BYTES + 8, strtoul(b, NULL, 10));
	} else if (strcmp(kind, "version") == 0) {
		put(version_at, strtoul(a, NULL, 10));
	}
}

static void set(enum vm_variable v, uint64_t value)
{
	layout.variables.at[v] = BASE - BIAS + v * 8;
	put(v * 8, value);
}

/* without: a word; lines that have it are left out. NULL: none are. */
static void load(unsigned jdk, const char *without)
{
	static const uint64_t values[VM_VARIABLES] = {
		[VM_STRUCTS] = BASE + STRUCTS,
		[VM_STRUCTS_TYPE_NAME] = 0,
		[VM_STRUCTS_FIELD_NAME] = 8,
		[VM_STRUCTS_IS_STATIC] = 24,
		[VM_STRUCTS_OFFSET] = 32,
		[VM_STRUCTS_ADDRESS] = 40,
		[VM_STRUCTS_STRIDE] = STRUCT_BYTES,
		[VM_TYPES] = BASE + TYPES,
		[VM_TYPES_NAME] = 0,
		[VM_TYPES_SIZE] = 32,
		[VM_TYPES_STRIDE] = TYPE_BYTES,
		[VM_CONSTANTS] = BASE + CONSTANTS,
		[VM_CONSTANTS_NAME] = 0,
		[VM_CONSTANTS_VALUE] = 8,
		[VM_CONSTANTS_STRIDE] = CONSTANT_BYTES,
	};
	char path[64], line[512];
	FILE *f;

	memset(image, 0, sizeof(image));
	n_bytes = sizeof(image);
	n_strings = n_structs = n_types = n_constants = n_statics = 0;
	layout = (struct hotspot_layout){0};
	snprintf(path, sizeof(path), "test/data/hotspot/jdk%u.txt", jdk);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!without || !strstr(line, without))
			add_line(line);
	}
	(void)fclose(f);
	for (size_t i = 0; i < VM_VARIABLES; i++)
		set((enum vm_variable)i, values[i]);
}

static int read_facts(void)
{
	return hotspot_facts_read(&layout, BIAS, &memory);
}

TEST(every_release_says_enough_of_itself)
{
	static const struct {
		unsigned jdk, flags, byte_excess;
		int bytecode;
	} releases[] = {
		{8, CHAIN_JVM_CODE_OFFSET | CHAIN_JVM_DEOPT_OFFSET, 0, -7},
		{11, 0, 0, -8},
		{17, 0, 0, -8},
		{21, 0, 1, -8},
		{25, CHAIN_JVM_CODE_OFFSET | CHAIN_JVM_DEOPT_OFFSET | CHAIN_JVM_COMPLETE_16, 1, -8},
	};

	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		load(releases[i].jdk, NULL);
		assert_int_equal(read_facts(), 0);
		assert_true(layout.complete);
		assert_int_equal(layout.walk.flags, releases[i].flags);
		assert_int_equal(layout.byte_excess, releases[i].byte_excess);
		assert_int_equal(layout.walk.bytecode, releases[i].bytecode);
		assert_int_equal(layout.walk.low == 0, releases[i].jdk == 8);
		assert_int_not_equal(layout.walk.heaps, 0);
		assert_int_equal(layout.lines_flag, 1);
		assert_int_equal(layout.walk.const_method, 8);
	}
}

TEST(variables_are_addresses_in_the_file)
{
	load(17, NULL);
	assert_int_equal(read_facts(), 0);
	assert_true(layout.walk.low >= BASE - BIAS && layout.walk.low < BASE - BIAS + STRUCTS);
	assert_true(layout.call_stub >= BASE - BIAS && layout.call_stub < BASE - BIAS + STRUCTS);
	assert_int_equal(layout.walk.heap_high - layout.walk.heap_low, 8);
	assert_int_equal(layout.walk.blob_from, 16);
	assert_int_equal(layout.walk.compile_id, 304);
	assert_int_equal(layout.nmethod_method, 112);
	assert_true(layout.scopes_pointer);
}

TEST(a_release_that_lacks_a_fact_is_not_known)
{
	static const char *const needed[] = {"_log2_segment_size", "_heaps",       "_compile_id",
					     "_constMethod ",      "_pool_holder", "_scopes_pcs"};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		load(21, needed[i]);
		assert_int_equal(read_facts(), -ENOTSUP);
		assert_false(layout.complete);
	}
	load(21, "PcDesc _scope"); /* which has never changed */
	assert_int_equal(read_facts(), 0);
}

TEST(a_library_that_is_being_loaded_is_asked_again)
{
	load(21, NULL);
	set(VM_STRUCTS_STRIDE, 0);
	assert_int_equal(read_facts(), -EAGAIN);
	set(VM_STRUCTS_STRIDE, STRUCT_BYTES);
	n_bytes = STRUCTS;
	assert_int_equal(read_facts(), -EAGAIN);
	n_bytes = sizeof(image);
	assert_int_equal(read_facts(), 0);
	layout = (struct hotspot_layout){0}; /* it does not export them */
	assert_int_equal(read_facts(), -ENOTSUP);
}

TEST(offsets_that_are_no_offsets_are_not_believed)
{
	load(21, "type ConstantPool");
	add_line("type ConstantPool 1000000000");
	assert_int_equal(read_facts(), -ENOTSUP);
	load(21, "PcDesc _scope");
	add_line("field PcDesc _scope_decode_offset 8");
	assert_int_equal(read_facts(), -ENOTSUP);
}
