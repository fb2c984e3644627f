/*
 * A list of all pods of a cluster can take hundreds of megabytes as a JSON tree. jansson
 * cannot parse a part of a document, so this parser finds where each item begins and ends, and
 * jansson parses the items one by one.
 *
 * Only strings and brackets are followed. What is around the items of a list is kept and parsed at
 * its end, as a list without items; errors inside an item are found by whoever parses it. Nesting
 * is a bit per level (array or object), so there is no recursion and no allocation.
 */
#include "common/kubernetes/kube_stream.h"

#include <errno.h>
#include <jansson.h>

#define MAX_NESTING 512u
#define MAX_METADATA_BYTES ((size_t)64 * 1024)

/* What is expected next. */
enum place {
	AT_START, /* '{' of the list */
	IN_LIST,  /* around its items */
	AT_FIRST_ITEM,
	AT_ITEM,
	AFTER_ITEM,
	AT_EVENT, /* the next event of a watch */
	IN_OBJECT,
	AT_END, /* after the list: only white space */
};

struct nesting {
	unsigned depth;
	uint64_t is_array[MAX_NESTING / 64 + 1]; /* one bit per open bracket */
	bool in_string;
	bool escaped;
};

struct kube_stream {
	struct kube_stream_config cfg;
	enum place place;
	int error; /* sticky */
	struct err why;

	/* the current item or event */
	struct nesting object;
	bool too_long; /* its text is not kept */
	struct buf text;

	struct nesting list;
	struct buf around; /* the list without its items, and with little white space */
	json_t *parsed;    /* of that, owned */
};

int kube_stream_new(struct kube_stream **ret, const struct kube_stream_config *cfg)
{
	struct kube_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	s->place = cfg->mode == KUBE_STREAM_LIST ? AT_START : AT_EVENT;
	buf_init(&s->text, cfg->max_object_bytes);
	buf_init(&s->around, MAX_METADATA_BYTES);
	*ret = s;
	return 0;
}

void kube_stream_free(struct kube_stream *s)
{
	if (!s)
		return;
	buf_fini(&s->text);
	buf_fini(&s->around);
	json_decref(s->parsed);
	free(s);
}

/* ---- strings and brackets ---- */

static int open_bracket(struct nesting *n, char c, unsigned max, struct err *err)
{
	uint64_t bit = UINT64_C(1) << n->depth % 64;

	if (n->depth == max)
		return err_set(err, -EBADMSG, "nested deeper than %u", MAX_NESTING);
	if (c == '[')
		n->is_array[n->depth / 64] |= bit;
	else
		n->is_array[n->depth / 64] &= ~bit;
	n->depth++;
	return 0;
}

static int close_bracket(struct nesting *n, char c, struct err *err)
{
	bool is_array;

	n->depth--;
	is_array = n->is_array[n->depth / 64] >> n->depth % 64 & 1;
	return is_array == (c == ']') ? 0 : err_set(err, -EBADMSG, "brackets that do not match");
}

/* Takes a byte of an object, which has an open bracket unless this is its first. */
static int step(struct nesting *n, char c, unsigned max, struct err *err)
{
	if (n->in_string) {
		n->in_string = n->escaped || c != '"';
		n->escaped = !n->escaped && c == '\\';
		return 0;
	}
	switch (c) {
	case '"':
		n->in_string = true;
		return 0;
	case '{':
	case '[':
		return open_bracket(n, c, max, err);
	case '}':
	case ']':
		return close_bracket(n, c, err);
	default:
		return 0;
	}
}

/* ---- items and events ---- */

static int end_object(struct kube_stream *s)
{
	s->place = s->cfg.mode == KUBE_STREAM_LIST ? AFTER_ITEM : AT_EVENT;
	if (!s->too_long)
		return s->cfg.object(s->cfg.ctx, s->text.data, s->text.len);
	s->cfg.too_large(s->cfg.ctx);
	return 0;
}

static int keep_text(struct kube_stream *s, const char *data, size_t len)
{
	int r = s->too_long ? 0 : buf_add(&s->text, data, len);

	if (r != -EFBIG)
		return r;
	s->too_long = true;
	/* the text will not be used: do not hold it until the object ends */
	buf_fini(&s->text);
	return 0;
}

/* Continues an object. Returns the number of bytes that belong to it, or an error. */
static ssize_t feed_object(struct kube_stream *s, const char *data, size_t len, struct err *err)
{
	struct nesting *n = &s->object;
	size_t i = 0;
	int r = 0;

	do {
		/* most bytes of an object are in strings */
		while (n->in_string && !n->escaped && i + 1 < len && data[i] != '"' &&
		       data[i] != '\\')
			i++;
		r = step(n, data[i++], MAX_NESTING, err);
	} while (r == 0 && n->depth > 0 && i < len);
	if (r == 0)
		r = keep_text(s, data, i);
	if (r == 0 && n->depth == 0)
		r = end_object(s);
	return r < 0 ? r : (ssize_t)i;
}

