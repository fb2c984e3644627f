/*
 * protoc-c describes each message: names, numbers and types of its fields. So one walk over the
 * JSON value, beside the description, writes the bytes of any message.
 *
 * The length of a nested message stands before it and is known after it. It is written as a varint
 * of five bytes whatever its value, which every reader accepts, so that nothing has to be moved.
 *
 * jansson keeps the whole text as objects, which are many times as large as a text of short
 * numbers. So what begins a value is counted before it is given the text.
 */
#include "common/protobuf/json_message.h"

#include <errno.h>
#include <jansson.h>

#include "common/text/base64.h"
#include "common/text/parse.h"

#define LENGTH_BYTES 5u

enum { TYPE_VARINT = 0, TYPE_FIXED64 = 1, TYPE_BYTES = 2, TYPE_FIXED32 = 5 };

struct encoder {
	struct buf *out;
	struct err *err;
	unsigned depth;
};

static int misfit(const struct encoder *e, const char *field, const char *what)
{
	return err_set(e->err, -EBADMSG, "field %s is not %s", field, what);
}

static int put_varint(struct encoder *e, uint64_t v)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (unsigned char)(v | 0x80);
	bytes[n++] = (unsigned char)v;
	return buf_add(e->out, bytes, n);
}

static int put_tag(struct encoder *e, const ProtobufCFieldDescriptor *f, unsigned wire_type)
{
	return put_varint(e, (uint64_t)f->id << 3 | wire_type);
}

static int put_fixed(struct encoder *e, uint64_t v, size_t n)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)(v >> (8 * i));
	return buf_add(e->out, bytes, n);
}

/* ---- values ---- */

static bool parse_signed(const char *s, size_t len, int64_t *ret)
{
	bool negative = len > 0 && s[0] == '-';
	uint64_t limit = (uint64_t)INT64_MAX + negative, n;

	if (parse_u64(s + negative, len - negative, 0, limit, &n) < 0)
		return false;
	*ret = negative ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

static bool read_signed(const json_t *value, int64_t *ret)
{
	if (json_is_integer(value)) {
		*ret = json_integer_value(value);
		return true;
	}
	if (json_is_real(value)) {
		double d = json_real_value(value);

		/* "1.0" and "1e3" are whole numbers, too */
		if (!(d >= -9.2e18 && d <= 9.2e18) || (double)(int64_t)d != d)
			return false;
		*ret = (int64_t)d;
		return true;
	}
	return json_is_string(value) &&
	       parse_signed(json_string_value(value), json_string_length(value), ret);
}

static bool read_unsigned(const json_t *value, uint64_t *ret)
{
	int64_t n;

	if (json_is_string(value))
		return parse_u64(json_string_value(value), json_string_length(value), 0, UINT64_MAX,
				 ret) == 0;
	if (!read_signed(value, &n) || n < 0)
		return false;
	*ret = (uint64_t)n;
	return true;
}

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static int put_signed(struct encoder *e, const ProtobufCFieldDescriptor *f, const json_t *value)
{
	int64_t n;

	if (!read_signed(value, &n))
		return misfit(e, f->name, "a whole number");
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		if (n < INT32_MIN || n > INT32_MAX)
			return misfit(e, f->name, "a number of 32 bits");
		break;
	default:
		break;
	}
	switch (f->type) {
	case PROTOBUF_C_TYPE_SFIXED32:
		return put_tag(e, f, TYPE_FIXED32) ?: put_fixed(e, (uint64_t)n, 4);
	case PROTOBUF_C_TYPE_SFIXED64:
		return put_tag(e, f, TYPE_FIXED64) ?: put_fixed(e, (uint64_t)n, 8);
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SINT64:
		return put_tag(e, f, TYPE_VARINT) ?: put_varint(e, zigzag(n));
	default:
		return put_tag(e, f, TYPE_VARINT) ?: put_varint(e, (uint64_t)n);
	}
}

