/*
 * check_between OURS BEFORE AFTER: checks our heap profile of a working program against two that it
 * made of itself before and after, each after a garbage collection. Allocations only increase, so
 * each stack of ours must lie between the other two; what is in use must be as in BEFORE, because
 * that changes only at a collection.
 */
#include "common/base.h"
#include "test/go-matrix/profile_stacks.h"

#define N_VALUES 4u
#define N_ALLOC_VALUES 2u /* these come first */
#define MAX_SHOWN 6u
#define MIN_STACKS 3u

static const int64_t nothing[N_VALUES];

static const struct profile_stack *find(const struct profile_stacks *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->stacks[i].text, text) == 0)
			return &s->stacks[i];
	}
	return NULL;
}

static bool is_between(const int64_t *ours, const int64_t *before, const int64_t *after)
{
	bool is = true;

	for (size_t i = 0; i < N_VALUES; i++)
		is &= i < N_ALLOC_VALUES ? ours[i] >= before[i] && ours[i] <= after[i]
					 : ours[i] == before[i];
	return is;
}

static void show(const char *who, const int64_t *values)
{
	printf("%s %lld %lld %lld %lld\n", who, (long long)values[0], (long long)values[1],
	       (long long)values[2], (long long)values[3]);
}

/* Checks each stack of `of`. Returns the number of those that are wrong, and prints the first. */
static size_t check(const struct profile_stacks *of, const struct profile_stacks *ours,
		    const struct profile_stacks *before, const struct profile_stacks *after)
{
	size_t n = 0;

	for (size_t i = 0; i < of->n; i++) {
		const char *text = of->stacks[i].text;
		const struct profile_stack *o = find(ours, text), *b = find(before, text),
					   *a = find(after, text);

		if (o && a && is_between(o->values, b ? b->values : nothing, a->values))
			continue;
		if (n++ < MAX_SHOWN) {
			printf("\n%s", text);
			show("before", b ? b->values : nothing);
			show("ours  ", o ? o->values : nothing);
			show("after ", a ? a->values : nothing);
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	CLEANUP(profile_stacks_fini) struct profile_stacks ours = {0};
	CLEANUP(profile_stacks_fini) struct profile_stacks before = {0};
	CLEANUP(profile_stacks_fini) struct profile_stacks after = {0};
	size_t n;

	if (argc != 4)
		return 2;
	if (profile_stacks_load(&ours, argv[1], N_VALUES) < 0 ||
	    profile_stacks_load(&before, argv[2], N_VALUES) < 0 ||
	    profile_stacks_load(&after, argv[3], N_VALUES) < 0)
		return 1;
	n = check(&ours, &ours, &before, &after) + check(&before, &ours, &before, &after);
	printf(", %zu stacks, %zu are not between\n", ours.n, n);
	return n == 0 && ours.n >= MIN_STACKS ? 0 : 1;
}
