/*
 * Most of the work is to find a frame among the texts that are known, a million times per query.
 * Texts are found by 64 bits of a hash with a random seed alone, as in merged_stacks.h: nobody
 * can make two of them collide, and for a million texts the chance that any two do is one in thirty
 * million. Comparing texts would add cache misses that cost more than everything else here.
 */
#include "cluster-agent/query/read/stack_dictionary.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/data/array.h"
#include "common/data/number_index.h"

#define DEFAULT_MAX_STACKS 1000000u
#define DEFAULT_MAX_FRAMES ((size_t)32 << 20)
#define DEFAULT_MAX_TEXT_BYTES ((size_t)64 << 20)

struct text {
	const char *s;
	uint32_t len;
	uint32_t shown; /* the text in place of this one; its own index: none */
};

struct stack {
	uint64_t hash; /* first, for number_index_find() */
	size_t first;  /* index into frames */
	uint32_t n;
};

struct stack_dictionary {
	struct stack_dictionary_limits limits;
	struct arena arena; /* texts */
	struct text *texts;
	uint64_t *text_hashes; /* in an array of their own, as lookups compare only these */
	size_t n_texts;
	size_t max_texts;
	size_t max_text_hashes;
	struct number_index by_text; /* texts */
	struct number_index by_hash; /* stacks */
	struct stack *stacks;
	uint32_t n_stacks;
	uint32_t max_stacks;
	uint32_t *frames; /* indexes into texts */
	size_t n_frames;
	size_t max_frames;
	struct stack_dictionary_looked looked;
	struct flame_frame *out; /* what get() returns */
	size_t max_out;
};

int stack_dictionary_new(struct stack_dictionary **ret,
			 const struct stack_dictionary_limits *limits)
{
	CLEANUP(stack_dictionary_freep) struct stack_dictionary *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	if (limits)
		d->limits = *limits;
	if (d->limits.max_stacks == 0)
		d->limits.max_stacks = DEFAULT_MAX_STACKS;
	if (d->limits.max_frames == 0)
		d->limits.max_frames = DEFAULT_MAX_FRAMES;
	if (d->limits.max_text_bytes == 0)
		d->limits.max_text_bytes = DEFAULT_MAX_TEXT_BYTES;
	arena_init(&d->arena, d->limits.max_text_bytes);
	*ret = TAKE_PTR(d);
	return 0;
}

void stack_dictionary_free(struct stack_dictionary *d)
{
	if (!d)
		return;
	arena_fini(&d->arena);
	free(d->texts);
	free(d->text_hashes);
	number_index_fini(&d->by_text);
	number_index_fini(&d->by_hash);
	free(d->stacks);
	free(d->frames);
	free(d->out);
	free(d);
}

static bool find(const struct stack_dictionary *d, uint64_t hash, uint32_t *ret)
{
	return number_index_find(&d->by_hash, hash, d->stacks, sizeof(*d->stacks), ret);
}

bool stack_dictionary_has(const struct stack_dictionary *d, uint64_t hash)
{
	uint32_t stack;

	return find(d, hash, &stack);
}

static int reserve_stack(struct stack_dictionary *d, size_t n_frames)
{
	int r = ARRAY_RESERVE(d->stacks, d->max_stacks, (size_t)d->n_stacks + 1);

	return r == 0 ? ARRAY_RESERVE(d->frames, d->max_frames, d->n_frames + n_frames) : r;
}

/* Sets *ret to the index of the text. Returns 0, -EFBIG, or -ENOMEM. */
static int add_text(struct stack_dictionary *d, const char *s, size_t len, uint32_t *ret)
{
	uint64_t hash = XXH3_64bits_withSeed(s, len, table_seed);
	const char *copy;
	int r;

	if (number_index_find(&d->by_text, hash, d->text_hashes, sizeof(hash), ret))
		return 0;
	r = ARRAY_RESERVE(d->texts, d->max_texts, d->n_texts + 1);
	if (r == 0)
		r = ARRAY_RESERVE(d->text_hashes, d->max_text_hashes, d->n_texts + 1);
	if (r < 0)
		return r;
	copy = arena_strndup(&d->arena, s, len);
	if (!copy)
		return arena_error(&d->arena, len + 1);
	r = number_index_add(&d->by_text, number_hash(hash), (uint32_t)d->n_texts);
	if (r < 0)
		return r;
	*ret = (uint32_t)d->n_texts++;
	d->texts[*ret] = (struct text){copy, (uint32_t)len, *ret};
	d->text_hashes[*ret] = hash;
	return 0;
}

