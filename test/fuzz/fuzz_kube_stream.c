/* Any bytes as a list and as a watch: however they are cut, the same comes out. */
#include <errno.h>
#include <jansson.h>

#include "common/data/hash.h"
#include "common/kubernetes/kube_stream.h"

#define MAX_OBJECT_BYTES 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	size_t n_objects;
	size_t n_too_large;
	uint64_t texts; /* a hash of all */
	int error;
	struct err err;
};

static int on_object(void *ctx, const char *text, size_t len)
{
	struct seen *seen = ctx;

	if (len < 2 || len > MAX_OBJECT_BYTES || text[0] != '{' || text[len - 1] != '}')
		abort();
	seen->n_objects++;
	seen->texts = fnv1a64(seen->texts, text, len);
	/* an owner that gives up */
	return memcmp(text, "{!", 2) == 0 ? -ECANCELED : 0;
}

static void on_too_large(void *ctx)
{
	struct seen *seen = ctx;

	seen->n_too_large++;
}

/* step: bytes per piece; the first has first bytes. */
static void feed(struct seen *seen, enum kube_stream_mode mode, const char *data, size_t size,
		 size_t first, size_t step)
{
	const struct kube_stream_config cfg = {.mode = mode,
					       .max_object_bytes = MAX_OBJECT_BYTES,
					       .ctx = seen,
					       .object = on_object,
					       .too_large = on_too_large};
	CLEANUP(kube_stream_freep) struct kube_stream *s = NULL;
	struct kube_list_meta meta;
	size_t i = 0, n = first;

	*seen = (struct seen){.texts = FNV1A64_INIT};
	if (kube_stream_new(&s, &cfg) < 0)
		return;
	for (; i < size && seen->error == 0; i += n, n = step) {
		if (n > size - i)
			n = size - i;
		seen->error = kube_stream_feed(s, data + i, n, &seen->err);
	}
	if (mode != KUBE_STREAM_LIST || seen->error < 0)
		return;
	seen->error = kube_stream_finish_list(s, &meta, &seen->err);
	if (seen->error == 0) {
		seen->texts = fnv1a64(seen->texts, meta.next, strlen(meta.next));
		seen->texts =
			fnv1a64(seen->texts, meta.resource_version, strlen(meta.resource_version));
	}
}

static void check_equal(const struct seen *a, const struct seen *b)
{
	if (a->n_objects != b->n_objects || a->n_too_large != b->n_too_large ||
	    a->texts != b->texts || a->error != b->error || strcmp(a->err.msg, b->err.msg) != 0)
		abort();
}

/* What is JSON as a whole has as many items as were handed on. */
static void check_count(const struct seen *seen, const char *data, size_t size)
{
	json_t *list = json_loadb(data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	const json_t *items = json_object_get(list, "items");

	if (items && json_array_size(items) != seen->n_objects + seen->n_too_large)
		abort();
	json_decref(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const enum kube_stream_mode modes[] = {KUBE_STREAM_LIST, KUBE_STREAM_WATCH};
	AUTO_FREE char *text = malloc(size + 1);

	if (!text || size == 0)
		return 0;
	memcpy(text, data, size);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct seen whole, cut;

		feed(&whole, modes[i], text, size, size, size);
		feed(&cut, modes[i], text, size, 1, 1);
		check_equal(&whole, &cut);
		for (size_t at = 1; at < size && size <= 512; at++) {
			feed(&cut, modes[i], text, size, at, size);
			check_equal(&whole, &cut);
		}
		if (modes[i] == KUBE_STREAM_LIST && whole.error == 0)
			check_count(&whole, text, size);
	}
	return 0;
}
