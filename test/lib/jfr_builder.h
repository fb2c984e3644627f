/*
 * Makes recordings by hand, value by value: for what real ones do not have. Types and ids are those
 * of builder_types below.
 */
#ifndef TEST_LIB_JFR_BUILDER_H
#define TEST_LIB_JFR_BUILDER_H

#include <assert.h>

#include "common/base.h"
#include "common/data/buf.h"

enum {
	TYPE_METADATA,
	TYPE_CHECKPOINT,
	TYPE_BOOLEAN = 10,
	TYPE_INT,
	TYPE_LONG,
	TYPE_STRING,
	TYPE_CLASS = 20,
	TYPE_SYMBOL,
	TYPE_METHOD,
	TYPE_FRAME_TYPE,
	TYPE_FRAME,
	TYPE_STACK,
	TYPE_CYCLE = 30, /* contains itself */
	TYPE_EMPTY,      /* takes no byte */
	TYPE_EXECUTION = 101,
	TYPE_ALLOC,
	TYPE_MONITOR,
	TYPE_SETTING,
	TYPE_OLD_OBJECT,
	TYPE_SOCKET, /* has a stack and is not used */
	TYPE_LOAD,   /* has none */
	TYPE_MALLOC,
	TYPE_PARK = 2000, /* beyond the table of small ids */
	TYPE_PROFILER,    /* says that async-profiler wrote it */
};

enum { CP = 1, ARRAY = 2 };

struct builder_field {
	const char *name;
	unsigned type;
	unsigned flags;
};

static const struct builder_type {
	unsigned id;
	const char *name;
	struct builder_field fields[6];
} builder_types[] = {
	{TYPE_BOOLEAN, "boolean", {{NULL}}},
	{TYPE_INT, "int", {{NULL}}},
	{TYPE_LONG, "long", {{NULL}}},
	{TYPE_STRING, "java.lang.String", {{NULL}}},
	{TYPE_CLASS, "java.lang.Class", {{"name", TYPE_SYMBOL, CP}}},
	{TYPE_SYMBOL, "jdk.types.Symbol", {{"string", TYPE_STRING}}},
	{TYPE_METHOD, "jdk.types.Method", {{"type", TYPE_CLASS, CP}, {"name", TYPE_SYMBOL, CP}}},
	{TYPE_FRAME_TYPE, "jdk.types.FrameType", {{"description", TYPE_STRING}}},
	{TYPE_FRAME,
	 "jdk.types.StackFrame",
	 {{"method", TYPE_METHOD, CP}, {"lineNumber", TYPE_INT}, {"type", TYPE_FRAME_TYPE, CP}}},
	{TYPE_STACK,
	 "jdk.types.StackTrace",
	 {{"truncated", TYPE_BOOLEAN}, {"frames", TYPE_FRAME, ARRAY}}},
	{TYPE_CYCLE, "Cycle", {{"self", TYPE_CYCLE}}},
	{TYPE_EMPTY, "Empty", {{NULL}}},
	{TYPE_EXECUTION,
	 "jdk.ExecutionSample",
	 {{"startTime", TYPE_LONG}, {"stackTrace", TYPE_STACK, CP}}},
	{TYPE_ALLOC,
	 "jdk.ObjectAllocationInNewTLAB",
	 {{"startTime", TYPE_LONG},
	  {"stackTrace", TYPE_STACK, CP},
	  {"objectClass", TYPE_CLASS, CP},
	  {"allocationSize", TYPE_LONG},
	  {"tlabSize", TYPE_LONG}}},
	{TYPE_MONITOR,
	 "jdk.JavaMonitorEnter",
	 {{"startTime", TYPE_LONG},
	  {"duration", TYPE_LONG},
	  {"stackTrace", TYPE_STACK, CP},
	  {"monitorClass", TYPE_CLASS, CP}}},
	{TYPE_SETTING,
	 "jdk.ActiveSetting",
	 {{"id", TYPE_LONG}, {"name", TYPE_STRING}, {"value", TYPE_STRING}}},
	{TYPE_PARK,
	 "jdk.ThreadPark",
	 {{"startTime", TYPE_LONG},
	  {"duration", TYPE_LONG},
	  {"stackTrace", TYPE_STACK, CP},
	  {"parkedClass", TYPE_CLASS, CP}}},
	{TYPE_OLD_OBJECT,
	 "jdk.OldObjectSample",
	 {{"startTime", TYPE_LONG}, {"stackTrace", TYPE_STACK, CP}, {"objectSize", TYPE_LONG}}},
	{TYPE_SOCKET,
	 "jdk.SocketRead",
	 {{"startTime", TYPE_LONG}, {"duration", TYPE_LONG}, {"stackTrace", TYPE_STACK, CP}}},
	{TYPE_LOAD, "jdk.CPULoad", {{"startTime", TYPE_LONG}}},
	/* of async-profiler */
	{TYPE_MALLOC,
	 "profiler.Malloc",
	 {{"startTime", TYPE_LONG}, {"stackTrace", TYPE_STACK, CP}, {"size", TYPE_LONG}}},
	{TYPE_PROFILER, "profiler.Log", {{"startTime", TYPE_LONG}}},
};

