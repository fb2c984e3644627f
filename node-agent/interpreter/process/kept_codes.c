#include "node-agent/interpreter/process/kept_codes.h"

#include <errno.h>

#define KEPT_MAX 256u

struct kept_codes {
	struct code_event *codes; /* a ring of KEPT_MAX; NULL: there was none so far */
	size_t n;                 /* that were added */
};

int kept_codes_new(struct kept_codes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void kept_codes_free(struct kept_codes *k)
{
	if (!k)
		return;
	free(k->codes);
	free(k);
}

void kept_codes_add(struct kept_codes *k, const struct code_event *e)
{
	if (!k->codes)
		k->codes = calloc(KEPT_MAX, sizeof(k->codes[0]));
	if (k->codes)
		k->codes[k->n++ % KEPT_MAX] = *e;
}

bool kept_codes_find(const struct kept_codes *k, uint32_t pid, const struct interpreter_frame *f,
		     struct code_event *ret)
{
	size_t oldest = k->n > KEPT_MAX ? k->n - KEPT_MAX : 0;

	for (size_t i = k->n; i-- > oldest;) {
		const struct code_event *e = &k->codes[i % KEPT_MAX];

		if (e->header.tgid != pid || chain_entry_code(&e->entry) != f->code ||
		    chain_entry_check(&e->entry) != f->check)
			continue;
		*ret = *e;
		return true;
	}
	return false;
}

int kept_memory_read(void *ctx, uint64_t at, void *to, size_t n)
{
	const struct kept_memory *k = ctx;
	const char *piece = NULL;
	size_t has = 0;
	int r;

	for (size_t i = 0; i < CODE_PIECES; i++) {
		uint64_t offset = at - k->code.at[i];

		if (at < k->code.at[i] || offset >= k->code.n_bytes[i] ||
		    k->code.n_bytes[i] - offset <= has)
			continue;
		piece = (const char *)k->code.words[i] + offset;
		has = k->code.n_bytes[i] - offset;
	}
	if (has >= n) {
		memcpy(to, piece, n);
		return 0;
	}
	if (!k->below)
		return k->error;
	r = interpreter_read(k->below, at, to, n);
	return r < 0 || !piece ? r : memcmp(to, piece, has) == 0 ? 0 : -ESTALE;
}
