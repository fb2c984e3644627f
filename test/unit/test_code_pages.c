#include <link.h>

#include "common/system/code_pages.h"
#include "test/lib/unit.h"

struct segment {
	const volatile char *start, *end;
};

static int find_libc_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct segment *ret = ctx;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			ret->start = (const volatile char *)info->dlpi_addr + p->p_vaddr;
			ret->end = ret->start + p->p_filesz;
		}
	}
	return 1;
}

/* KiB of the mapping that begins there. */
static unsigned long resident_kib(const struct segment *s)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	unsigned long start, end, kib = 0;
	bool is_it = false;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			is_it = start == (unsigned long)s->start;
		else if (is_it && sscanf(line, "Rss: %lu", &kib) == 1)
			break;
	}
	(void)!fclose(f);
	return kib;
}

static int written;

TEST(pages_that_are_not_used_are_given_back)
{
	struct segment code = {0};
	unsigned long before;

	written = 2;
	assert_int_equal(dl_iterate_phdr(find_libc_code, &code), 1);
	assert_true(code.end > code.start);
	for (const volatile char *p = code.start; p < code.end; p += 4096)
		(void)*p;
	before = resident_kib(&code);
	assert_true(before >= (unsigned long)(code.end - code.start) / 1024 / 2);
	code_pages_release();
	/* what has been called since is there again */
	assert_in_range(resident_kib(&code), 1, before - 1);
	assert_int_equal(written, 2);
}
