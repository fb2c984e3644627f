/*
 * What it costs to build the unwinding tables of files, one row per file. With --dump, prints the
 * rows of the last one instead: address and rule.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "node-agent/unwind/cfi/cfi_table.h"

struct dump {
	struct cfi_extent extent;
	struct unwind_row *rows;
	uint64_t *addresses;
	size_t n, max;
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int count_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	uint32_t *max = ctx;

	(void)page;
	(void)rows;
	if (n > *max)
		*max = n;
	return 0;
}

static int keep_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct dump *d = ctx;

	for (uint32_t i = 0; i < n; i++) {
		if (d->n == d->max) {
			d->max = d->max ? d->max * 2 : 4096;
			d->rows = realloc(d->rows, d->max * sizeof(*d->rows));
			d->addresses = realloc(d->addresses, d->max * sizeof(*d->addresses));
			if (!d->rows || !d->addresses)
				return -1;
		}
		d->addresses[d->n] =
			((d->extent.first_page + page) << UNWIND_PAGE_SHIFT) + rows[i].address;
		d->rows[d->n++] = rows[i];
	}
	return 0;
}

static void print_rows(const struct dump *d, const struct cfi_table *t)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct unwind_rule *r = &t->rules[d->rows[i].rule];

		printf("%llx base=%u how=%u cfa=%u fp=%d aux=%d\n",
		       (unsigned long long)d->addresses[i], r->base, r->how, r->cfa, r->fp, r->aux);
	}
}

static int measure(const char *path, bool dumps)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cfi_table table;
	struct elf_layout layout;
	struct byte_source src;
	struct cfi_input in = {.layout = &layout, .src = &src};
	struct dump d = {.n = 0};
	struct rusage usage;
	uint32_t max_rows = 0;
	struct stat st;
	double begin;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	byte_source_from_fd(&src, fd, (uint64_t)st.st_size);
	r = elf_layout_parse(&layout, &src);
	if (r == 0)
		r = cfi_table_extent(&layout, &d.extent);
	begin = seconds();
	if (r == 0)
		r = dumps ? cfi_table_build(&table, &in, keep_page, &d)
			  : cfi_table_build(&table, &in, count_page, &max_rows);
	if (r < 0) {
		printf("%s: error %d\n", path, r);
		return r;
	}
	if (dumps) {
		print_rows(&d, &table);
	} else {
		double took = seconds() - begin;

		getrusage(RUSAGE_SELF, &usage);
		printf("%8.1f MB %9llu functions %9llu rows (%4.1f MiB, most in a page %4u) %5u "
		       "rules, unknown %llu, bad %llu, dropped %llu, origin %d: %7.1f ms, %5.1f "
		       "million rows/s, peak %5.1f MiB  %s\n",
		       (double)st.st_size / 1e6, (unsigned long long)table.n_functions,
		       (unsigned long long)table.n_rows, (double)table.n_rows * 4 / 1048576,
		       max_rows, table.n_rules, (unsigned long long)table.n_unknown_rows,
		       (unsigned long long)table.n_bad_functions,
		       (unsigned long long)table.n_dropped_rows, (int)table.origin, took * 1e3,
		       (double)table.n_rows / took / 1e6, (double)usage.ru_maxrss / 1024, path);
	}
	cfi_table_fini(&table);
	free(d.rows);
	free(d.addresses);
	return 0;
}

int main(int argc, char **argv)
{
	bool dumps = argc > 1 && strcmp(argv[1], "--dump") == 0;
	int result = 0;

	for (int i = 1 + dumps; i < argc; i++)
		result |= measure(argv[i], dumps) < 0;
	return result;
}
