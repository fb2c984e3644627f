/*
 * A list of all pods of a cluster can take hundreds of megabytes as a JSON tree. jansson
 * cannot parse a part of a document, so this parser finds where each item begins and ends, and
 * jansson parses the items one by one.
 *
 * It is a state machine over single bytes. Between values (the keys of the list, the commas
 * between items) the grammar is checked in full. Inside a value only strings and brackets are
 * followed, because only its end matters: errors inside an item are found by whoever parses it.
 * Nesting is a bit per level (array or object), so there is no recursion and no allocation.
 */
#include "common/kubernetes/kube_stream.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>

#define MAX_NESTING 512u
/* limit of a key, of "kind" and other short strings */
#define MAX_NAME_BYTES 64u
#define MAX_MESSAGE_BYTES ((size_t)8 * 1024)
#define MAX_METADATA_BYTES ((size_t)64 * 1024)

/* What is expected next, outside of values. */
enum place {
	AT_START, /* '{' of the list */
	AT_FIRST_KEY,
	AT_KEY,
	AT_COLON,
	AT_VALUE,
	AFTER_VALUE,
	AT_FIRST_ITEM,
	AT_ITEM,
	AFTER_ITEM,
	AT_EVENT, /* the next event of a watch */
	IN_VALUE,
	AT_END, /* after the list: only white space */
};

/* What the value is that is being read in IN_VALUE. */
enum role {
	ROLE_SKIPPED,
	ROLE_KEY,
	ROLE_KIND,
	ROLE_MESSAGE,
	ROLE_METADATA,
	ROLE_NO_ITEMS, /* "items": null */
	ROLE_ITEM,
	ROLE_EVENT,
	ROLE_MAX,
};

struct kube_stream {
	struct kube_stream_config cfg;
	enum place place;
	int error; /* sticky */
	struct err why;

	/* the current value */
	enum role role;
	unsigned depth;
	uint64_t is_array[MAX_NESTING / 64]; /* one bit per open bracket */
	bool in_string;
	bool escaped;
	bool is_scalar;
	bool too_long; /* longer than its role allows: its text is not kept */
	struct buf text;

	/* the list */
	enum role next_role; /* of the value after the key */
	bool is_status;
	bool has_items;
	char message[sizeof(struct err)];
	json_t *metadata; /* owned */
};

int kube_stream_new(struct kube_stream **ret, const struct kube_stream_config *cfg)
{
	struct kube_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	s->place = cfg->mode == KUBE_STREAM_LIST ? AT_START : AT_EVENT;
	*ret = s;
	return 0;
}

void kube_stream_free(struct kube_stream *s)
{
	if (!s)
		return;
	buf_fini(&s->text);
	json_decref(s->metadata);
	free(s);
}

/* ---- end of a value ---- */

static bool text_is(const struct kube_stream *s, const char *text)
{
	return s->text.len == strlen(text) && memcmp(s->text.data, text, s->text.len) == 0;
}

static void end_key(struct kube_stream *s)
{
	static const struct {
		const char *key;
		enum role role;
	} keys[] = {
		{"\"kind\"", ROLE_KIND},
		{"\"message\"", ROLE_MESSAGE},
		{"\"metadata\"", ROLE_METADATA},
		{"\"items\"", ROLE_NO_ITEMS},
	};

	s->next_role = ROLE_SKIPPED;
	for (size_t i = 0; i < ARRAY_SIZE(keys) && !s->too_long; i++)
		if (text_is(s, keys[i].key))
			s->next_role = keys[i].role;
	s->place = AT_COLON;
}

static int parse_text(const struct kube_stream *s, size_t flags, json_t **ret, struct err *err)
{
	json_error_t why;
	json_t *v = json_loadb(s->text.data, s->text.len, flags | JSON_ALLOW_NUL, &why);

	if (!v && json_error_code(&why) == json_error_out_of_memory)
		return -ENOMEM;
	if (!v)
		return err_set(err, -EBADMSG, "not valid JSON: %s", why.text);
	*ret = v;
	return 0;
}

static int end_message(struct kube_stream *s, struct err *err)
{
	json_t *v;
	int r;

	if (s->too_long || s->text.data[0] != '"')
		return 0;
	r = parse_text(s, JSON_DECODE_ANY, &v, err);
	if (r < 0)
		return r;
	snprintf(s->message, sizeof(s->message), "%s", json_string_value(v));
	json_decref(v);
	return 0;
}

static int end_metadata(struct kube_stream *s, struct err *err)
{
	json_t *v;
	int r;

	if (s->too_long)
		return err_set(err, -EBADMSG, "the metadata of the list is above %zu bytes",
			       MAX_METADATA_BYTES);
	r = parse_text(s, JSON_DECODE_ANY, &v, err);
	if (r < 0)
		return r;
	json_decref(s->metadata);
	s->metadata = v;
	return 0;
}