static int put_unsigned(struct encoder *e, const ProtobufCFieldDescriptor *f, const json_t *value)
{
	uint64_t n;

	if (!read_unsigned(value, &n))
		return misfit(e, f->name, "a whole number of at least 0");
	if ((f->type == PROTOBUF_C_TYPE_UINT32 || f->type == PROTOBUF_C_TYPE_FIXED32) &&
	    n > UINT32_MAX)
		return misfit(e, f->name, "a number of 32 bits");
	if (f->type == PROTOBUF_C_TYPE_FIXED32)
		return put_tag(e, f, TYPE_FIXED32) ?: put_fixed(e, n, 4);
	if (f->type == PROTOBUF_C_TYPE_FIXED64)
		return put_tag(e, f, TYPE_FIXED64) ?: put_fixed(e, n, 8);
	return put_tag(e, f, TYPE_VARINT) ?: put_varint(e, n);
}

static int put_real(struct encoder *e, const ProtobufCFieldDescriptor *f, const json_t *value)
{
	static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
	static const double values[] = {__builtin_nan(""), __builtin_inf(), -__builtin_inf()};
	double d = json_number_value(value);
	uint64_t bits = 0;
	float single;

	if (json_is_string(value)) {
		size_t i = 0;

		while (i < ARRAY_SIZE(names) && strcmp(json_string_value(value), names[i]) != 0)
			i++;
		if (i == ARRAY_SIZE(names))
			return misfit(e, f->name, "a number");
		d = values[i];
	} else if (!json_is_number(value)) {
		return misfit(e, f->name, "a number");
	}
	if (f->type == PROTOBUF_C_TYPE_DOUBLE) {
		memcpy(&bits, &d, sizeof(d));
		return put_tag(e, f, TYPE_FIXED64) ?: put_fixed(e, bits, 8);
	}
	if (d > 3.4e38 || d < -3.4e38)
		single = d > 0 ? __builtin_inff() : -__builtin_inff();
	else
		single = (float)d;
	memcpy(&bits, &single, sizeof(single));
	return put_tag(e, f, TYPE_FIXED32) ?: put_fixed(e, bits, 4);
}

static int put_enum(struct encoder *e, const ProtobufCFieldDescriptor *f, const json_t *value)
{
	const ProtobufCEnumValue *v;
	int64_t n;

	if (json_is_string(value)) {
		v = protobuf_c_enum_descriptor_get_value_by_name(f->descriptor,
								 json_string_value(value));
		if (!v)
			return 0;
		n = v->value;
	} else if (!read_signed(value, &n) || n < INT32_MIN || n > INT32_MAX) {
		return misfit(e, f->name, "a name or a number of 32 bits");
	}
	return put_tag(e, f, TYPE_VARINT) ?: put_varint(e, (uint64_t)n);
}

static int put_text(struct encoder *e, const ProtobufCFieldDescriptor *f, const json_t *value)
{
	size_t len = json_string_length(value);
	int r;

	if (!json_is_string(value))
		return misfit(e, f->name, "a text");
	r = put_tag(e, f, TYPE_BYTES) ?: put_varint(e, len);
	return r < 0 ? r : buf_add(e->out, json_string_value(value), len);
}

static int put_bytes(struct encoder *e, const ProtobufCFieldDescriptor *f, const json_t *value)
{
	CLEANUP(buf_fini) struct buf bytes;
	size_t len = json_string_length(value);
	AUTO_FREE char *text = NULL;
	int r;

	buf_init(&bytes, e->out->limit);
	if (!json_is_string(value))
		return misfit(e, f->name, "base64");
	text = malloc(len + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, json_string_value(value), len + 1);
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
	r = base64_decode(text, len, &bytes);
	if (r == -EBADMSG)
		return misfit(e, f->name, "base64");
	if (r == 0)
		r = put_tag(e, f, TYPE_BYTES) ?: put_varint(e, bytes.len);
	return r < 0 ? r : buf_add(e->out, bytes.data ? bytes.data : "", bytes.len);
}

/* ---- messages ---- */

static int put_message(struct encoder *e, const ProtobufCMessageDescriptor *type, json_t *object);

