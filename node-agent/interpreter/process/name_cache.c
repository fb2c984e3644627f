#include "node-agent/interpreter/process/name_cache.h"

#include "common/data/array.h"
#include "common/data/intern.h"
#include "common/data/number_index.h"
#include "common/data/table.h"

struct entry {
	uint64_t key;
	uint32_t function; /* text */
	uint32_t file;
	uint32_t line;
	uint32_t start_line;
	int16_t error;
	uint8_t n_callers;
	bool is_root;
	uint32_t used; /* in this cycle */
};
_Static_assert(sizeof(struct entry) == 32, "no padding");

struct name_cache {
	uint32_t max_names;
	size_t max_text_bytes;
	struct intern *texts;
	size_t text_bytes;
	struct entry *entries;
	uint32_t n, cap;
	struct number_index index;
	uint32_t cycle;
	uint32_t n_failed; /* entries with an error that another try may not have */
};

int name_cache_new(struct name_cache **ret, uint32_t max_names, size_t max_text_bytes)
{
	CLEANUP(name_cache_freep) struct name_cache *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->max_names = max_names;
	c->max_text_bytes = max_text_bytes;
	r = intern_new(&c->texts, max_text_bytes);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void name_cache_free(struct name_cache *c)
{
	if (!c)
		return;
	intern_free(c->texts);
	free(c->entries);
	number_index_fini(&c->index);
	free(c);
}

uint64_t name_cache_key(const struct process_snapshot *s, const struct interpreter_frame *f)
{
	const uint64_t words[] = {
		(uint64_t)s->pid, s->start_time,  s->start_stack, f->code,  f->at,
		f->check,         f->caller_code, f->caller_at,   f->level,
	};

	return XXH3_64bits_withSeed(words, sizeof(words), table_seed);
}

static struct entry *find(const struct name_cache *c, uint64_t key)
{
	uint32_t hash = (uint32_t)key, at = hash, number;

	while (number_index_next(&c->index, hash, &at, &number)) {
		if (c->entries[number].key == key)
			return &c->entries[number];
	}
	return NULL;
}

bool name_cache_find(struct name_cache *c, uint64_t key, struct cached_name *ret)
{
	struct entry *e = find(c, key);
	size_t len;

	if (!e)
		return false;
	e->used = c->cycle;
	*ret = (struct cached_name){
		.function = intern_get(c->texts, e->function, &len),
		.file = intern_get(c->texts, e->file, &len),
		.line = e->line,
		.start_line = e->start_line,
		.error = e->error,
		.n_callers = e->n_callers,
		.is_root = e->is_root,
	};
	return true;
}

static int add_text(struct intern *texts, size_t *bytes, const char *text, uint32_t *ret)
{
	uint32_t n = intern_count(texts);
	size_t len = strlen(text);
	int r = intern_add(texts, text, len, ret);

	if (r == 0 && intern_count(texts) > n)
		*bytes += len + 1;
	return r == -EFBIG ? -ENOBUFS : r;
}

/* A frame that the interpreter has made for itself stays one. */
static bool has_failed(const struct entry *e)
{
	return cached_name_has_failed(e->error);
}

static int add_entry(struct name_cache *c, const struct entry *e)
{
	struct entry *failed = find(c, e->key);
	int r;

	if (failed) {
		c->n_failed -= !has_failed(e);
		*failed = *e;
		return 0;
	}
	r = ARRAY_RESERVE(c->entries, c->cap, c->n + 1);

	if (r == 0)
		r = number_index_add(&c->index, (uint32_t)e->key, c->n);
	if (r < 0)
		return r;
	c->entries[c->n++] = *e;
	c->n_failed += has_failed(e);
	return 0;
}

int name_cache_add(struct name_cache *c, uint64_t key, const struct cached_name *name)
{
	struct entry e = {
		.key = key,
		.line = name->line,
		.start_line = name->start_line,
		.error = (int16_t)name->error,
		.n_callers = name->n_callers,
		.is_root = name->is_root,
		.used = c->cycle,
	};
	const struct entry *known = find(c, key);
	int r = 0;

	if (known && !has_failed(known))
		return 0;
	if (!known && c->n >= c->max_names)
		return -ENOBUFS;
	if (name->error == 0)
		r = add_text(c->texts, &c->text_bytes, name->function, &e.function);
	if (r == 0 && name->error == 0)
		r = add_text(c->texts, &c->text_bytes, name->file, &e.file);
	return r == 0 ? add_entry(c, &e) : r;
}

/*
 * Of the function, wherever in it; 0: nothing tells it from another one at its address. A place in
 * it that others are inlined at is not that of the function alone.
 */
static uint64_t function_key(const struct process_snapshot *s, const struct interpreter_frame *f)
{
	const struct interpreter_frame function = {.code = f->code, .check = f->check, .at = ~0ULL};

	return f->check == 0 ? 0 : name_cache_key(s, &function);
}

bool name_cache_find_frame(struct name_cache *c, const struct process_snapshot *s,
			   const struct interpreter_frame *f, struct cached_name *ret)
{
	uint64_t function = function_key(s, f);
	struct cached_name of_function;
	bool found = name_cache_find(c, name_cache_key(s, f), ret);

	if ((found && !cached_name_has_failed(ret->error)) || function == 0 ||
	    !name_cache_find(c, function, &of_function))
		return found;
	*ret = of_function;
	return true;
}

int name_cache_add_frame(struct name_cache *c, const struct process_snapshot *s,
			 const struct interpreter_frame *f, const struct cached_name *name)
{
	struct cached_name of_function = *name;
	bool is_alone = f->level == 0 && name->n_callers == 0;
	uint64_t function = is_alone ? function_key(s, f) : 0;
	int r = name_cache_add(c, name_cache_key(s, f), name);

	of_function.line = name->start_line;
	if (r == 0 && name->error == 0 && function != 0) /* without room it is done without */
		(void)!name_cache_add(c, function, &of_function);
	return r;
}

static bool is_filling(const struct name_cache *c)
{
	return c->n > c->max_names / 2 || c->text_bytes > c->max_text_bytes / 2;
}

/* What is kept moves to new texts. On failure, what has moved is kept. */
static void rebuild(struct name_cache *c, struct intern *texts, bool filling)
{
	uint32_t n = c->n;
	size_t bytes = 0, len;

	c->n = c->n_failed = 0;
	number_index_clear(&c->index);
	for (uint32_t i = 0; i < n; i++) {
		struct entry e = c->entries[i];

		if (has_failed(&e) || (filling && c->cycle - e.used > 1))
			continue;
		if (add_text(texts, &bytes, intern_get(c->texts, e.function, &len), &e.function) <
			    0 ||
		    add_text(texts, &bytes, intern_get(c->texts, e.file, &len), &e.file) < 0 ||
		    add_entry(c, &e) < 0)
			break;
	}
	intern_free(c->texts);
	c->texts = texts;
	c->text_bytes = bytes;
}

bool name_cache_end_cycle(struct name_cache *c)
{
	struct intern *texts;
	bool filling = is_filling(c), changes = filling || c->n_failed > 0;

	if (changes && intern_new(&texts, c->max_text_bytes) == 0)
		rebuild(c, texts, filling);
	c->cycle++;
	return changes;
}

uint32_t name_cache_count(const struct name_cache *c)
{
	return c->n;
}

size_t name_cache_bytes(const struct name_cache *c)
{
	return c->cap * sizeof(c->entries[0]) + c->text_bytes +
	       c->index.n_slots * sizeof(c->index.slots[0]);
}
