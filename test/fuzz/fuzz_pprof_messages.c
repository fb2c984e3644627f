/*
 * The first byte chooses a message, the rest are its bytes. What our reader takes, protobuf-c takes
 * with the same content. The reverse holds for what protobuf-c writes: it reads some spellings that
 * ours refuses, such as a field of number 0.
 */
#include "common/limits.h"
#include "common/pprof/pprof_messages.h"
#include "proto/profile.pb-c.h"

#define N_NUMBERS 64
#define N_LINES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Each check returns whether ours took the bytes; m is protobuf-c's message, or NULL. */

static bool check_value_type(const uint8_t *data, size_t size, const ProtobufCMessage *message)
{
	const Perftools__Profiles__ValueType *m = (const void *)message;
	struct pprof_value_type ours;

	if (pprof_read_value_type(data, size, &ours) < 0)
		return false;
	require(m && ours.type == m->type && ours.unit == m->unit);
	return true;
}

static bool check_function(const uint8_t *data, size_t size, const ProtobufCMessage *message)
{
	const Perftools__Profiles__Function *m = (const void *)message;
	struct pprof_function ours;

	if (pprof_read_function(data, size, &ours) < 0)
		return false;
	require(m && ours.id == m->id && ours.name == m->name && ours.file == m->filename &&
		ours.start_line == m->start_line);
	return true;
}

static bool check_location(const uint8_t *data, size_t size, const ProtobufCMessage *message)
{
	const Perftools__Profiles__Location *m = (const void *)message;
	struct pprof_line lines[N_LINES];
	struct pprof_location ours = {.lines = {.items = lines, .max = N_LINES}};

	if (pprof_read_location(data, size, &ours) < 0)
		return false;
	require(m && ours.id == m->id && ours.address == m->address);
	require(ours.lines.n == m->n_line);
	for (size_t i = 0; i < least(m->n_line, N_LINES); i++)
		require(lines[i].function_id == m->line[i]->function_id &&
			lines[i].line == m->line[i]->line);
	return true;
}

static bool check_sample(const uint8_t *data, size_t size, const ProtobufCMessage *message)
{
	const Perftools__Profiles__Sample *m = (const void *)message;
	uint64_t ids[N_NUMBERS], values[N_NUMBERS];
	struct pprof_sample ours = {{ids, N_NUMBERS, 0}, {values, N_NUMBERS, 0}};

	if (pprof_read_sample(data, size, &ours) < 0)
		return false;
	require(m && ours.location_ids.n == m->n_location_id && ours.values.n == m->n_value);
	for (size_t i = 0; i < least(m->n_location_id, N_NUMBERS); i++)
		require(ids[i] == m->location_id[i]);
	for (size_t i = 0; i < least(m->n_value, N_NUMBERS); i++)
		require((int64_t)values[i] == m->value[i]);
	return true;
}

static void drop_unknown_fields(ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->n_unknown_fields; i++)
		free(m->unknown_fields[i].data);
	free(m->unknown_fields);
	m->n_unknown_fields = 0;
	m->unknown_fields = NULL;
}

/* Unknown fields are written as they were read, whatever they are. */
static void drop_all_unknown_fields(ProtobufCMessage *m)
{
	drop_unknown_fields(m);
	if (m->descriptor == &perftools__profiles__location__descriptor) {
		Perftools__Profiles__Location *l = (void *)m;

		for (size_t i = 0; i < l->n_line; i++)
			drop_unknown_fields(&l->line[i]->base);
	} else if (m->descriptor == &perftools__profiles__sample__descriptor) {
		Perftools__Profiles__Sample *sample = (void *)m;

		for (size_t i = 0; i < sample->n_label; i++)
			drop_unknown_fields(&sample->label[i]->base);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		const ProtobufCMessageDescriptor *descriptor;
		bool (*check)(const uint8_t *, size_t, const ProtobufCMessage *);
	} kinds[] = {
		{&perftools__profiles__value_type__descriptor, check_value_type},
		{&perftools__profiles__function__descriptor, check_function},
		{&perftools__profiles__location__descriptor, check_location},
		{&perftools__profiles__sample__descriptor, check_sample},
	};
	ProtobufCMessage *m;
	size_t kind, len;
	uint8_t *again;

	if (size == 0 || size > MIB)
		return 0;
	kind = data[0] % ARRAY_SIZE(kinds);
	m = protobuf_c_message_unpack(kinds[kind].descriptor, NULL, size - 1, data + 1);
	kinds[kind].check(data + 1, size - 1, m);
	if (!m)
		return 0;
	drop_all_unknown_fields(m);
	again = malloc(protobuf_c_message_get_packed_size(m) + 1);
	require(again);
	len = protobuf_c_message_pack(m, again);
	require(kinds[kind].check(again, len, m));
	free(again);
	protobuf_c_message_free_unpacked(m, NULL);
	return 0;
}
