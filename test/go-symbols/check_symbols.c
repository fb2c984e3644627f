/*
 * check_symbols TRUTH FILE MIN: compares names of functions in FILE with TRUTH, the output of nm
 * -S. None may be wrong, and at least MIN per cent must be named.
 */
#include "common/text/parse.h"
#include "test/lib/symbol_truth.h"

int main(int argc, char **argv)
{
	struct truth_result r;
	struct truth truth;
	uint64_t min, asked;
	FILE *f;

	if (argc != 4 || parse_u64(argv[3], strlen(argv[3]), 0, 100, &min) < 0) {
		fprintf(stderr, "usage: check_symbols TRUTH FILE MIN-PERCENT\n");
		return 2;
	}
	f = fopen(argv[1], "re");
	if (!f) {
		perror(argv[1]);
		return 2;
	}
	truth_read(&truth, f);
	fclose(f);
	if (truth_check(&truth, argv[2], &r) < 0) {
		perror(argv[2]);
		return 2;
	}
	truth_fini(&truth);
	asked = r.right + r.unresolved;
	printf("%zu right, %zu unresolved, %zu gaps, %zu wrong\n", r.right, r.unresolved, r.gaps,
	       r.wrong);
	return r.wrong == 0 && asked > 1000 && r.right * 100 >= asked * min ? 0 : 1;
}