static int end_object(struct kube_stream *s)
{
	if (!s->too_long)
		return s->cfg.object(s->cfg.ctx, s->text.data, s->text.len);
	s->cfg.too_large(s->cfg.ctx);
	return 0;
}

static int end_value(struct kube_stream *s, struct err *err)
{
	s->place = AFTER_VALUE;
	switch (s->role) {
	case ROLE_KEY:
		end_key(s);
		return 0;
	case ROLE_KIND:
		s->is_status = !s->too_long && text_is(s, "\"Status\"");
		return 0;
	case ROLE_MESSAGE:
		return end_message(s, err);
	case ROLE_METADATA:
		return end_metadata(s, err);
	case ROLE_NO_ITEMS:
		if (s->too_long || !text_is(s, "null"))
			return err_set(err, -EBADMSG, "the items of the list are no array");
		s->has_items = true;
		return 0;
	case ROLE_ITEM:
		s->place = AFTER_ITEM;
		return end_object(s);
	case ROLE_EVENT:
		s->place = AT_EVENT;
		return end_object(s);
	default:
		return 0;
	}
}

/* ---- inside a value ---- */

static size_t text_limit(const struct kube_stream *s, enum role role)
{
	switch (role) {
	case ROLE_SKIPPED:
		return 0;
	case ROLE_MESSAGE:
		return MAX_MESSAGE_BYTES;
	case ROLE_METADATA:
		return MAX_METADATA_BYTES;
	case ROLE_ITEM:
	case ROLE_EVENT:
		return s->cfg.max_object_bytes;
	default:
		return MAX_NAME_BYTES;
	}
}

static bool is_scalar_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '-' || c == '+' || c == '.';
}

static void begin_value(struct kube_stream *s, enum role role)
{
	s->place = IN_VALUE;
	s->role = role;
	s->depth = 0;
	s->in_string = false;
	s->escaped = false;
	s->is_scalar = false;
	s->too_long = false;
	s->text.limit = text_limit(s, role);
	s->text.len = 0;
}

static int open_bracket(struct kube_stream *s, char c, struct err *err)
{
	uint64_t bit = UINT64_C(1) << s->depth % 64;

	if (s->depth == MAX_NESTING)
		return err_set(err, -EBADMSG, "nested deeper than %u", MAX_NESTING);
	if (c == '[')
		s->is_array[s->depth / 64] |= bit;
	else
		s->is_array[s->depth / 64] &= ~bit;
	s->depth++;
	return 0;
}

static int close_bracket(struct kube_stream *s, char c, struct err *err)
{
	bool is_array;

	assert(s->depth > 0);
	s->depth--;
	is_array = s->is_array[s->depth / 64] >> s->depth % 64 & 1;
	return is_array == (c == ']') ? 0 : err_set(err, -EBADMSG, "brackets that do not match");
}

/* Returns whether the string continues. */
static bool step_string(struct kube_stream *s, char c)
{
	if (s->escaped)
		s->escaped = false;
	else if (c == '\\')
		s->escaped = true;
	else
		s->in_string = c != '"';
	return s->in_string;
}

/* Processes one byte of a string, object or array. Returns 1 if it was the last one. */
static int step_value(struct kube_stream *s, char c, struct err *err)
{
	int r = 0;

	if (s->in_string)
		return !step_string(s, c) && s->depth == 0;
	switch (c) {
	case '"':
		s->in_string = true;
		return 0;
	case '{':
	case '[':
		return open_bracket(s, c, err);
	case '}':
	case ']':
		r = close_bracket(s, c, err);
		return r < 0 ? r : s->depth == 0;
	default:
		return 0;
	}
}

static int keep_text(struct kube_stream *s, const char *data, size_t len)
{
	int r;

	if (s->too_long)
		return 0;
	r = buf_add(&s->text, data, len);
	if (r == -ENOMEM)
		return r;
	if (r == -EFBIG) {
		s->too_long = true;
		/* the text will not be used: do not hold it until the value ends */
		buf_fini(&s->text);
	}
	return 0;
}

/* Continues a value. Returns the number of bytes that belong to it, or an error. */
static ssize_t feed_value(struct kube_stream *s, const char *data, size_t len, struct err *err)
{
	int ended = 0, r;
	size_t i = 0;

	if (s->is_scalar) {
		while (i < len && is_scalar_char(data[i]))
			i++;
		ended = i < len;
	} else {
		while (i < len && ended == 0)
			ended = step_value(s, data[i++], err);
	}
	if (ended < 0)
		return ended;
	r = keep_text(s, data, i);
	if (r == 0 && ended)
		r = end_value(s, err);
	return r < 0 ? r : (ssize_t)i;
}

