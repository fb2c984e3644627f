/*
 * check_lines N SHOWN NAME FILE: compares N addresses of FILE with addr2line and llvm-addr2line
 * (line_truth.h), prints a row for BENCHMARKS.md, and the first SHOWN differences.
 */
#include "common/text/parse.h"
#include "node-agent/lines/line_helper.h"
#include "test/lib/line_truth.h"

static double percent(size_t part, size_t n)
{
	return n ? 100.0 * (double)part / (double)n : 0;
}

int main(int argc, char **argv)
{
	struct line_truth_result r;
	uint64_t n, shown;

	if (argc == 2 && strcmp(argv[1], LINE_HELPER_COMMAND) == 0)
		return line_helper_run(NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	if (argc != 5 || parse_u64(argv[1], strlen(argv[1]), 1, 10000000, &n) < 0 ||
	    parse_u64(argv[2], strlen(argv[2]), 0, 1000000, &shown) < 0) {
		fprintf(stderr, "usage: check_lines N SHOWN NAME FILE\n");
		return 2;
	}
	if (line_truth_check(argv[4], argv[4], n, shown, &r) < 0) {
		fprintf(stderr, "%s: not a program that can be read\n", argv[4]);
		return 2;
	}
	printf("| %s | %zu | %.1f %% | %.1f %% | %.2f %% | %.2f %% | %.2f %% | %zu |\n", argv[3],
	       r.n, percent(r.inlined, r.n), percent(r.n - r.no_line, r.n),
	       percent(r.same[LINE_TRUTH_GNU], r.n), percent(r.same[LINE_TRUTH_LLVM], r.n),
	       percent(r.same_either, r.n), r.neither);
	return 0;
}
