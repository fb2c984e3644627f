#include "common/protobuf/message_json.h"

#include <inttypes.h>

#include "common/text/base64.h"
#include "common/text/json_writer.h"

/* The size of an element of a repeated field. */
static size_t element_size(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return sizeof(uint64_t);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
		return sizeof(char *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(ProtobufCMessage *);
	default:
		return sizeof(uint32_t);
	}
}

void message_json_name(char ret[static MESSAGE_JSON_NAME_BYTES], const char *field)
{
	size_t n = 0;
	bool upper = false;

	for (; *field && n + 1 < MESSAGE_JSON_NAME_BYTES; field++) {
		if (*field == '_') {
			upper = true;
			continue;
		}
		ret[n++] = upper && *field >= 'a' && *field <= 'z' ? (char)(*field - 'a' + 'A')
								   : *field;
		upper = false;
	}
	ret[n] = '\0';
}

static void put_number_text(struct json_writer *w, bool is_signed, uint64_t v)
{
	char text[24];
	int n = is_signed ? snprintf(text, sizeof(text), "%" PRId64, (int64_t)v)
			  : snprintf(text, sizeof(text), "%" PRIu64, v);

	json_put_string(w, text, (size_t)n);
}

static void put_bytes(struct json_writer *w, const ProtobufCBinaryData *b)
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, (b->len + 2) / 3 * 4 + 1);
	r = base64_encode(b->data, b->len, &text);
	if (r < 0 && w->error == 0)
		w->error = r;
	json_put_string(w, text.data ? text.data : "", text.len);
}

static void put_enum(struct json_writer *w, const ProtobufCEnumDescriptor *d, int value)
{
	const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(d, value);

	if (v)
		json_put_string(w, v->name, strlen(v->name));
	else
		json_put_int(w, value);
}

static void put_message(struct json_writer *w, const ProtobufCMessage *m);

static void put_value(struct json_writer *w, const ProtobufCFieldDescriptor *f, const void *at)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		put_number_text(w, true, *(const uint64_t *)at);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		put_number_text(w, false, *(const uint64_t *)at);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		json_put_int(w, *(const uint32_t *)at);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		json_put_double(w, *(const double *)at);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		json_put_double(w, (double)*(const float *)at);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		json_put_bool(w, *(const protobuf_c_boolean *)at);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		put_enum(w, f->descriptor, *(const int *)at);
		break;
	case PROTOBUF_C_TYPE_STRING:
		json_put_string(w, *(char *const *)at, strlen(*(char *const *)at));
		break;
	case PROTOBUF_C_TYPE_BYTES:
		put_bytes(w, at);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		put_message(w, *(ProtobufCMessage *const *)at);
		break;
	default: /* int32 */
		json_put_int(w, *(const int32_t *)at);
	}
}

static bool is_default(const ProtobufCFieldDescriptor *f, const void *at)
{
	static const uint64_t zero;

	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		return !*(char *const *)at || !**(char *const *)at;
	case PROTOBUF_C_TYPE_BYTES:
		return ((const ProtobufCBinaryData *)at)->len == 0;
	case PROTOBUF_C_TYPE_MESSAGE:
		return !*(ProtobufCMessage *const *)at;
	default:
		return memcmp(at, &zero, element_size(f->type)) == 0;
	}
}

static void put_repeated(struct json_writer *w, const ProtobufCFieldDescriptor *f,
			 const char *elements, size_t n)
{
	json_open(w, '[');
	for (size_t i = 0; i < n; i++)
		put_value(w, f, elements + i * element_size(f->type));
	json_close(w, ']');
}

static void put_field(struct json_writer *w, const ProtobufCFieldDescriptor *f, const char *m)
{
	const void *at = m + f->offset;
	bool repeated = f->label == PROTOBUF_C_LABEL_REPEATED;
	size_t n = repeated ? *(const size_t *)(m + f->quantifier_offset) : 0;
	char name[MESSAGE_JSON_NAME_BYTES];

	if (repeated ? n == 0 : is_default(f, at))
		return;
	message_json_name(name, f->name);
	json_key(w, name);
	if (repeated)
		put_repeated(w, f, *(char *const *)at, n);
	else
		put_value(w, f, at);
}

static void put_message(struct json_writer *w, const ProtobufCMessage *m)
{
	json_open(w, '{');
	for (unsigned i = 0; i < m->descriptor->n_fields && w->error == 0; i++)
		put_field(w, &m->descriptor->fields[i], (const char *)m);
	json_close(w, '}');
}

int message_json_write(const ProtobufCMessage *m, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out);
	put_message(&w, m);
	return json_writer_finish(&w);
}
