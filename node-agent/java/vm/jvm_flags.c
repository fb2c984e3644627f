/*
 * The flags are an array of `JVMFlag` (`Flag` in JDK 8 and 9), one for each -XX option of the
 * release: its name, where its value is, and how it came by it. Of the hundreds of names, a few
 * are looked for; the array is read as a whole, in one piece.
 */
#include "node-agent/java/vm/jvm_flags.h"

#include <errno.h>

#define FLAG_MAX_BYTES 128u /* 24 to 48 in all releases */
#define NAME_BYTES 64u
#define FEATURE_WARNS 21u /* the first release that warns of agents */

static const char *const names[JVM_FLAGS_MAX] = {
	[JVM_FLAG_DISABLE_ATTACH_MECHANISM] = "DisableAttachMechanism",
	[JVM_FLAG_ENABLE_DYNAMIC_AGENT_LOADING] = "EnableDynamicAgentLoading",
	[JVM_FLAG_REDUCE_SIGNAL_USAGE] = "ReduceSignalUsage",
	[JVM_FLAG_PRESERVE_FRAME_POINTER] = "PreserveFramePointer",
	[JVM_FLAG_USE_PERF_DATA] = "UsePerfData",
	[JVM_FLAG_PERF_DISABLE_SHARED_MEM] = "PerfDisableSharedMem",
};

/* Facts of the type that flags have, and its name in a release. */
enum fact {
	FACT_TABLE,
	FACT_COUNT,
	FACT_NAME,
	FACT_VALUE,
	FACT_FLAGS,
	FACT_SIZE,
	FACTS_OF_TYPE,
};

enum {
	FACT_OLD_TYPE = FACTS_OF_TYPE,
	FACT_GIVEN = 2 * FACTS_OF_TYPE,
	FACT_ORIGIN,
	FACT_RELEASE,
	FACT_FEATURE,
	FACT_JDK_VERSION,
	FACT_JDK_MAJOR,
	FACTS,
};

static const struct vm_fact wanted[FACTS] = {
	[FACT_TABLE] = {"JVMFlag", "flags", VM_FACT_STATIC},
	[FACT_COUNT] = {"JVMFlag", "numFlags", VM_FACT_STATIC},
	[FACT_NAME] = {"JVMFlag", "_name", VM_FACT_OFFSET},
	[FACT_VALUE] = {"JVMFlag", "_addr", VM_FACT_OFFSET},
	[FACT_FLAGS] = {"JVMFlag", "_flags", VM_FACT_OFFSET},
	[FACT_SIZE] = {"JVMFlag", NULL, VM_FACT_SIZE},
	[FACT_OLD_TYPE + FACT_TABLE] = {"Flag", "flags", VM_FACT_STATIC},
	[FACT_OLD_TYPE + FACT_COUNT] = {"Flag", "numFlags", VM_FACT_STATIC},
	[FACT_OLD_TYPE + FACT_NAME] = {"Flag", "_name", VM_FACT_OFFSET},
	[FACT_OLD_TYPE + FACT_VALUE] = {"Flag", "_addr", VM_FACT_OFFSET},
	[FACT_OLD_TYPE + FACT_FLAGS] = {"Flag", "_flags", VM_FACT_OFFSET},
	[FACT_OLD_TYPE + FACT_SIZE] = {"Flag", NULL, VM_FACT_SIZE},
	[FACT_GIVEN] = {"JVMFlag::WAS_SET_ON_COMMAND_LINE", NULL, VM_FACT_CONSTANT},
	[FACT_ORIGIN] = {"JVMFlag::VALUE_ORIGIN_MASK", NULL, VM_FACT_CONSTANT},
	[FACT_RELEASE] = {"Abstract_VM_Version", "_s_vm_release", VM_FACT_STATIC},
	[FACT_FEATURE] = {"Abstract_VM_Version", "_vm_major_version", VM_FACT_STATIC},
	[FACT_JDK_VERSION] = {"JDK_Version", "_current", VM_FACT_STATIC},
	[FACT_JDK_MAJOR] = {"JDK_Version", "_major", VM_FACT_OFFSET},
};

struct flag_table {
	uint64_t address;
	uint64_t n;
	uint64_t stride;
	uint64_t name, value, flags; /* offsets in an entry */
	/* bits in flags; 0 if the release has none */
	uint32_t given;  /* on the command line */
	uint32_t origin; /* of the value; 0: it is the default */
};

static bool lies_within(uint64_t offset, size_t size, uint64_t stride)
{
	return offset <= stride - size;
}

static int find_table(const struct byte_source *memory, const struct vm_fact *facts,
		      struct flag_table *ret)
{
	const struct vm_fact *f = facts[FACT_TABLE].found ? facts : facts + FACT_OLD_TYPE;
	struct flag_table t = {
		.stride = f[FACT_SIZE].value,
		.name = f[FACT_NAME].value,
		.value = f[FACT_VALUE].value,
		.flags = f[FACT_FLAGS].value,
		.given = (uint32_t)facts[FACT_GIVEN].value,
		.origin = (uint32_t)facts[FACT_ORIGIN].value,
	};
	int r;

