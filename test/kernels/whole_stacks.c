/*
 * Whether the stacks of test/accuracy/workloads/chain.c in profiles are whole:
 *   whole_stacks PROGRAM PROFILE...
 * prints how many samples its function acc_spin has, and how many of these have all its callers to
 * the start of the thread. Fails if a tenth or more has not, as only the first samples of a process
 * may, or if there are fewer than 100.
 */
#include "test/go-matrix/profile_stacks.h"

#define LEAST_SAMPLES 100

static bool has(const char *text, const char *function)
{
	char frame[64];

	snprintf(frame, sizeof(frame), "  %s ", function);
	return strstr(text, frame) != NULL;
}

/* A chain through one of the plain functions must have all that call it. */
static bool has_all_plain(const char *text)
{
	bool below = false;

	for (int n = 8; n > 0; n--) {
		char function[32];

		snprintf(function, sizeof(function), "acc_plain_%d", n);
		if (below && !has(text, function))
			return false;
		below |= has(text, function);
	}
	return true;
}

static bool is_whole(const char *text)
{
	bool of_main = has(text, "acc_turn") && has(text, "main") && has(text, "_start");
	bool of_thread = has(text, "acc_thread") && has(text, "acc_plain_1");
	bool of_routine = has(text, "acc_routine") && has(text, "acc_routine_work");

	return !has(text, "[truncated]") && (of_main || of_thread || of_routine) &&
	       has_all_plain(text);
}

int main(int argc, char **argv)
{
	long long all = 0, whole = 0;
	const char *worst = "";
	char root[64];

	if (argc < 3)
		return 2;
	snprintf(root, sizeof(root), "  %s :0\n", argv[1]);
	for (int i = 2; i < argc; i++) {
		struct profile_stacks s = {.without = NULL};

		/* one that is still being written */
		if (profile_stacks_load(&s, argv[i], 1) < 0)
			continue;
		for (size_t k = 0; k < s.n; k++) {
			char *text = s.stacks[k].text;

			if (!has(text, "acc_spin") || !strstr(text, root))
				continue;
			all += s.stacks[k].values[0];
			if (is_whole(text))
				whole += s.stacks[k].values[0];
			else
				worst = strdup(text);
		}
		profile_stacks_fini(&s);
	}
	all /= 1000000000 / 99;
	whole /= 1000000000 / 99;
	printf("whole stacks: %lld of %lld\n", whole, all);
	if (all >= LEAST_SAMPLES && whole * 10 > all * 9)
		return 0;
	printf("one that is not:\n%s", worst);
	return 1;
}