/* ---- around them ---- */

static int unexpected(char c, const char *wanted, struct err *err)
{
	if (c > ' ' && c < 0x7f)
		return err_set(err, -EBADMSG, "'%c' where %s should be", c, wanted);
	return err_set(err, -EBADMSG, "byte 0x%02x where %s should be", (unsigned char)c, wanted);
}

/* c begins an object: it is not consumed. */
static int begin_object(struct kube_stream *s, char c, struct err *err)
{
	if (c != '{')
		return unexpected(c, "an object", err);
	s->place = IN_OBJECT;
	s->too_long = false;
	s->text.len = 0;
	return 0;
}

/* Whether what follows is the value of the list's "items". */
static bool is_at_items(const struct kube_stream *s)
{
	static const char key[] = "\"items\":";
	size_t n = strlen(key), len = s->around.len;

	return s->list.depth == 1 && len > n && memcmp(s->around.data + len - n, key, n) == 0 &&
	       (s->around.data[len - n - 1] == '{' || s->around.data[len - n - 1] == ',');
}

static int step_list(struct kube_stream *s, char c, struct err *err)
{
	bool begins_items = c == '[' && !s->list.in_string && is_at_items(s);
	int r = step(&s->list, c, MAX_NESTING + 1, err);

	if (r < 0)
		return r;
	r = buf_add(&s->around, &c, 1);
	if (r == -EFBIG)
		return err_set(err, -EBADMSG, "the metadata of the list is above %zu bytes",
			       MAX_METADATA_BYTES);
	s->place = begins_items ? AT_FIRST_ITEM : s->list.depth == 0 ? AT_END : IN_LIST;
	return r < 0 ? r : 1;
}

/* Processes a byte outside of objects. Returns 1 if it is consumed, 0 if an object begins. */
static int step_between(struct kube_stream *s, char c, struct err *err)
{
	switch (s->place) {
	case AT_START:
		return c == '{' ? step_list(s, c, err) : unexpected(c, "a list", err);
	case IN_LIST:
		return step_list(s, c, err);
	case AT_FIRST_ITEM:
		return c == ']' ? step_list(s, c, err) : begin_object(s, c, err);
	case AFTER_ITEM:
		if (c == ']')
			return step_list(s, c, err);
		s->place = AT_ITEM;
		return c == ',' ? 1 : unexpected(c, "',' or a closing bracket", err);
	case AT_ITEM:
	case AT_EVENT:
		return begin_object(s, c, err);
	default:
		return unexpected(c, "the end", err);
	}
}

/* White space that only separates what a mark separates already. */
static bool is_skipped(const struct kube_stream *s, char c)
{
	if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
		return false;
	return s->place != IN_LIST ||
	       (!s->list.in_string && strchr("{}[],:\"", s->around.data[s->around.len - 1]));
}

static int feed(struct kube_stream *s, const char *data, size_t len, struct err *err)
{
	size_t i = 0;

	while (i < len) {
		ssize_t n = 1;

		if (s->place == IN_OBJECT)
			n = feed_object(s, data + i, len - i, err);
		else if (!is_skipped(s, data[i]))
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

static int parse_around(struct kube_stream *s, struct err *err)
{
	json_error_t why;

	json_decref(s->parsed);
	s->parsed = json_loadb(s->around.data, s->around.len, JSON_ALLOW_NUL, &why);
	if (s->parsed)
		return 0;
	if (json_error_code(&why) == json_error_out_of_memory)
		return -ENOMEM;
	return err_set(err, -EBADMSG, "not valid JSON: %s", why.text);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "";
}

int kube_stream_finish_list(struct kube_stream *s, struct kube_list_meta *ret, struct err *err)
{
	const json_t *items, *metadata;
	const char *message;
	int r;

	if (s->error < 0)
		return kube_stream_feed(s, "", 0, err);
	if (s->place != AT_END)
		return err_set(err, -EBADMSG, "the list ends too early");
	r = parse_around(s, err);
	if (r < 0)
		return r;
	message = text_of(s->parsed, "message");
	if (strcmp(text_of(s->parsed, "kind"), "Status") == 0)
		return err_set(err, -EBADMSG, "%s",
			       message[0] ? message : "a failure without a message");
	items = json_object_get(s->parsed, "items");
	/* items whose key has escapes are still there */
	if (!items || json_array_size(items) > 0)
		return err_set(err, -EBADMSG, "no list");
	if (!json_is_array(items) && !json_is_null(items))
		return err_set(err, -EBADMSG, "the items of the list are no array");
	metadata = json_object_get(s->parsed, "metadata");
	*ret = (struct kube_list_meta){
		.resource_version = text_of(metadata, "resourceVersion"),
		.next = text_of(metadata, "continue"),
	};
	return 0;
}