	for (size_t i = 0; i < FACTS_OF_TYPE; i++) {
		if (!f[i].found)
			return -ENOENT;
	}
	r = byte_source_read(memory, f[FACT_TABLE].value, &t.address, sizeof(t.address));
	if (r == 0)
		r = byte_source_read(memory, f[FACT_COUNT].value, &t.n, sizeof(t.n));
	if (r < 0)
		return r;
	if (t.n == 0 || t.n > JVM_FLAGS_TABLE_MAX || t.stride < 2 * sizeof(uint64_t) ||
	    t.stride > FLAG_MAX_BYTES || !lies_within(t.name, sizeof(uint64_t), t.stride) ||
	    !lies_within(t.value, sizeof(uint64_t), t.stride) ||
	    !lies_within(t.flags, sizeof(uint32_t), t.stride))
		return -EBADMSG;
	*ret = t;
	return 0;
}

static uint64_t pointer_at(const uint8_t *entry, uint64_t offset)
{
	uint64_t v;

	memcpy(&v, entry + offset, sizeof(v));
	return v;
}

static bool is_one_bit(uint32_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

/* entry: of EnableDynamicAgentLoading, which is at that address. */
static void read_origin(const struct flag_table *t, const uint8_t *entry, uint64_t address,
			struct jvm_flags *to)
{
	uint32_t word;

	memcpy(&word, entry + t->flags, sizeof(word));
	to->agent_loading_warns =
		is_one_bit(t->given) && (word & t->given) == 0 && (word & t->origin) != 0;
	to->agent_loading_word = word;
	to->agent_loading_bit = t->given;
	to->agent_loading_at = address + t->flags;
}

static int read_flag(const struct byte_source *memory, const struct flag_table *t,
		     const uint8_t *entry, uint64_t address, struct jvm_flags *to)
{
	uint64_t name_at = pointer_at(entry, t->name), value_at = pointer_at(entry, t->value);
	char name[NAME_BYTES];
	uint8_t value;
	size_t i;
	int r;

	if (name_at == 0 || value_at == 0) /* the last one of some releases */
		return 0;
	r = byte_source_read_string(memory, name_at, name_at + sizeof(name), name, sizeof(name));
	if (r < 0)
		return r == -ENAMETOOLONG ? 0 : r;
	for (i = 0; i < JVM_FLAGS_MAX; i++) {
		if (strcmp(names[i], name) == 0)
			break;
	}
	if (i == JVM_FLAGS_MAX)
		return 0;
	r = byte_source_read(memory, value_at, &value, sizeof(value));
	if (r < 0)
		return r;
	if (value > 1) /* they are C++'s bool */
		return -EBADMSG;
	to->known |= UINT32_C(1) << i;
	to->on |= (uint32_t)value << i;
	if (i == JVM_FLAG_ENABLE_DYNAMIC_AGENT_LOADING)
		read_origin(t, entry, address, to);
	return 0;
}

static int read_flags(const struct byte_source *memory, const struct flag_table *t,
		      struct jvm_flags *to)
{
	size_t bytes = (size_t)(t->n * t->stride);
	AUTO_FREE uint8_t *table = malloc(bytes);
	int r;

	if (!table)
		return -ENOMEM;
	r = byte_source_read(memory, t->address, table, bytes);
	for (uint64_t i = 0; i < t->n && r == 0; i++)
		r = read_flag(memory, t, table + i * t->stride, t->address + i * t->stride, to);
	/* every release has this one, so that without it the table was not a table of flags */
	if (r == 0 && !jvm_flags_known(to, JVM_FLAG_DISABLE_ATTACH_MECHANISM))
		return -EBADMSG;
	return r;
}

/*
 * JDK 8 has the version of HotSpot (25) where later ones have that of the JDK, and names the JDK's
 * elsewhere. What cannot be read stays unknown: nothing depends on it.
 */
static void read_release(const struct byte_source *memory, const struct vm_fact *facts,
			 struct jvm_flags *to)
{
	uint64_t text = 0;
	uint8_t jdk = 0;
	int32_t vm = 0;

	if (facts[FACT_RELEASE].found &&
	    byte_source_read(memory, facts[FACT_RELEASE].value, &text, sizeof(text)) == 0 &&
	    (text == 0 || byte_source_read_string(memory, text, text + sizeof(to->release),
						  to->release, sizeof(to->release)) < 0))
		to->release[0] = '\0';
	if (facts[FACT_JDK_VERSION].found && facts[FACT_JDK_MAJOR].found &&
	    byte_source_read(memory, facts[FACT_JDK_VERSION].value + facts[FACT_JDK_MAJOR].value,
			     &jdk, sizeof(jdk)) == 0)
		to->feature = jdk;
	else if (facts[FACT_FEATURE].found &&
		 byte_source_read(memory, facts[FACT_FEATURE].value, &vm, sizeof(vm)) == 0 &&
		 vm > 0)
		to->feature = (unsigned)vm;
}

int jvm_flags_read(const struct byte_source *memory, const struct vm_variables *variables,
		   struct jvm_flags *ret)
{
	struct jvm_flags flags = {0};
	struct vm_fact facts[FACTS];
	struct flag_table table;
	int r;

	memcpy(facts, wanted, sizeof(facts));
	r = vm_structs_find(memory, variables, facts, FACTS);
	if (r == 0)
		r = find_table(memory, facts, &table);
	if (r == 0)
		r = read_flags(memory, &table, &flags);
	if (r < 0)
		return r;
	read_release(memory, facts, &flags);
	flags.agent_loading_warns &= flags.feature >= FEATURE_WARNS;
	*ret = flags;
	return 0;
}
