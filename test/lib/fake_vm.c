#include "test/lib/fake_vm.h"

#include <assert.h>
#include <errno.h>

/* Regions of the image, as offsets. */
#define VARIABLES_AT 0u
#define STATICS_AT 256u /* static fields that the tables point to */
#define STRUCTS_AT 512u
#define TYPES_AT 2048u
#define CONSTANTS_AT 2560u
#define FLAGS_AT 3072u
#define VALUES_AT 4096u
#define PERF_AT 4608u
#define STRINGS_AT 12288u

#define TYPE_BYTES 40u
#define CONSTANT_BYTES 16u

/* Words among the static fields. */
enum {
	STATIC_FLAGS,
	STATIC_N_FLAGS,
	STATIC_RELEASE,
	STATIC_MAJOR,
	STATIC_JDK,
	STATIC_PERF_START,
	STATIC_PERF_CAPACITY,
	STATIC_PERF_INITIALIZED,
};

static uint64_t address(size_t offset)
{
	return FAKE_VM_BASE + offset;
}

static void put(struct fake_vm *vm, size_t at, uint64_t v)
{
	assert(at + sizeof(v) <= sizeof(vm->image));
	memcpy(vm->image + at, &v, sizeof(v));
}

static void put_static(struct fake_vm *vm, unsigned field, uint64_t v)
{
	put(vm, STATICS_AT + field * sizeof(v), v);
}

static uint64_t add_string(struct fake_vm *vm, const char *text)
{
	size_t at = vm->strings, bytes = strlen(text) + 1;

	assert(at + bytes <= sizeof(vm->image));
	memcpy(vm->image + at, text, bytes);
	vm->strings += bytes;
	return address(at);
}

static void add_struct(struct fake_vm *vm, const char *type, const char *field, bool is_static,
		       uint64_t value)
{
	size_t at = vm->structs + vm->n_structs++ * FAKE_VM_STRUCT_BYTES;

	put(vm, at, add_string(vm, type));
	put(vm, at + 8, add_string(vm, field));
	put(vm, at + 24, is_static);
	put(vm, at + (is_static ? 40 : 32), value);
}

static void add_static(struct fake_vm *vm, const char *type, const char *field, unsigned which)
{
	add_struct(vm, type, field, true, address(STATICS_AT + which * sizeof(uint64_t)));
}

static void add_type(struct fake_vm *vm, const char *name, uint64_t bytes)
{
	size_t at = vm->types + vm->n_types++ * TYPE_BYTES;

	put(vm, at, add_string(vm, name));
	put(vm, at + 32, bytes);
}

static void add_constant(struct fake_vm *vm, const char *name, uint32_t value)
{
	size_t at = vm->constants + vm->n_constants++ * CONSTANT_BYTES;

	put(vm, at, add_string(vm, name));
	put(vm, at + 8, value);
}

static void add_flag_type(struct fake_vm *vm, const char *type)
{
	add_static(vm, type, "flags", STATIC_FLAGS);
	add_static(vm, type, "numFlags", STATIC_N_FLAGS);
	add_struct(vm, type, "_addr", false, 0);
	add_struct(vm, type, "_name", false, 8);
	add_struct(vm, type, "_flags", false, 16);
	add_type(vm, type, FAKE_VM_FLAG_BYTES);
}

void fake_vm_variables(struct vm_variables *ret)
{
	for (size_t i = 0; i < VM_VARIABLES; i++)
		ret->at[i] = address(VARIABLES_AT + i * sizeof(uint64_t));
}

void fake_vm_set(struct fake_vm *vm, enum vm_variable v, uint64_t value)
{
	put(vm, VARIABLES_AT + v * sizeof(uint64_t), value);
}

