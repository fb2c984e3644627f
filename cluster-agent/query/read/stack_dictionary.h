/*
 * The frames of stacks, by the stack's hash. Texts of frames repeat thousands of times, so each is
 * kept once and a stack is a list of their numbers: a fiftieth of the memory. Pure.
 *
 * Not thread-safe.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_STACK_DICTIONARY_H
#define CLUSTER_AGENT_QUERY_READ_STACK_DICTIONARY_H

#include "common/base.h"
#include "common/flame/flame_tree.h"

struct stack_dictionary;

struct stack_dictionary_limits {
	uint32_t max_stacks;   /* 0: 1,000,000 */
	size_t max_frames;     /* of all stacks; 0: 32 Mi, which is 128 MiB */
	size_t max_text_bytes; /* of all distinct frames; 0: 64 MiB */
};

/* Returns 0 or -ENOMEM. limits may be NULL. */
int stack_dictionary_new(struct stack_dictionary **ret,
			 const struct stack_dictionary_limits *limits) MUST_CHECK;
void stack_dictionary_free(struct stack_dictionary *d);
DEFINE_CLEANUP(struct stack_dictionary *, stack_dictionary_free);

/*
 * Copies the frames of a stack; their ids are not read. Does nothing if the hash is known. Returns
 * 0, -EFBIG if a limit would be exceeded, or -ENOMEM; the dictionary remains usable.
 */
int stack_dictionary_add(struct stack_dictionary *d, uint64_t hash,
			 const struct flame_frame *frames, size_t n_frames) MUST_CHECK;

bool stack_dictionary_has(const struct stack_dictionary *d, uint64_t hash);

/*
 * Sets *ret to the frames, with their ids, in storage that the next call of get or add reuses.
 * Returns 0, -ENOENT, or -ENOMEM.
 */
int stack_dictionary_get(struct stack_dictionary *d, uint64_t hash, const struct flame_frame **ret,
			 size_t *ret_n) MUST_CHECK;

/*
 * The distinct texts, by the order in which they came: for who knows better ones. Those that are
 * put in the place of others are among them.
 */
uint32_t stack_dictionary_texts(const struct stack_dictionary *d);
struct flame_frame stack_dictionary_text(const struct stack_dictionary *d, uint32_t i);
/*
 * Shows another text in place of text i, in stacks that are added later and, after
 * stack_dictionary_rename(), in all. Returns as stack_dictionary_add().
 */
int stack_dictionary_set_text(struct stack_dictionary *d, uint32_t i, const char *text,
			      size_t len) MUST_CHECK;
void stack_dictionary_rename(struct stack_dictionary *d);

/* Until where late_names.h has looked at texts, which belongs to it. */
struct stack_dictionary_looked {
	uint64_t generation;
	uint32_t n_texts;
};
struct stack_dictionary_looked *stack_dictionary_looked(struct stack_dictionary *d);

/* Number of stacks. */
uint32_t stack_dictionary_count(const struct stack_dictionary *d);
/* Memory that it holds, roughly. */
size_t stack_dictionary_bytes(const struct stack_dictionary *d);

#endif /* CLUSTER_AGENT_QUERY_READ_STACK_DICTIONARY_H */