static int add_frame(struct stack_dictionary *d, const struct flame_frame *f, uint32_t *ret)
{
	uint32_t text = 0;
	int r = add_text(d, f->text, f->len, &text);

	if (r == 0)
		*ret = d->texts[text].shown;
	return r;
}

/* Nothing refers to the frames of a stack before it is in by_hash, so a failure undoes itself. */
int stack_dictionary_add(struct stack_dictionary *d, uint64_t hash,
			 const struct flame_frame *frames, size_t n_frames)
{
	int r;

	if (stack_dictionary_has(d, hash))
		return 0;
	if (d->n_stacks >= d->limits.max_stacks || n_frames > d->limits.max_frames - d->n_frames)
		return -EFBIG;
	r = reserve_stack(d, n_frames);
	for (size_t i = 0; i < n_frames && r == 0; i++)
		r = add_frame(d, &frames[i], &d->frames[d->n_frames + i]);
	if (r == 0)
		r = number_index_add(&d->by_hash, number_hash(hash), d->n_stacks);
	if (r < 0)
		return r;
	d->stacks[d->n_stacks++] = (struct stack){hash, d->n_frames, (uint32_t)n_frames};
	d->n_frames += n_frames;
	return 0;
}

int stack_dictionary_get(struct stack_dictionary *d, uint64_t hash, const struct flame_frame **ret,
			 size_t *ret_n)
{
	uint32_t id;
	int r;

	if (!find(d, hash, &id))
		return -ENOENT;
	r = ARRAY_RESERVE(d->out, d->max_out, d->stacks[id].n);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < d->stacks[id].n; i++) {
		uint32_t text = d->frames[d->stacks[id].first + i];

		d->out[i] = (struct flame_frame){d->texts[text].s, d->texts[text].len, text + 1};
	}
	*ret = d->out;
	*ret_n = d->stacks[id].n;
	return 0;
}

uint32_t stack_dictionary_texts(const struct stack_dictionary *d)
{
	return (uint32_t)d->n_texts;
}

struct flame_frame stack_dictionary_text(const struct stack_dictionary *d, uint32_t i)
{
	return (struct flame_frame){d->texts[i].s, d->texts[i].len, i + 1};
}

int stack_dictionary_set_text(struct stack_dictionary *d, uint32_t i, const char *text, size_t len)
{
	uint32_t shown = 0;
	int r = add_text(d, text, len, &shown);

	if (r == 0)
		d->texts[i].shown = shown;
	return r;
}

void stack_dictionary_rename(struct stack_dictionary *d)
{
	for (size_t i = 0; i < d->n_frames; i++)
		d->frames[i] = d->texts[d->frames[i]].shown;
}

struct stack_dictionary_looked *stack_dictionary_looked(struct stack_dictionary *d)
{
	return &d->looked;
}

uint32_t stack_dictionary_count(const struct stack_dictionary *d)
{
	return d->n_stacks;
}

size_t stack_dictionary_bytes(const struct stack_dictionary *d)
{
	return d->arena.used_bytes + d->max_texts * sizeof(*d->texts) +
	       d->max_text_hashes * sizeof(*d->text_hashes) + d->max_stacks * sizeof(*d->stacks) +
	       d->max_frames * sizeof(*d->frames) + d->max_out * sizeof(*d->out) +
	       (d->by_text.n_slots + d->by_hash.n_slots) * sizeof(*d->by_text.slots);
}