static void set_variables(struct fake_vm *vm)
{
	static const uint64_t offsets[VM_VARIABLES] = {
		[VM_STRUCTS_FIELD_NAME] = 8,
		[VM_STRUCTS_IS_STATIC] = 24,
		[VM_STRUCTS_OFFSET] = 32,
		[VM_STRUCTS_ADDRESS] = 40,
		[VM_STRUCTS_STRIDE] = FAKE_VM_STRUCT_BYTES,
		[VM_TYPES_SIZE] = 32,
		[VM_TYPES_STRIDE] = TYPE_BYTES,
		[VM_CONSTANTS_VALUE] = 8,
		[VM_CONSTANTS_STRIDE] = CONSTANT_BYTES,
	};

	fake_vm_variables(&vm->variables);
	for (unsigned i = 0; i < VM_VARIABLES; i++)
		fake_vm_set(vm, i, offsets[i]);
	fake_vm_set(vm, VM_STRUCTS, address(vm->structs));
	fake_vm_set(vm, VM_TYPES, address(vm->types));
	fake_vm_set(vm, VM_CONSTANTS, address(vm->constants));
}

static int read_image(void *ctx, uint64_t offset, void *to, size_t len)
{
	const struct fake_vm *vm = ctx;

	if (offset < FAKE_VM_BASE || offset - FAKE_VM_BASE > vm->used ||
	    len > vm->used - (offset - FAKE_VM_BASE))
		return -ENODATA;
	memcpy(to, vm->image + (offset - FAKE_VM_BASE), len);
	return 0;
}

void fake_vm_make(struct fake_vm *vm, bool old)
{
	*vm = (struct fake_vm){
		.used = FAKE_VM_BYTES,
		.strings = STRINGS_AT,
		.structs = STRUCTS_AT,
		.types = TYPES_AT,
		.constants = CONSTANTS_AT,
		.flags = FLAGS_AT,
	};
	set_variables(vm);
	add_static(vm, "Universe", "_collectedHeap", STATIC_PERF_START);
	add_flag_type(vm, old ? "Flag" : "JVMFlag");
	add_type(vm, "Klass", 200);
	add_static(vm, "Abstract_VM_Version", "_s_vm_release", STATIC_RELEASE);
	add_static(vm, "Abstract_VM_Version", "_vm_major_version", STATIC_MAJOR);
	add_static(vm, "PerfMemory", "_start", STATIC_PERF_START);
	add_static(vm, "PerfMemory", "_capacity", STATIC_PERF_CAPACITY);
	add_static(vm, "PerfMemory", "_initialized", STATIC_PERF_INITIALIZED);
	if (old) {
		add_static(vm, "JDK_Version", "_current", STATIC_JDK);
		add_struct(vm, "JDK_Version", "_major", false, 1);
	} else {
		add_constant(vm, "JVMFlag::VALUE_ORIGIN_MASK", 15);
		add_constant(vm, "JVMFlag::WAS_SET_ON_COMMAND_LINE", FAKE_VM_GIVEN);
	}
	put_static(vm, STATIC_FLAGS, address(vm->flags));
	put_static(vm, STATIC_RELEASE, add_string(vm, old ? "25.504-b01" : "21.0.8+9-LTS"));
	put_static(vm, STATIC_MAJOR, old ? 25 : 21);
	put_static(vm, STATIC_JDK, 8 << 8);
	byte_source_from_reader(&vm->memory, read_image, vm, UINT64_C(1) << 48);
}

void fake_vm_add_flag(struct fake_vm *vm, const char *name, uint8_t value, uint32_t flags)
{
	size_t at = vm->flags + vm->n_flags * FAKE_VM_FLAG_BYTES,
	       value_at = VALUES_AT + vm->n_flags;

	assert(at + FAKE_VM_FLAG_BYTES <= VALUES_AT);
	vm->image[value_at] = value;
	put(vm, at, address(value_at));
	put(vm, at + 8, add_string(vm, name));
	put(vm, at + 16, flags);
	put_static(vm, STATIC_N_FLAGS, ++vm->n_flags);
}

void fake_vm_add_perf(struct fake_vm *vm, const void *data, size_t len)
{
	assert(len <= STRINGS_AT - PERF_AT);
	vm->perf = PERF_AT;
	memcpy(vm->image + PERF_AT, data, len);
	put_static(vm, STATIC_PERF_START, address(PERF_AT));
	put_static(vm, STATIC_PERF_CAPACITY, len);
	put_static(vm, STATIC_PERF_INITIALIZED, 1);
}
