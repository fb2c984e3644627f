/*
 * Payloads of the write-ahead log: what parses stays inside the input, and an upload is encoded
 * again to the same bytes.
 */
#include <assert.h>

#include "cluster-agent/wal/upload_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_upload(const uint8_t *data, size_t size)
{
	struct upload_record u;
	struct logged_frames *frames;
	uint8_t *again;
	size_t n;

	if (upload_record_parse(&u, data, size) < 0)
		return;
	n = u.n_frames;
	frames = calloc(n + 1, sizeof(*frames));
	again = malloc(size);
	assert(frames && again);
	for (size_t i = 0; i < n; i++) {
		frames[i] = upload_record_take_frame(&u);
		assert(frames[i].table < STORE_TABLE_MAX);
	}
	assert(u.n_frames == 0);
	assert(upload_record_size(frames, n) == size);
	upload_record_encode(again, u.id, frames, n);
	if (u.is_repeat)
		upload_record_mark_repeat(again);
	assert(memcmp(again, data, size) == 0);
	free(frames);
	free(again);
}

static void check_ids(const uint8_t *data, size_t size)
{
	struct ids_record r;
	uint64_t sum = 0;

	if (ids_record_parse(&r, data, size) < 0)
		return;
	assert(ids_record_size(r.n_ids) == size);
	for (size_t i = 0; i < r.n_ids; i++)
		sum |= ids_record_id(&r, i).low;
	assert(r.n_ids > 0 || sum == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_upload(data, size);
	check_ids(data, size);
	return 0;
}
