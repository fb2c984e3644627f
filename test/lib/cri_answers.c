#include "test/lib/cri_answers.h"

#include "common/pprof/pprof_wire.h"
#include "test/lib/unit.h"

#define MAX_BYTES ((size_t)100 << 20)

static void put(struct buf *b, uint32_t field, const char *text)
{
	struct wire_writer w = {.out = b};

	if (text)
		wire_writer_put_bytes(&w, field, text, strlen(text));
	assert_int_equal(w.error, 0);
}

static void put_number(struct buf *b, uint32_t field, uint64_t value)
{
	struct wire_writer w = {.out = b};

	wire_writer_put_number(&w, field, value);
	assert_int_equal(w.error, 0);
}

/* inner is freed. */
static void put_message(struct buf *b, uint32_t field, struct buf *inner)
{
	struct wire_writer w = {.out = b};

	wire_writer_put_bytes(&w, field, inner->data ? inner->data : "", inner->len);
	assert_int_equal(w.error, 0);
	buf_fini(inner);
}

static void put_entry(struct buf *b, uint32_t field, const char *key, const char *value)
{
	struct buf entry;

	if (!value)
		return;
	buf_init(&entry, MAX_BYTES);
	put(&entry, 1, key);
	put(&entry, 2, value);
	put_message(b, field, &entry);
}

void cri_answer_init(struct cri_answer *a)
{
	buf_init(&a->list, MAX_BYTES);
}

void cri_answer_add_container(struct cri_answer *a, const struct made_container *c)
{
	struct buf m, part;

	buf_init(&m, MAX_BYTES);
	buf_init(&part, MAX_BYTES);
	put(&m, 1, c->id);
	put(&m, 2, c->sandbox_id);
	put(&part, 1, c->name);
	put_message(&m, 3, &part);
	put(&part, 1, c->image);
	put(&part, 18, c->user_image);
	put_message(&m, 4, &part);
	put(&m, 5, c->image_ref);
	put_number(&m, 6, c->exited ? 2 : 1);
	put_number(&m, 7, UINT64_C(1700000000000000000));
	put_entry(&m, 8, "app", "something");
	put_entry(&m, 8, "io.kubernetes.pod.name", c->pod);
	put_entry(&m, 8, "io.kubernetes.pod.namespace", c->namespace);
	put_entry(&m, 8, "io.kubernetes.pod.uid", c->uid);
	if (c->label_bytes) {
		char *value = malloc(c->label_bytes + 1);

		memset(value, 'x', c->label_bytes);
		value[c->label_bytes] = '\0';
		put_entry(&m, 8, "large", value);
		free(value);
	}
	put_message(&a->list, 1, &m);
}

void cri_answer_add_sandbox(struct cri_answer *a, const struct made_sandbox *s)
{
	struct buf m, part;

	buf_init(&m, MAX_BYTES);
	buf_init(&part, MAX_BYTES);
	put(&m, 1, s->id);
	put(&part, 1, s->pod);
	put(&part, 2, s->uid);
	put(&part, 3, s->namespace);
	put_message(&m, 2, &part);
	put_entry(&m, 5, "label", "value");
	if (s->label[0])
		put_entry(&m, 5, s->label[0], s->label[1]);
	put_entry(&m, 6, "other", "disabled");
	if (s->annotation[0])
		put_entry(&m, 6, s->annotation[0], s->annotation[1]);
	put_message(&a->list, 1, &m);
}

void cri_answer_add_image(struct cri_answer *a, const char *id, const char *tags)
{
	AUTO_FREE char *copy = strdup(tags ? tags : "");
	char *rest = copy, *tag;
	struct buf m;

	buf_init(&m, MAX_BYTES);
	put(&m, 1, id);
	while ((tag = strsep(&rest, " ")))
		put(&m, 2, tag[0] ? tag : NULL);
	put_number(&m, 4, 12345);
	put_message(&a->list, 1, &m);
}

void cri_answer_set_version(struct cri_answer *a, const char *runtime, const char *version)
{
	put(&a->list, 1, "0.1.0");
	put(&a->list, 2, runtime);
	put(&a->list, 3, version);
	put(&a->list, 4, "v1");
}

char *cri_answer_take(struct cri_answer *a, size_t *ret_len)
{
	size_t len = a->list.len;
	char *out = malloc(len + 5);

	out[0] = 0;
	for (int i = 0; i < 4; i++)
		out[1 + i] = (char)(len >> (24 - 8 * i));
	if (len > 0)
		memcpy(out + 5, a->list.data, len);
	buf_fini(&a->list);
	*ret_len = len + 5;
	return out;
}

void cri_request_id(const char *body, size_t len, char id[static 256])
{
	struct wire_reader r = {(const uint8_t *)body + 5, (const uint8_t *)body + len};
	struct wire_field f;

	id[0] = '\0';
	if (len <= 5 || wire_reader_read_field(&r, &f) != 1)
		return;
	r = (struct wire_reader){f.data, f.data + f.len};
	if (wire_reader_read_field(&r, &f) == 1)
		snprintf(id, 256, "%.*s", (int)f.len, (const char *)f.data);
}
