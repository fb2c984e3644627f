/*
 * The data is a header and a sequence of entries, each with a dotted name and a value: a number of
 * 64 bits, or an array of bytes that is text. All offsets in an entry are relative to it.
 *
 * Sums over spaces and generations are made while entries are seen, by the parts of their names
 * that are numbers: `sun.gc.generation.0.space.2.used`. Only generations 0 and 1 are the heap;
 * JDK 7 had the classes as a third one. Later releases have those elsewhere.
 */
#include "node-agent/java/vm/hsperfdata.h"

#include <endian.h>
#include <errno.h>

#include "common/text/utf8.h"

#define MAGIC 0xcafec0c0u /* in big-endian order, whatever the order of the rest */
#define HEADER_BYTES 32u
#define ENTRY_BYTES 20u
#define NAME_MAX_BYTES 256u
#define MAJOR 2u
#define NANOSECONDS UINT64_C(1000000000)

struct parser {
	const uint8_t *data;
	size_t len;
	bool is_big; /* byte order of what follows the magic number and the order itself */
	struct hsperfdata *ret;
};

struct entry {
	const char *name; /* NUL-terminated */
	char type;        /* as in signatures of JNI: 'J' or 'B' */
	const uint8_t *value;
	size_t value_bytes;
};

static uint32_t u32_at(const struct parser *p, size_t offset)
{
	uint32_t v;

	memcpy(&v, p->data + offset, sizeof(v));
	return p->is_big ? be32toh(v) : le32toh(v);
}

static uint64_t number_of(const struct parser *p, const struct entry *e)
{
	uint64_t v;

	if (e->type != 'J' || e->value_bytes < sizeof(v))
		return 0;
	memcpy(&v, e->value, sizeof(v));
	v = p->is_big ? be64toh(v) : le64toh(v);
	return v > INT64_MAX ? 0 : v; /* they are signed */
}

/* Copies printable text up to a NUL, or to the first space if is_word. */
static void text_of(const struct entry *e, bool is_word, char *to, size_t cap)
{
	size_t n = 0;

	*to = '\0';
	if (e->type != 'B')
		return;
	while (n < e->value_bytes && n < cap - 1 && e->value[n] != '\0' &&
	       !(is_word && e->value[n] == ' ')) {
		to[n] = (char)e->value[n];
		n++;
	}
	to[utf8_make_printable(to, n)] = '\0';
}

/* Whether name is prefix, a digit, and then suffix; which is returned. */
static const char *after_digit(const char *name, const char *prefix, unsigned *ret_digit)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len) != 0 || name[len] < '0' || name[len] > '9')
		return NULL;
	*ret_digit = (unsigned)(name[len] - '0');
	return name + len + 1;
}

static void on_generation(const struct parser *p, const struct entry *e)
{
	unsigned generation, space;
	const char *rest = after_digit(e->name, "sun.gc.generation.", &generation);

	if (!rest || generation > 1)
		return;
	rest = after_digit(rest, ".space.", &space);
	if (!rest)
		return;
	if (strcmp(rest, ".capacity") == 0) {
		p->ret->heap_size_bytes += number_of(p, e);
		p->ret->has_heap = true;
	} else if (strcmp(rest, ".used") == 0) {
		p->ret->heap_used_bytes += number_of(p, e);
	}
}

static void on_collector(const struct parser *p, const struct entry *e)
{
	struct hsperfdata_collector *c;
	unsigned i;
	const char *rest = after_digit(e->name, "sun.gc.collector.", &i);

	if (!rest || i >= HSPERFDATA_COLLECTORS_MAX)
		return;
	c = &p->ret->collectors[i];
	if (strcmp(rest, ".name") == 0)
		text_of(e, false, c->name, sizeof(c->name));
	else if (strcmp(rest, ".time") == 0)
		c->time_ticks = number_of(p, e);
}

