#include <errno.h>
#include <fcntl.h>

#include "common/system/fs.h"
#include "node-agent/java/vm/jvm_flags.h"
#include "node-agent/java/vm/perf_memory.h"
#include "test/lib/fake_vm.h"
#include "test/lib/unit.h"

#define BIT(flag) (UINT32_C(1) << (flag))

static struct fake_vm vm;

static void make(bool old)
{
	fake_vm_make(&vm, old);
	fake_vm_add_flag(&vm, "UseSerialGC", 1, 0);
	fake_vm_add_flag(&vm, "DisableAttachMechanism", 0, 0);
	fake_vm_add_flag(&vm, "ReduceSignalUsage", 1, FAKE_VM_COMMAND_LINE | FAKE_VM_GIVEN);
	fake_vm_add_flag(&vm, "UsePerfData", 1, 0);
}

static int read_flags(struct jvm_flags *ret)
{
	return jvm_flags_read(&vm.memory, &vm.variables, ret);
}

TEST(reads_flags_of_either_generation)
{
	const uint32_t known = BIT(JVM_FLAG_DISABLE_ATTACH_MECHANISM) |
			       BIT(JVM_FLAG_REDUCE_SIGNAL_USAGE) | BIT(JVM_FLAG_USE_PERF_DATA);
	struct jvm_flags f;

	for (int old = 0; old <= 1; old++) {
		make(old);
		assert_int_equal(read_flags(&f), 0);
		assert_int_equal(f.known, known);
		assert_int_equal(f.on, known & ~BIT(JVM_FLAG_DISABLE_ATTACH_MECHANISM));
		assert_int_equal(f.feature, old ? 8 : 21);
		assert_string_equal(f.release, old ? "25.504-b01" : "21.0.8+9-LTS");
		assert_false(jvm_flags_get(&f, JVM_FLAG_DISABLE_ATTACH_MECHANISM, true));
		/* a release without the flag allows agents */
		assert_true(jvm_flags_get(&f, JVM_FLAG_ENABLE_DYNAMIC_AGENT_LOADING, true));
	}
}

/* The JVM warns of an agent unless the flag is the default, which the library sees to, or given. */
TEST(knows_when_the_jvm_would_warn)
{
	static const struct {
		uint32_t flags;
		bool warns;
	} cases[] = {
		{0, false},
		{FAKE_VM_COMMAND_LINE | FAKE_VM_GIVEN, false},
		{FAKE_VM_ENVIRONMENT, true},
		{FAKE_VM_ENVIRONMENT | FAKE_VM_GIVEN, false},
	};
	struct jvm_flags f;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(false);
		fake_vm_add_flag(&vm, "EnableDynamicAgentLoading", 1, cases[i].flags);
		assert_int_equal(read_flags(&f), 0);
		assert_int_equal(f.agent_loading_warns, cases[i].warns);
		assert_int_equal(f.agent_loading_word, cases[i].flags);
		assert_int_equal(f.agent_loading_bit, FAKE_VM_GIVEN);
		assert_int_equal(f.agent_loading_at, FAKE_VM_BASE + vm.flags + 16 +
							     (vm.n_flags - 1) * FAKE_VM_FLAG_BYTES);
		assert_true(jvm_flags_get(&f, JVM_FLAG_ENABLE_DYNAMIC_AGENT_LOADING, false));
	}
}

TEST(refuses_what_is_no_table_of_flags)
{
	struct jvm_flags f;
	uint64_t far = 1;

	make(false);
	vm.image[vm.flags + FAKE_VM_FLAG_BYTES] ^= 1; /* the value of DisableAttachMechanism … */
	vm.image[vm.flags + FAKE_VM_FLAG_BYTES + 1] ^= 0x20; /* … is in a string: no bool */
	assert_int_equal(read_flags(&f), -EBADMSG);

	make(false);
	memcpy(vm.image + vm.flags + 8, &far, sizeof(far)); /* a name that is not mapped */
	assert_int_equal(read_flags(&f), -ENODATA);

	fake_vm_make(&vm, false);
	assert_int_equal(read_flags(&f), -EBADMSG); /* no flags */
	fake_vm_add_flag(&vm, "UsePerfData", 1, 0);
	assert_int_equal(read_flags(&f), -EBADMSG); /* not the one that all releases have */
}

