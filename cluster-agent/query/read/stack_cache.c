#include "cluster-agent/query/read/stack_cache.h"

#include <errno.h>
#include <pthread.h>

#include "common/data/table.h"

/* One per service that is being viewed: few enough for a linear search. */
#define MAX_ENTRIES 32u

struct entry {
	uint64_t key;
	struct stack_dictionary *stacks; /* NULL: free */
	size_t bytes;
	uint64_t used; /* number of the last use */
};

struct stack_cache {
	pthread_mutex_t lock;
	size_t max_bytes;
	size_t bytes;
	uint64_t n_uses;
	struct entry entries[MAX_ENTRIES];
};

int stack_cache_new(struct stack_cache **ret, size_t max_bytes)
{
	struct stack_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	c->max_bytes = max_bytes;
	*ret = c;
	return 0;
}

/* Frees an entry and returns its dictionary. */
static struct stack_dictionary *remove_entry(struct stack_cache *c, struct entry *e)
{
	struct stack_dictionary *d = e->stacks;

	c->bytes -= e->bytes;
	*e = (struct entry){0};
	return d;
}

void stack_cache_free(struct stack_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < MAX_ENTRIES; i++)
		stack_dictionary_free(remove_entry(c, &c->entries[i]));
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* If two services had the same key, they would only share a dictionary. */
static uint64_t key_of(const char *service, const char *base)
{
	uint64_t hash = XXH3_64bits_withSeed(service, strlen(service), table_seed);

	return XXH3_64bits_withSeed(base, strlen(base), hash);
}

static struct entry *find(struct stack_cache *c, uint64_t key)
{
	for (size_t i = 0; i < MAX_ENTRIES; i++)
		if (c->entries[i].stacks && c->entries[i].key == key)
			return &c->entries[i];
	return NULL;
}

int stack_cache_take(struct stack_cache *c, const char *service, const char *base,
		     struct stack_dictionary **ret)
{
	struct entry *e = NULL;

	if (c) {
		pthread_mutex_lock(&c->lock);
		e = find(c, key_of(service, base));
		if (e)
			*ret = remove_entry(c, e);
		pthread_mutex_unlock(&c->lock);
	}
	return e ? 0 : stack_dictionary_new(ret, NULL);
}

/* The entry to use next: a free one, or the one that was not used for longest. */
static struct entry *oldest(struct stack_cache *c)
{
	struct entry *found = &c->entries[0];

	for (size_t i = 0; i < MAX_ENTRIES && found->stacks; i++)
		if (!c->entries[i].stacks || c->entries[i].used < found->used)
			found = &c->entries[i];
	return found;
}

/* The entry that has been in use for longest, or NULL. */
static struct entry *victim(struct stack_cache *c)
{
	struct entry *found = NULL;

	for (size_t i = 0; i < MAX_ENTRIES; i++)
		if (c->entries[i].stacks && (!found || c->entries[i].used < found->used))
			found = &c->entries[i];
	return found;
}

/* Adds an entry, and collects in gone the dictionaries that are to be freed. */
static void add(struct stack_cache *c, uint64_t key, struct stack_dictionary *d,
		struct stack_dictionary *gone[static MAX_ENTRIES + 1], size_t *ret_n)
{
	size_t bytes = stack_dictionary_bytes(d);
	struct entry *e = find(c, key);

	if (e && stack_dictionary_count(e->stacks) >= stack_dictionary_count(d)) {
		gone[(*ret_n)++] = d;
		return;
	}
	if (!e)
		e = oldest(c);
	if (e->stacks)
		gone[(*ret_n)++] = remove_entry(c, e);
	for (e = victim(c); e && c->bytes + bytes > c->max_bytes; e = victim(c))
		gone[(*ret_n)++] = remove_entry(c, e);
	*oldest(c) = (struct entry){.key = key, .stacks = d, .bytes = bytes, .used = ++c->n_uses};
	c->bytes += bytes;
}

/* Frees outside the lock: that of 50 MiB takes a while. */
void stack_cache_put(struct stack_cache *c, const char *service, const char *base,
		     struct stack_dictionary *d)
{
	struct stack_dictionary *gone[MAX_ENTRIES + 1];
	size_t n = 0;

	if (!c || !d || stack_dictionary_bytes(d) > c->max_bytes) {
		stack_dictionary_free(d);
		return;
	}
	pthread_mutex_lock(&c->lock);
	add(c, key_of(service, base), d, gone, &n);
	pthread_mutex_unlock(&c->lock);
	while (n > 0)
		stack_dictionary_free(gone[--n]);
}

size_t stack_cache_bytes(struct stack_cache *c)
{
	size_t bytes;

	pthread_mutex_lock(&c->lock);
	bytes = c->bytes;
	pthread_mutex_unlock(&c->lock);
	return bytes;
}