struct jfr_builder {
	struct buf out;
	bool is_plain;         /* integers are not compressed */
	bool is_jdk;           /* no types of async-profiler */
	uint64_t ticks;        /* per second */
	size_t chunk;          /* where it begins */
	size_t record;         /* where the event begins */
	size_t metadata, last; /* last: checkpoint; from the beginning of the chunk */
};

static inline void build_bytes(struct jfr_builder *b, const void *data, size_t len)
{
	int r = buf_add(&b->out, data, len);

	assert(r == 0);
	(void)r;
}

static inline void build_raw(struct jfr_builder *b, uint64_t value, size_t n)
{
	for (size_t i = n; i > 0; i--) {
		uint8_t byte = (uint8_t)(value >> (8 * (i - 1)));

		build_bytes(b, &byte, 1);
	}
}

static inline void build_integer(struct jfr_builder *b, uint64_t value, size_t plain_bytes)
{
	unsigned i;

	if (b->is_plain) {
		build_raw(b, value, plain_bytes);
		return;
	}
	for (i = 0; i < 8 && value >= 0x80; i++) {
		build_raw(b, (value & 0x7f) | 0x80, 1);
		value >>= 7;
	}
	build_raw(b, value, 1);
}

static inline void build_int(struct jfr_builder *b, uint32_t value)
{
	build_integer(b, value, 4);
}

static inline void build_long(struct jfr_builder *b, uint64_t value)
{
	build_integer(b, value, 8);
}

/* UTF-8, or null */
static inline void build_text(struct jfr_builder *b, const char *text)
{
	build_raw(b, text ? 3 : 0, 1);
	if (text) {
		build_int(b, (uint32_t)strlen(text));
		build_bytes(b, text, strlen(text));
	}
}

static inline void build_begin(struct jfr_builder *b, uint64_t type)
{
	b->record = b->out.len;
	build_raw(b, 0, 4);
	build_long(b, type);
}