TEST(refuses_wrong_tables)
{
	struct jvm_flags f;

	make(false);
	vm.variables.at[VM_TYPES_STRIDE] = 0; /* the library does not export it */
	assert_int_equal(read_flags(&f), -ENOENT);

	make(false);
	fake_vm_set(&vm, VM_STRUCTS_STRIDE, 0);
	assert_int_equal(read_flags(&f), -EBADMSG);
	fake_vm_set(&vm, VM_STRUCTS_STRIDE, UINT64_MAX);
	assert_int_equal(read_flags(&f), -EBADMSG);
	fake_vm_set(&vm, VM_STRUCTS_STRIDE, FAKE_VM_STRUCT_BYTES);
	fake_vm_set(&vm, VM_STRUCTS_ADDRESS, FAKE_VM_STRUCT_BYTES - 7); /* ends outside the entry */
	assert_int_equal(read_flags(&f), -EBADMSG);

	make(false);
	fake_vm_set(&vm, VM_STRUCTS, 16); /* not mapped */
	assert_int_equal(read_flags(&f), -ENODATA);

	/* a table that is another one has none of the facts, and ends at once */
	make(false);
	fake_vm_set(&vm, VM_STRUCTS,
		    FAKE_VM_BASE + vm.structs + vm.n_structs * FAKE_VM_STRUCT_BYTES);
	assert_int_equal(read_flags(&f), -ENOENT);
}

/* The first word of the image, in every entry; it would be read without an end. */
static int read_repeated(void *ctx, uint64_t offset, void *to, size_t len)
{
	const uint64_t name = FAKE_VM_BASE + sizeof(vm.variables.at);

	if (offset < FAKE_VM_BASE + FAKE_VM_BYTES)
		return byte_source_read(ctx, offset, to, len);
	for (size_t i = 0; i + sizeof(name) <= len; i += sizeof(name))
		memcpy((uint8_t *)to + i, &name, sizeof(name));
	return 0;
}

TEST(tables_without_an_end_are_left)
{
	struct byte_source memory;
	struct jvm_flags f;

	make(false);
	fake_vm_set(&vm, VM_STRUCTS, UINT64_C(1) << 40);
	byte_source_from_reader(&memory, read_repeated, &vm.memory, UINT64_C(1) << 48);
	assert_int_equal(jvm_flags_read(&memory, &vm.variables, &f), -EFBIG);
}

/* The library's data may be the last that is mapped: pieces beyond its end are not needed. */
TEST(tables_may_end_where_memory_ends)
{
	struct jvm_flags f;
	size_t bytes;

	make(false);
	bytes = (vm.n_structs + 1) * FAKE_VM_STRUCT_BYTES;
	memcpy(vm.image + sizeof(vm.image) - bytes, vm.image + vm.structs, bytes);
	assert_true(vm.strings < sizeof(vm.image) - bytes);
	fake_vm_set(&vm, VM_STRUCTS, FAKE_VM_BASE + sizeof(vm.image) - bytes);
	assert_int_equal(read_flags(&f), 0);
}

static int read_oom(void *arg)
{
	(void)arg;
	return read_flags(&(struct jvm_flags){0});
}

TEST(survives_lack_of_memory)
{
	make(false);
	check_oom(read_oom, NULL);
}

TEST(reads_performance_data)
{
	struct hsperfdata got;
	struct buf b;

	make(false);
	assert_int_equal(perf_memory_read(&vm.memory, &vm.variables, &got), -ENOENT);
	buf_init(&b, FAKE_VM_BYTES);
	assert_int_equal(fs_read_at(AT_FDCWD, "test/fuzz/corpus/hsperfdata/jdk17_g1", &b), 0);
	fake_vm_add_perf(&vm, b.data, b.len);
	assert_int_equal(perf_memory_read(&vm.memory, &vm.variables, &got), 0);
	assert_string_equal(got.java_version, "17.0.15");
	fake_vm_set(&vm, VM_STRUCTS_STRIDE, 8);
	assert_int_equal(perf_memory_read(&vm.memory, &vm.variables, &got), -EBADMSG);
	buf_fini(&b);
}
