/* Stacks of few functions, so that they share paths, recur and differ in single frames. */
#ifndef TEST_LIB_RANDOM_STACKS_H
#define TEST_LIB_RANDOM_STACKS_H

#include <stdio.h>

#include "common/base.h"
#include "common/flame/flame_tree.h"

#define RANDOM_STACKS_MAX 300
#define RANDOM_STACKS_DEPTH 12

struct random_stack {
	struct flame_frame frames[RANDOM_STACKS_DEPTH]; /* leaf first */
	int function[RANDOM_STACKS_DEPTH]; /* 0 … 6; name and file are f<i> and x<i> */
	int line[RANDOM_STACKS_DEPTH];
	bool inlined[RANDOM_STACKS_DEPTH];
	char text[RANDOM_STACKS_DEPTH][32];
	size_t n;
	struct stack_value value;
};

struct random_stacks {
	struct random_stack items[RANDOM_STACKS_MAX];
	size_t n;
	uint64_t seed;
};

static inline int random_below(struct random_stacks *s, int n)
{
	s->seed = s->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((s->seed >> 33) % (uint64_t)n);
}

/* The same for the same seed; with ids of frames, or without. */
static inline void random_stacks_fill(struct random_stacks *s, uint64_t seed, bool ids)
{
	s->seed = seed;
	s->n = 1 + (size_t)random_below(s, RANDOM_STACKS_MAX);
	for (size_t i = 0; i < s->n; i++) {
		struct random_stack *k = &s->items[i];

		k->n = (size_t)random_below(s, RANDOM_STACKS_DEPTH + 1);
		for (size_t j = 0; j < k->n; j++) {
			int f = random_below(s, 7), line = random_below(s, 3);
			bool inlined = random_below(s, 4) == 0;

			k->function[j] = f;
			k->line[j] = line;
			k->inlined[j] = inlined;
			snprintf(k->text[j], sizeof(k->text[j]), "f%d x%d:%d%s", f, f, line,
				 inlined ? ":inlined" : "");
			k->frames[j] = (struct flame_frame){
				.text = k->text[j],
				.len = strlen(k->text[j]),
				.id = ids ? 1 + (uint32_t)((f * 3 + line) * 2 + inlined) : 0,
			};
		}
		k->value = (struct stack_value){random_below(s, 10), random_below(s, 10)};
	}
}

static inline bool random_stack_has(const struct random_stack *k, int function)
{
	for (size_t j = 0; j < k->n; j++)
		if (k->function[j] == function)
			return true;
	return false;
}

#endif /* TEST_LIB_RANDOM_STACKS_H */