static inline void build_set_size(struct jfr_builder *b, size_t size)
{
	uint8_t *at = (uint8_t *)b->out.data + b->record;

	for (unsigned i = 0; i < 4; i++)
		at[i] = b->is_plain ? (uint8_t)(size >> (24 - 8 * i))
				    : (uint8_t)((size >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
}

static inline void build_end(struct jfr_builder *b)
{
	build_set_size(b, b->out.len - b->record);
}

/* Numbers of strings: 0 to 7 are fixed; then for each type its name and id, and for each field. */
static const char *const builder_words[] = {
	"root", "metadata",     "class",     "field", "id",
	"name", "constantPool", "dimension", "true",  "1",
};

static inline uint32_t build_string_of(const struct builder_type *t, size_t field, size_t what)
{
	size_t n = ARRAY_SIZE(builder_words) + (size_t)(t - builder_types) * (2 + 2 * 6);

	return (uint32_t)(n + (field == SIZE_MAX ? 0 : 2 + 2 * field) + what);
}

static inline void build_type(struct jfr_builder *b, const struct builder_type *t)
{
	uint32_t n = 0;

	while (n < ARRAY_SIZE(t->fields) && t->fields[n].name)
		n++;
	build_int(b, 2);
	build_int(b, 2);
	build_int(b, 5);
	build_int(b, build_string_of(t, SIZE_MAX, 0));
	build_int(b, 4);
	build_int(b, build_string_of(t, SIZE_MAX, 1));
	build_int(b, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct builder_field *f = &t->fields[i];

		build_int(b, 3);
		build_int(b, 2 + (f->flags & CP ? 1 : 0) + (f->flags & ARRAY ? 1 : 0));
		build_int(b, 5);
		build_int(b, build_string_of(t, i, 0));
		build_int(b, 2);
		build_int(b, build_string_of(t, i, 1));
		if (f->flags & CP) {
			build_int(b, 6);
			build_int(b, 8);
		}
		if (f->flags & ARRAY) {
			build_int(b, 7);
			build_int(b, 9);
		}
		build_int(b, 0);
	}
}

static inline void build_number_text(struct jfr_builder *b, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	build_text(b, text);
}

static inline void build_metadata(struct jfr_builder *b)
{
	size_t n_types = ARRAY_SIZE(builder_types) - (b->is_jdk ? 2 : 0);

	build_begin(b, TYPE_METADATA);
	b->metadata = b->record - b->chunk;
	build_long(b, 0);
	build_long(b, 0);
	build_long(b, 1);
	build_int(b,
		  (uint32_t)(ARRAY_SIZE(builder_words) + ARRAY_SIZE(builder_types) * (2 + 2 * 6)));
	for (size_t i = 0; i < ARRAY_SIZE(builder_words); i++)
		build_text(b, builder_words[i]);
	for (size_t i = 0; i < ARRAY_SIZE(builder_types); i++) {
		const struct builder_type *t = &builder_types[i];

		build_text(b, t->name);
		build_number_text(b, t->id);
		for (size_t k = 0; k < 6; k++) {
			build_text(b, t->fields[k].name ? t->fields[k].name : "");
			build_number_text(b, t->fields[k].type);
		}
	}
	build_int(b, 0); /* root */
	build_int(b, 0);
	build_int(b, 1);
	build_int(b, 1); /* metadata */
	build_int(b, 0);
	build_int(b, (uint32_t)n_types);
	for (size_t i = 0; i < n_types; i++)
		build_type(b, &builder_types[i]);
	build_end(b);
}

/* Begins a chunk and writes its metadata. */
static inline void build_chunk(struct jfr_builder *b)
{
	b->chunk = b->out.len;
	b->last = 0;
	build_bytes(b, "FLR\0", 4);
	build_raw(b, 2, 2);
	build_raw(b, 0, 2);
	for (size_t i = 0; i < 3; i++) /* filled in by build_chunk_end() */
		build_raw(b, 0, 8);
	build_raw(b, UINT64_C(1700000000000000000), 8);
	build_raw(b, UINT64_C(60000000000), 8);
	build_raw(b, 0, 8);
	build_raw(b, b->ticks, 8);
	build_raw(b, b->is_plain ? 0 : 1, 4);
	build_metadata(b);
}

static inline void build_header(struct jfr_builder *b, size_t at, uint64_t value)
{
	for (size_t i = 0; i < 8; i++)
		((uint8_t *)b->out.data)[b->chunk + at + i] = (uint8_t)(value >> (56 - 8 * i));
}

/* Ends a chunk: writes what only its end knows. */
static inline void build_chunk_end(struct jfr_builder *b)
{
	build_header(b, 8, b->out.len - b->chunk);
	build_header(b, 16, b->last);
	build_header(b, 24, b->metadata);
}

/* Begins a checkpoint of n pools, chained to the one before it; build_end() ends it. */
static inline void build_checkpoint(struct jfr_builder *b, uint32_t n_pools)
{
	size_t before = b->last;

	build_begin(b, TYPE_CHECKPOINT);
	b->last = b->record - b->chunk;
	build_long(b, 0);
	build_long(b, 0);
	build_long(b, before != 0 ? before - b->last : 0);
	build_raw(b, 1, 1);
	build_int(b, n_pools);
}

static inline void build_pool(struct jfr_builder *b, unsigned type, uint32_t n)
{
	build_long(b, type);
	build_int(b, n);
}

/* Pools for stacks 1 to n_stacks, each of one frame: stack i is line 10 + i of a/Foo.run. */
static inline void build_names(struct jfr_builder *b, uint32_t n_stacks)
{
	build_pool(b, TYPE_STACK, n_stacks);
	for (uint32_t i = 1; i <= n_stacks; i++) {
		build_long(b, i);
		build_raw(b, 0, 1);
		build_int(b, 1);
		build_long(b, 1);
		build_int(b, 10 + i);
		build_long(b, 0);
	}
	build_pool(b, TYPE_METHOD, 1);
	build_long(b, 1);
	build_long(b, 1);
	build_long(b, 2);
	build_pool(b, TYPE_CLASS, 1);
	build_long(b, 1);
	build_long(b, 1);
	build_pool(b, TYPE_SYMBOL, 2);
	build_long(b, 1);
	build_text(b, "a/Foo");
	build_long(b, 2);
	build_text(b, "run");
}

static inline void build_execution(struct jfr_builder *b, uint64_t stack)
{
	build_begin(b, TYPE_EXECUTION);
	build_long(b, 1);
	build_long(b, stack);
	build_end(b);
}

/* An event of a start, numbers if they are not 0, a stack, and a number if it is not 0. */
static inline void build_event(struct jfr_builder *b, unsigned type, uint64_t duration,
			       uint64_t stack, uint64_t size)
{
	build_begin(b, type);
	build_long(b, 1);
	if (duration > 0)
		build_long(b, duration);
	if (stack > 0)
		build_long(b, stack);
	if (size > 0)
		build_long(b, size);
	build_end(b);
}

static inline void build_setting(struct jfr_builder *b, const char *name, const char *value)
{
	build_begin(b, TYPE_SETTING);
	build_long(b, TYPE_EXECUTION);
	build_text(b, name);
	build_text(b, value);
	build_end(b);
}

#endif /* TEST_LIB_JFR_BUILDER_H */
