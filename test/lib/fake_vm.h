/*
 * The memory of a made-up HotSpot JVM: its tables of structures, types and constants, its flags
 * and its performance data, at addresses from FAKE_VM_BASE on. What lies outside is not mapped.
 */
#ifndef TEST_LIB_FAKE_VM_H
#define TEST_LIB_FAKE_VM_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "node-agent/hotspot/vm_structs.h"

#define FAKE_VM_BASE UINT64_C(0x10000)
#define FAKE_VM_BYTES 16384u

struct fake_vm {
	uint8_t image[FAKE_VM_BYTES];
	size_t used;    /* bytes of it that are mapped */
	size_t strings; /* offset behind the last string */
	struct vm_variables variables;
	struct byte_source memory;
	/* offsets in the image, for tests that change it */
	size_t structs, n_structs;
	size_t types, n_types;
	size_t constants, n_constants;
	size_t flags, n_flags;
	size_t perf; /* of its performance data; 0: it has none */
};

#define FAKE_VM_STRUCT_BYTES 48u
#define FAKE_VM_FLAG_BYTES 32u /* name at 8, value at 0, flags at 16 */

/*
 * old: as in JDK 8, where the type of a flag has another name, and none is marked as given on the
 * command line.
 */
void fake_vm_make(struct fake_vm *vm, bool old);

/* Adds a flag with this value and this word of flags. */
void fake_vm_add_flag(struct fake_vm *vm, const char *name, uint8_t value, uint32_t flags);

/* Adds performance data. */
void fake_vm_add_perf(struct fake_vm *vm, const void *data, size_t len);

/* Changes one of the exported variables. */
void fake_vm_set(struct fake_vm *vm, enum vm_variable v, uint64_t value);

/* Addresses of the variables, which are where fake_vm_make() put them. */
void fake_vm_variables(struct vm_variables *ret);

/* Bits in the word of flags, of which 0 to 3 are the origin. */
#define FAKE_VM_COMMAND_LINE 1u
#define FAKE_VM_ENVIRONMENT 2u
#define FAKE_VM_GIVEN (UINT32_C(1) << 17)

#endif /* TEST_LIB_FAKE_VM_H */
