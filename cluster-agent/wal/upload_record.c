#include "cluster-agent/wal/upload_record.h"

#include <errno.h>

const struct record_kind log_file_kinds[LOG_FILE_KIND_MAX] = {
	[LOG_FILE_SEGMENT] = {".segment", SEGMENT_FILE_TYPE, LOG_FILE_VERSION},
	[LOG_FILE_IDS] = {".ids", IDS_FILE_TYPE, IDS_FILE_VERSION},
	/* for a person */
	[LOG_FILE_DAMAGED] = {.suffix = ".damaged"},
	[LOG_FILE_REFUSED] = {".refused", SEGMENT_FILE_TYPE, LOG_FILE_VERSION},
};

struct upload_header {
	struct upload_id id;
	uint32_t n_frames;
	uint32_t is_repeat; /* 0 or 1 */
};

/* These follow the header, then the data of all frames. */
struct frame_header {
	uint32_t table;
	uint32_t n_rows;
	uint32_t n_bytes;
	uint32_t quarter;
	uint32_t len;
};

struct ids_header {
	uint64_t number;
	uint8_t segment_id[16];
};

_Static_assert(sizeof(struct upload_header) == 24, "no padding");
_Static_assert(sizeof(struct frame_header) == 20, "no padding");
_Static_assert(sizeof(struct ids_header) == 24, "no padding");

size_t upload_record_size(const struct logged_frames *frames, size_t n_frames)
{
	size_t size = sizeof(struct upload_header) + n_frames * sizeof(struct frame_header);

	if (n_frames > UPLOAD_RECORD_MAX_FRAMES)
		return 0;
	for (size_t i = 0; i < n_frames; i++) {
		if (frames[i].frame.len > UPLOAD_LOG_MAX_RECORD_BYTES)
			return 0;
		size += frames[i].frame.len;
		if (size > UPLOAD_LOG_MAX_RECORD_BYTES)
			return 0;
	}
	return size;
}

void upload_record_encode(uint8_t *payload, struct upload_id id, const struct logged_frames *frames,
			  size_t n_frames)
{
	const struct upload_header h = {.id = id, .n_frames = (uint32_t)n_frames};
	uint8_t *data = payload + sizeof(h) + n_frames * sizeof(struct frame_header);

	memcpy(payload, &h, sizeof(h));
	payload += sizeof(h);
	for (size_t i = 0; i < n_frames; i++) {
		const struct store_frame *f = &frames[i].frame;
		const struct frame_header fh = {
			.table = (uint32_t)frames[i].table,
			.n_rows = f->n_rows,
			.n_bytes = f->n_bytes,
			.quarter = f->quarter,
			.len = (uint32_t)f->len,
		};

		memcpy(payload, &fh, sizeof(fh));
		payload += sizeof(fh);
		if (f->len > 0)
			memcpy(data, f->data, f->len);
		data += f->len;
	}
}

void upload_record_mark_repeat(uint8_t *payload)
{
	const uint32_t is_repeat = 1;

	memcpy(payload + offsetof(struct upload_header, is_repeat), &is_repeat, sizeof(is_repeat));
}

static struct frame_header frame_header(const uint8_t *headers, size_t i)
{
	struct frame_header fh;

	memcpy(&fh, headers + i * sizeof(fh), sizeof(fh));
	return fh;
}

int upload_record_parse(struct upload_record *ret, const void *payload, size_t len)
{
	const uint8_t *headers = (const uint8_t *)payload + sizeof(struct upload_header);
	struct upload_header h;
	size_t rest;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, payload, sizeof(h));
	rest = len - sizeof(h);
	if (h.is_repeat > 1 || h.n_frames > UPLOAD_RECORD_MAX_FRAMES ||
	    rest < h.n_frames * sizeof(struct frame_header))
		return -EBADMSG;
	rest -= h.n_frames * sizeof(struct frame_header);
	for (size_t i = 0; i < h.n_frames; i++) {
		const struct frame_header fh = frame_header(headers, i);

		if (fh.table >= STORE_TABLE_MAX || fh.len > rest)
			return -EBADMSG;
		rest -= fh.len;
	}
	if (rest > 0)
		return -EBADMSG;
	*ret = (struct upload_record){
		.id = h.id,
		.is_repeat = h.is_repeat == 1,
		.n_frames = h.n_frames,
		.headers = headers,
		.data = headers + h.n_frames * sizeof(struct frame_header),
	};
	return 0;
}

struct logged_frames upload_record_take_frame(struct upload_record *u)
{
	const struct frame_header fh = frame_header(u->headers, 0);
	const struct logged_frames ret = {
		.table = (enum store_table)fh.table,
		.frame = {.data = u->data,
			  .len = fh.len,
			  .n_rows = fh.n_rows,
			  .n_bytes = fh.n_bytes,
			  .quarter = fh.quarter},
	};

	u->headers += sizeof(fh);
	u->data += fh.len;
	u->n_frames--;
	return ret;
}

size_t ids_record_size(size_t n_ids)
{
	return sizeof(struct ids_header) + n_ids * sizeof(struct upload_id);
}

void ids_record_encode(uint8_t *payload, uint64_t number, const uint8_t segment_id[16],
		       const struct upload_id *ids, size_t n_ids)
{
	struct ids_header h = {.number = number};

	memcpy(h.segment_id, segment_id, sizeof(h.segment_id));
	memcpy(payload, &h, sizeof(h));
	if (n_ids > 0)
		memcpy(payload + sizeof(h), ids, n_ids * sizeof(*ids));
}

int ids_record_parse(struct ids_record *ret, const void *payload, size_t len)
{
	struct ids_header h;

	if (len < sizeof(h) || (len - sizeof(h)) % sizeof(struct upload_id) != 0)
		return -EBADMSG;
	memcpy(&h, payload, sizeof(h));
	*ret = (struct ids_record){
		.number = h.number,
		.n_ids = (len - sizeof(h)) / sizeof(struct upload_id),
		.ids = (const uint8_t *)payload + sizeof(h),
	};
	memcpy(ret->segment_id, h.segment_id, sizeof(h.segment_id));
	return 0;
}

struct upload_id ids_record_id(const struct ids_record *r, size_t i)
{
	struct upload_id id;

	memcpy(&id, r->ids + i * sizeof(id), sizeof(id));
	return id;
}