static void on_entry(const struct parser *p, const struct entry *e)
{
	struct hsperfdata *h = p->ret;

	if (strcmp(e->name, "java.property.java.version") == 0)
		text_of(e, false, h->java_version, sizeof(h->java_version));
	else if (strcmp(e->name, "sun.rt.javaCommand") == 0)
		text_of(e, true, h->command, sizeof(h->command));
	else if (strcmp(e->name, "sun.os.hrt.frequency") == 0)
		h->ticks_per_second = number_of(p, e);
	else if (strcmp(e->name, "sun.rt.vmInitDoneTime") == 0)
		h->is_initialized = number_of(p, e) != 0;
	else if (strcmp(e->name, "sun.rt.safepointTime") == 0) {
		h->safepoint_ticks = number_of(p, e);
		h->has_safepoints = true;
	} else if (strcmp(e->name, "sun.rt.safepointSyncTime") == 0)
		h->safepoint_sync_ticks = number_of(p, e);
	on_generation(p, e);
	on_collector(p, e);
}

/* Checks the entry at this offset. Returns its length, or -EBADMSG. */
static int64_t parse_entry(const struct parser *p, size_t at, struct entry *ret)
{
	size_t left = p->len - at;
	uint32_t length, name, elements, value;
	size_t name_left;

	if (left < ENTRY_BYTES)
		return -EBADMSG;
	length = u32_at(p, at);
	name = u32_at(p, at + 4);
	elements = u32_at(p, at + 8);
	value = u32_at(p, at + 16);
	if (length < ENTRY_BYTES || length > left || name < ENTRY_BYTES || name >= length ||
	    value < ENTRY_BYTES || value > length)
		return -EBADMSG;
	name_left = length - name < NAME_MAX_BYTES ? length - name : NAME_MAX_BYTES;
	*ret = (struct entry){
		.name = (const char *)p->data + at + name,
		.type = (char)p->data[at + 12],
		.value = p->data + at + value,
		.value_bytes = length - value,
	};
	if (memchr(ret->name, '\0', name_left) == NULL)
		return -EBADMSG;
	if (elements != 0 && elements < ret->value_bytes)
		ret->value_bytes = elements;
	return length;
}

static int check_header(struct parser *p)
{
	uint32_t magic;

	if (p->len < HEADER_BYTES)
		return -EBADMSG;
	memcpy(&magic, p->data, sizeof(magic));
	if (be32toh(magic) != MAGIC || p->data[4] > 1)
		return -EBADMSG;
	p->is_big = p->data[4] == 0;
	if (p->data[5] != MAJOR)
		return -ENOTSUP;
	return p->data[7] != 0 ? 0 : -EAGAIN;
}

/* Collectors without a name are not shown. Numbers have gaps: with ZGC there are 0 and 2. */
static void keep_named_collectors(struct hsperfdata *h)
{
	for (size_t i = 0; i < HSPERFDATA_COLLECTORS_MAX; i++) {
		if (h->collectors[i].name[0] != '\0')
			h->collectors[h->n_collectors++] = h->collectors[i];
	}
}

int hsperfdata_parse(const void *data, size_t len, struct hsperfdata *ret)
{
	struct hsperfdata h = {0};
	struct parser p = {.data = data, .len = len, .ret = &h};
	uint32_t used, at, n;
	int r = check_header(&p);

	if (r < 0)
		return r;
	used = u32_at(&p, 8);
	at = u32_at(&p, 24);
	n = u32_at(&p, 28);
	if (used > len || at < HEADER_BYTES || at > used || n > HSPERFDATA_ENTRIES_MAX)
		return -EBADMSG;
	p.len = used;
	for (uint32_t i = 0; i < n; i++) {
		struct entry e;
		int64_t length = parse_entry(&p, at, &e);

		if (length < 0)
			return (int)length;
		on_entry(&p, &e);
		at += (uint32_t)length;
	}
	if (h.ticks_per_second == 0)
		h.ticks_per_second = NANOSECONDS;
	keep_named_collectors(&h);
	*ret = h;
	return 0;
}