static int put_nested(struct encoder *e, const ProtobufCFieldDescriptor *f, json_t *value)
{
	size_t at, len;
	int r;

	if (!json_is_object(value))
		return misfit(e, f->name, "an object");
	if (e->depth == JSON_MESSAGE_MAX_DEPTH)
		return err_set(e->err, -EBADMSG, "objects are nested more than %u times",
			       JSON_MESSAGE_MAX_DEPTH);
	r = put_tag(e, f, TYPE_BYTES);
	at = e->out->len;
	if (r == 0)
		r = buf_add(e->out, "\0\0\0\0", LENGTH_BYTES);
	if (r < 0)
		return r;
	e->depth++;
	r = put_message(e, f->descriptor, value);
	e->depth--;
	if (r < 0)
		return r;
	len = e->out->len - at - LENGTH_BYTES;
	if (len >> (7 * LENGTH_BYTES) != 0)
		return -EFBIG;
	for (unsigned i = 0; i < LENGTH_BYTES; i++)
		e->out->data[at + i] =
			(char)((len >> (7 * i) & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
	return 0;
}

static int put_value(struct encoder *e, const ProtobufCFieldDescriptor *f, json_t *value)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return put_signed(e, f, value);
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		return put_unsigned(e, f, value);
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_DOUBLE:
		return put_real(e, f, value);
	case PROTOBUF_C_TYPE_BOOL:
		if (!json_is_boolean(value))
			return misfit(e, f->name, "true or false");
		return put_tag(e, f, TYPE_VARINT) ?: put_varint(e, json_is_true(value));
	case PROTOBUF_C_TYPE_ENUM:
		return put_enum(e, f, value);
	case PROTOBUF_C_TYPE_STRING:
		return put_text(e, f, value);
	case PROTOBUF_C_TYPE_BYTES:
		return put_bytes(e, f, value);
	case PROTOBUF_C_TYPE_MESSAGE:
		return put_nested(e, f, value);
	}
	return 0;
}

static int put_field(struct encoder *e, const ProtobufCFieldDescriptor *f, json_t *value)
{
	json_t *item;
	size_t i;
	int r = 0;

	if (json_is_null(value))
		return 0;
	if (f->label != PROTOBUF_C_LABEL_REPEATED)
		return put_value(e, f, value);
	if (!json_is_array(value))
		return misfit(e, f->name, "an array");
	json_array_foreach (value, i, item) {
		r = put_value(e, f, item);
		if (r < 0)
			break;
	}
	return r;
}

/* Whether key is the field's name as it is ("stack_index") or as lowerCamel ("stackIndex"). */
static bool is_name(const char *name, const char *key)
{
	const char *n = name, *k = key;

	if (strcmp(name, key) == 0)
		return true;
	for (; *n; n++, k++) {
		char c = *n;

		if (c == '_' && n[1] >= 'a' && n[1] <= 'z')
			c = (char)(*++n - 'a' + 'A');
		else if (c == '_' && n[1])
			c = *++n;
		if (c != *k)
			return false;
	}
	return *k == '\0';
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
						  const char *key)
{
	for (unsigned i = 0; i < type->n_fields; i++)
		if (is_name(type->fields[i].name, key))
			return &type->fields[i];
	return NULL;
}

static int put_message(struct encoder *e, const ProtobufCMessageDescriptor *type, json_t *object)
{
	void *it = json_object_iter(object);

	for (; it; it = json_object_iter_next(object, it)) {
		const ProtobufCFieldDescriptor *f = find_field(type, json_object_iter_key(it));
		int r = f ? put_field(e, f, json_object_iter_value(it)) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Every value but the first one comes after one of these; those in texts count as well. */
static bool has_too_many_values(const char *json, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += json[i] == ',' || json[i] == ':' || json[i] == '[';
	return n > JSON_MESSAGE_MAX_VALUES;
}

int json_message_encode(const ProtobufCMessageDescriptor *type, const char *json, size_t len,
			struct buf *out, struct err *err)
{
	struct encoder e = {.out = out, .err = err};
	json_error_t error;
	json_t *root;
	int r;

	if (has_too_many_values(json, len))
		return err_set(err, -EFBIG, "more than %u values in JSON", JSON_MESSAGE_MAX_VALUES);
	root = json_loadb(json, len, JSON_ALLOW_NUL, &error);
	if (!root)
		return json_error_code(&error) == json_error_out_of_memory
			       ? -ENOMEM
			       : err_set(err, -EBADMSG, "not JSON: %.100s at byte %d", error.text,
					 error.position);
	if (json_is_object(root))
		r = put_message(&e, type, root);
	else
		r = err_set(err, -EBADMSG, "not a JSON object");
	json_decref(root);
	return r == -EFBIG && err->msg[0] == '\0'
		       ? err_set(err, r, "the message is larger than %zu bytes", out->limit)
		       : r;
}