/* ---- between values ---- */

static int unexpected(char c, const char *wanted, struct err *err)
{
	if (c > ' ' && c < 0x7f)
		return err_set(err, -EBADMSG, "'%c' where %s should be", c, wanted);
	return err_set(err, -EBADMSG, "byte 0x%02x where %s should be", (unsigned char)c, wanted);
}

/* c begins the value after a key. Returns 1 if c is consumed, 0 if it is part of the value. */
static int begin_field(struct kube_stream *s, char c, struct err *err)
{
	if (c == '[' && s->next_role == ROLE_NO_ITEMS) {
		s->has_items = true;
		s->place = AT_FIRST_ITEM;
		return 1;
	}
	if (c != '{' && c != '[' && c != '"' && !is_scalar_char(c))
		return unexpected(c, "a value", err);
	begin_value(s, s->next_role);
	s->is_scalar = is_scalar_char(c);
	return 0;
}

static int begin_object(struct kube_stream *s, char c, enum role role, struct err *err)
{
	if (c != '{')
		return unexpected(c, "an object", err);
	begin_value(s, role);
	return 0;
}

/* c must be one of two punctuation marks; each leads to its own place. */
static int pass_mark(struct kube_stream *s, char c, const char marks[static 2],
		     const enum place after[static 2], struct err *err)
{
	if (c != marks[0] && c != marks[1])
		return unexpected(c, "',' or a closing bracket", err);
	s->place = after[c == marks[1]];
	return 1;
}

/*
 * Processes a byte that is not white space. Returns 1 if it is consumed, 0 if a value begins
 * with it.
 */
static int step_between(struct kube_stream *s, char c, struct err *err)
{
	switch (s->place) {
	case AT_START:
		s->place = AT_FIRST_KEY;
		return c == '{' ? 1 : unexpected(c, "a list", err);
	case AT_FIRST_KEY:
	case AT_KEY:
		if (c == '}' && s->place == AT_FIRST_KEY) {
			s->place = AT_END;
			return 1;
		}
		begin_value(s, ROLE_KEY);
		return c == '"' ? 0 : unexpected(c, "a key", err);
	case AT_COLON:
		s->place = AT_VALUE;
		return c == ':' ? 1 : unexpected(c, "':'", err);
	case AT_VALUE:
		return begin_field(s, c, err);
	case AFTER_VALUE:
		return pass_mark(s, c, ",}", (const enum place[]){AT_KEY, AT_END}, err);
	case AT_FIRST_ITEM:
	case AT_ITEM:
		if (c == ']' && s->place == AT_FIRST_ITEM) {
			s->place = AFTER_VALUE;
			return 1;
		}
		return begin_object(s, c, ROLE_ITEM, err);
	case AFTER_ITEM:
		return pass_mark(s, c, ",]", (const enum place[]){AT_ITEM, AFTER_VALUE}, err);
	case AT_EVENT:
		return begin_object(s, c, ROLE_EVENT, err);
	default:
		return unexpected(c, "the end", err);
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static int feed(struct kube_stream *s, const char *data, size_t len, struct err *err)
{
	size_t i = 0;

	while (i < len) {
		ssize_t n = 1;

		if (s->place == IN_VALUE)
			n = feed_value(s, data + i, len - i, err);
		else if (!is_space(data[i]))
			n = step_between(s, data[i], err);
		if (n < 0)
			return (int)n;
		i += (size_t)n;
	}
	return 0;
}

int kube_stream_feed(struct kube_stream *s, const char *data, size_t len, struct err *err)
{
	if (s->error == 0)
		s->error = feed(s, data, len, &s->why);
	if (s->error < 0 && s->why.msg[0])
		err_set(err, s->error, "%s", s->why.msg);
	return s->error;
}

static const char *metadata_text(const struct kube_stream *s, const char *key)
{
	const char *text = json_string_value(json_object_get(s->metadata, key));

	return text ? text : "";
}

int kube_stream_finish_list(struct kube_stream *s, struct kube_list_meta *ret, struct err *err)
{
	assert(s->cfg.mode == KUBE_STREAM_LIST);
	if (s->error < 0)
		return kube_stream_feed(s, "", 0, err);
	if (s->place != AT_END)
		return err_set(err, -EBADMSG, "the list ends too early");
	if (s->is_status)
		return err_set(err, -EBADMSG, "%s",
			       s->message[0] ? s->message : "a failure without a message");
	if (!s->has_items)
		return err_set(err, -EBADMSG, "no list");
	*ret = (struct kube_list_meta){
		.resource_version = metadata_text(s, "resourceVersion"),
		.next = metadata_text(s, "continue"),
	};
	return 0;
}
