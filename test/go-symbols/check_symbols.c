/*
 * check_symbols TRUTH FILE MIN: compares names of functions in FILE with TRUTH, the output of nm
 * -S. None may be wrong, and at least MIN per cent must be named.
 *
 * check_symbols lines TRUTH FILE: compares lines of addresses in FILE with TRUTH, which says
 * "address function file:line" of each, of the innermost function that is inlined there. None may
 * differ, and some must be of inlined functions.
 */
#include "common/text/parse.h"
#include "test/lib/symbol_truth.h"

#define WRONG_SHOWN 10u

struct line_check {
	struct truth_check truth;
	size_t n, n_inlined, n_wrong;
};

static void check_line(struct line_check *c, char *text)
{
	char *name = text, shown[3 * 1024];
	uint64_t vaddr = strtoull(text, &name, 16), offset;
	const struct symbol_location *l;
	char *file;

	text[strcspn(text, "\n")] = '\0';
	if (elf_layout_offset(&c->truth.layout, vaddr, &offset) < 0)
		return;
	l = symbolizer_resolve_user(c->truth.symbolizer, &c->truth.mapping, offset,
				    SYMBOL_ADDRESS_EXACT);
	file = strrchr(name, ' ');
	if (!file)
		return;
	*file++ = '\0';
	snprintf(shown, sizeof(shown), "%s", l->frames[0].function);
	truth_normalize(shown);
	truth_normalize(name);
	c->n++;
	c->n_inlined += l->n > 1;
	if (strcmp(shown, name + 1) == 0) {
		snprintf(shown, sizeof(shown), "%s:%" PRIu32, l->frames[0].file, l->frames[0].line);
		if (strcmp(shown, file) == 0)
			return;
	}
	if (c->n_wrong++ < WRONG_SHOWN)
		fprintf(stderr, "  %#" PRIx64 ": %s instead of%s %s\n", vaddr, shown, name, file);
}

static int check_lines(const char *truth, const char *file)
{
	struct line_check c = {0};
	char line[3 * 1024];
	FILE *f = fopen(truth, "re");

	c.truth.mapping.fd = -1;
	if (!f || truth_check_open(&c.truth, file) < 0) {
		perror(f ? file : truth);
		return 2;
	}
	while (fgets(line, sizeof(line), f))
		check_line(&c, line);
	fclose(f);
	truth_check_close(&c.truth);
	printf("%zu lines, %zu of inlined functions, %zu wrong\n", c.n, c.n_inlined, c.n_wrong);
	return c.n > 1000 && c.n_inlined > c.n / 20 && c.n_wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct truth_result r;
	struct truth truth;
	uint64_t min, asked;
	FILE *f;

	if (argc == 4 && strcmp(argv[1], "lines") == 0)
		return check_lines(argv[2], argv[3]);
	if (argc != 4 || parse_u64(argv[3], strlen(argv[3]), 0, 100, &min) < 0) {
		fprintf(stderr, "usage: check_symbols TRUTH FILE MIN-PERCENT\n"
				"       check_symbols lines TRUTH FILE\n");
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
