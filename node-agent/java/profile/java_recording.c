#include "node-agent/java/profile/java_recording.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>

#include "common/text/parse.h"

#define HEADER_BYTES 68u
#define MAGIC "FLR"
#define SIZE_OFFSET 8u
#define POOLS_OFFSET 16u /* 0 until the chunk is complete */

void java_recording_name(const struct java_recording *r, char ret[JAVA_RECORDING_NAME_BYTES])
{
	(void)snprintf(ret, JAVA_RECORDING_NAME_BYTES, "rec-%d-%" PRIu64 "-%u-%u.jfr",
		       (int)r->agent_pid, r->agent_start_time, r->number, r->n_uploaded);
}

/* Only names that java_recording_name() makes are accepted. */
bool java_recording_parse(const char *name, struct java_recording *ret)
{
	struct java_recording r;
	char again[JAVA_RECORDING_NAME_BYTES];
	int pid = 0;

	if (strlen(name) >= JAVA_RECORDING_NAME_BYTES)
		return false;
	/* NOLINTNEXTLINE(cert-err34-c): a number that overflows is not written back the same */
	if (sscanf(name, "rec-%d-%" SCNu64 "-%u-%u.jfr", &pid, &r.agent_start_time, &r.number,
		   &r.n_uploaded) != 4)
		return false;
	r.agent_pid = pid;
	java_recording_name(&r, again);
	if (pid <= 0 || strcmp(name, again) != 0)
		return false;
	*ret = r;
	return true;
}

static uint64_t number_at(const uint8_t *header, size_t offset)
{
	uint64_t v;

	memcpy(&v, header + offset, sizeof(v));
	return be64toh(v);
}

/* Returns the size of the chunk at that offset, 0 if it is not complete, or an error as below. */
static int64_t chunk_size(const struct jfr_source *source, uint64_t offset)
{
	uint8_t header[HEADER_BYTES];
	uint64_t rest = source->size_bytes - offset, size;
	ssize_t n = rest < sizeof(header)
			    ? 0
			    : source->read(source->ctx, header, sizeof(header), offset);

	if (n < 0)
		return n;
	if ((size_t)n < sizeof(header))
		return 0;
	if (memcmp(header, MAGIC, sizeof(MAGIC)) != 0)
		return -EBADMSG;
	size = number_at(header, SIZE_OFFSET);
	if (number_at(header, POOLS_OFFSET) == 0 || size > rest)
		return 0;
	return size < sizeof(header) ? -EBADMSG : (int64_t)size;
}

int java_recording_chunks(const struct jfr_source *source, uint32_t n_uploaded,
			  struct java_chunks *ret)
{
	*ret = (struct java_chunks){0};
	while (ret->to < source->size_bytes) {
		int64_t size = chunk_size(source, ret->to);

		if (size < 0)
			return (int)size;
		if (size == 0) {
			ret->is_growing = true;
			return 0;
		}
		if (ret->n == JAVA_RECORDING_CHUNKS_MAX)
			return -E2BIG;
		ret->to += (uint64_t)size;
		ret->n++;
		if (ret->n <= n_uploaded)
			ret->from = ret->to;
	}
	return 0;
}
