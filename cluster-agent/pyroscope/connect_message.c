#include "cluster-agent/pyroscope/connect_message.h"

#include <errno.h>

#include "common/protobuf/json_message.h"
#include "common/protobuf/message_json.h"
#include "common/text/json_writer.h"

/* a byte of a repeated field may become a pointer and a message */
#define MAX_MESSAGE_BYTES (64 * CONNECT_MAX_REQUEST_BYTES)

static const char *const content_types[CONNECT_CODEC_MAX] = {
	[CONNECT_PROTO] = "application/proto",
	[CONNECT_JSON] = "application/json",
};

enum connect_codec connect_codec_find(const char *content_type)
{
	size_t len;

	if (!content_type)
		return CONNECT_JSON;
	len = strcspn(content_type, "; \t");
	for (enum connect_codec c = 0; c < CONNECT_CODEC_MAX; c++)
		if (strlen(content_types[c]) == len &&
		    strncasecmp(content_types[c], content_type, len) == 0)
			return c;
	return CONNECT_CODEC_MAX;
}

const char *connect_content_type(enum connect_codec codec)
{
	return content_types[codec];
}

static void *allocate(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void release(void *arena, void *p)
{
	/* arena_fini() frees all of a message at once */
	(void)arena, (void)p;
}

ProtobufCMessage *connect_unpack(const ProtobufCMessageDescriptor *type, struct arena *arena,
				 const void *data, size_t len)
{
	ProtobufCAllocator allocator = {allocate, release, arena};

	return protobuf_c_message_unpack(type, &allocator, len, len > 0 ? data : (const void *)"");
}

static int decode(struct connect_request *r, const ProtobufCMessageDescriptor *type,
		  const void *body, size_t len, struct err *err)
{
	r->message = connect_unpack(type, &r->arena, body, len);
	return r->message ? 0 : err_set(err, -EINVAL, "the body is not a %s", type->name);
}

static int decode_json(struct connect_request *r, const ProtobufCMessageDescriptor *type,
		       const char *body, size_t len, struct err *err)
{
	CLEANUP(buf_fini) struct buf bytes;
	int e;

	buf_init(&bytes, CONNECT_MAX_REQUEST_BYTES);
	if (len == 0)
		return decode(r, type, "", 0, err);
	e = json_message_encode(type, body, len, &bytes, err);
	if (e < 0)
		return e == -ENOMEM ? e : -EINVAL;
	return decode(r, type, bytes.data, bytes.len, err);
}

int connect_request_decode(struct connect_request *ret, const ProtobufCMessageDescriptor *type,
			   enum connect_codec codec, const void *body, size_t len, struct err *err)
{
	ret->message = NULL;
	arena_init(&ret->arena, MAX_MESSAGE_BYTES);
	if (len > CONNECT_MAX_REQUEST_BYTES)
		return err_set(err, -EINVAL, "the body is too large");
	return codec == CONNECT_JSON ? decode_json(ret, type, body, len, err)
				     : decode(ret, type, body, len, err);
}

void connect_request_fini(struct connect_request *r)
{
	r->message = NULL;
	arena_fini(&r->arena);
}

int connect_encode(const ProtobufCMessage *m, enum connect_codec codec, struct buf *out)
{
	size_t len;
	int r;

	if (codec == CONNECT_JSON)
		return message_json_write(m, out);
	len = protobuf_c_message_get_packed_size(m);
	r = buf_reserve(out, len);
	if (r < 0)
		return r;
	protobuf_c_message_pack(m, (uint8_t *)out->data + out->len);
	out->len += len;
	out->data[out->len] = '\0';
	return 0;
}

struct connect_error connect_error_of(int error)
{
	switch (error) {
	case -EINVAL:
		return (struct connect_error){"invalid_argument", 400};
	case -EFBIG:
		return (struct connect_error){"resource_exhausted", 429};
	case -ENOSYS:
		return (struct connect_error){"unimplemented", 501};
	case -ECANCELED:
		return (struct connect_error){"canceled", 499};
	case -EAGAIN:
	case -EBUSY:
	case -EIO:
	case -ENOMEM:
	case -EPIPE:
		return (struct connect_error){"unavailable", 503};
	default:
		return (struct connect_error){"internal", 500};
	}
}

int connect_error_write(const char *code, const char *message, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_text(&w, "code", code);
	json_member_text(&w, "message", message);
	json_close(&w, '}');
	return json_writer_finish(&w);
}
