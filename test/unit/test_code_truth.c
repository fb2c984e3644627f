/*
 * Code is analysed as if it had no call frame information, and what comes of it is compared with
 * the call frame information that it has: of every byte of every function.
 *
 * With arguments, prints the same for these files.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "node-agent/unwind/cfi/cfi_index.h"
#include "node-agent/unwind/cfi/cfi_program.h"
#include "node-agent/unwind/cfi/cfi_rule.h"
#include "node-agent/unwind/code/code_rules.h"
#include "test/lib/unit.h"

struct found {
	uint64_t address;
	struct code_state state;
	bool is_known;
};

struct truth {
	struct elf_layout layout;
	struct byte_source src;
	struct file_windows *windows;
	struct found *found;
	size_t n, max;
	const struct cfi_cie *cie;
	bool prints;
	uint64_t n_bytes, n_known, n_wrong, n_other; /* n_other: CFI that cannot be compared */
	double seconds;
};

static int keep(void *ctx, uint64_t address, const struct code_state *s)
{
	struct truth *t = ctx;

	if (t->n == t->max) {
		t->max = t->max ? 2 * t->max : 4096;
		t->found = realloc(t->found, t->max * sizeof(*t->found));
		assert_non_null(t->found);
	}
	assert_true(t->n == 0 || address > t->found[t->n - 1].address);
	t->found[t->n] = (struct found){.address = address};
	if (s) {
		t->found[t->n].state = *s;
		t->found[t->n].is_known = code_state_rule(s).base != UNWIND_CFA_UNKNOWN;
	}
	t->n++;
	return 0;
}

/* ---- comparison ---- */

static bool same_distance(struct code_value from, struct code_value to, int64_t distance)
{
	return from.base == to.base && from.base != CODE_NONE &&
	       (int64_t)to.offset - from.offset == distance;
}

static struct code_value register_of(const struct code_state *s, uint8_t reg)
{
	if (reg == CFI_X86_RSP)
		return s->sp;
	return reg == CFI_X86_RBP ? s->bp : (struct code_value){.base = CODE_NONE};
}

enum match {
	SAME,
	DIFFERENT,
	INCOMPARABLE,
};

static enum match compare_cfa(const struct cfi_state *c, const struct code_state *s)
{
	static const struct code_value cfa = {.base = CODE_CFA};
	struct code_value reg = register_of(s, c->cfa.reg);

	switch (c->cfa.kind) {
	case CFI_IS_REGISTER:
		if (c->cfa.reg != CFI_X86_RSP && c->cfa.reg != CFI_X86_RBP)
			return INCOMPARABLE;
		return same_distance(reg, cfa, c->cfa.offset) ? SAME : DIFFERENT;
	case CFI_IS_DEREFERENCE:
		if (s->cfa_at.base == CODE_NONE)
			return INCOMPARABLE;
		return same_distance(reg, s->cfa_at, c->cfa.offset) &&
				       c->cfa.add == -(int64_t)s->cfa_at_offset
			       ? SAME
			       : DIFFERENT;
	default:
		return INCOMPARABLE;
	}
}

/* Where code has restored the register, its place is still what most descriptions say. */
static enum match compare_fp(const struct cfi_state *c, const struct code_state *s)
{
	static const struct code_value cfa = {.base = CODE_CFA};

	if (s->bp.base == CODE_CALLERS)
		return SAME;
	if (code_state_rule(s).fp == UNWIND_FP_LOST)
		return SAME; /* nothing is said about it */
	switch (c->fp.kind) {
	case CFI_AT_CFA:
		return same_distance(cfa, s->bp_at, c->fp.offset) ? SAME : DIFFERENT;
	case CFI_AT_REGISTER:
		return same_distance(register_of(s, c->fp.reg), s->bp_at, c->fp.offset) ? SAME
											: DIFFERENT;
	default:
		return DIFFERENT;
	}
}

static enum match compare(const struct cfi_state *c, const struct code_state *s, bool is_signal)
{
	enum match cfa, fp;

	if (is_signal || s->kind == CODE_SIGNAL)
		return is_signal == (s->kind == CODE_SIGNAL) ? SAME : DIFFERENT;
	if (c->ra.kind == CFI_UNDEFINED || s->kind == CODE_OUTERMOST)
		return (c->ra.kind == CFI_UNDEFINED) == (s->kind == CODE_OUTERMOST) ? SAME
										    : DIFFERENT;
	if (c->ra.kind != CFI_AT_CFA || c->ra.offset != -8)
		return INCOMPARABLE;
	cfa = compare_cfa(c, s);
	fp = compare_fp(c, s);
	return cfa != SAME ? cfa : fp;
}

static const struct found *find(const struct truth *t, uint64_t address)
{
	size_t from = 0, to = t->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (t->found[middle].address <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from > 0 ? &t->found[from - 1] : NULL;
}

static void print_wrong(const struct truth *t, uint64_t at, uint64_t bytes,
			const struct cfi_state *c, const struct code_state *s)
{
	if (!t->prints)
		return;
	printf("  %llx %llu: CFA %d r%u%+lld, rbp %d%+lld; sp %u%+d bp %u%+d bp_at %u%+d cfa_at "
	       "%u%+d kind %u\n",
	       (unsigned long long)at, (unsigned long long)bytes, c->cfa.kind, c->cfa.reg,
	       (long long)c->cfa.offset, c->fp.kind, (long long)c->fp.offset, s->sp.base,
	       s->sp.offset, s->bp.base, s->bp.offset, s->bp_at.base, s->bp_at.offset,
	       s->cfa_at.base, s->cfa_at.offset, s->kind);
}

static int on_state(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *c)
{
	struct truth *t = ctx;

	for (uint64_t at = start; at < end;) {
		const struct found *f = find(t, at);
		uint64_t next = end;

		if (!f)
			return 0;
		if (f + 1 < t->found + t->n && f[1].address < next)
			next = f[1].address;
		t->n_bytes += next - at;
		if (f->is_known) {
			enum match m = compare(c, &f->state, t->cie->is_signal);

			t->n_known += next - at;
			t->n_wrong += m == DIFFERENT ? next - at : 0;
			t->n_other += m == INCOMPARABLE ? next - at : 0;
			if (m == DIFFERENT)
				print_wrong(t, at, next - at, c, &f->state);
		} else if (t->prints && getenv("UNKNOWN")) {
			printf("  %llx..%llx unknown\n", (unsigned long long)at,
			       (unsigned long long)next);
		}
		at = next;
	}
	return 0;
}

/* ---- files ---- */

static void analyse(struct truth *t)
{
	CLEANUP(code_rules_freep) struct code_rules *rules = NULL;
	struct timespec a, b;

	assert_int_equal(code_rules_new(&rules, &t->layout, t->windows), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (uint32_t i = 0; i < t->layout.n_texts; i++) {
		const struct elf_section *s = &t->layout.texts[i];

		if (s->vaddr == t->layout.sections[ELF_SECTION_PLT].vaddr)
			continue;
		assert_int_equal(code_rules_run(rules, s->vaddr, s->vaddr + s->size_bytes,
						s->offset, keep, t),
				 0);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	t->seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

/* The caller frees t->found. */
static void judge(struct truth *t, const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE struct cfi_index *index = calloc(1, sizeof(*index));
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	byte_source_from_fd(&t->src, fd, (uint64_t)st.st_size);
	assert_int_equal(elf_layout_parse(&t->layout, &t->src), 0);
	assert_int_equal(file_windows_new(&t->windows, &t->src), 0);
	analyse(t);
	assert_int_equal(cfi_index_open(index, &t->layout, t->windows), 0);
	for (uint64_t i = 0; i < index->n; i++) {
		struct cfi_function f;

		assert_int_equal(cfi_index_function(index, i, &f, &t->cie), 0);
		if (f.start == t->layout.sections[ELF_SECTION_PLT].vaddr)
			continue; /* has rules of its own */
		if (f.start >= t->layout.text_start && f.end <= t->layout.text_end)
			assert_int_equal(
				cfi_program_run(&f, &t->cie->coding, &t->cie->initial, on_state, t),
				0);
	}
	cfi_index_fini(index);
	file_windows_free(t->windows);
}

/* Of all code, described or not. */
static double share_known(const struct truth *t)
{
	uint64_t known = 0, all = t->found[t->n - 1].address - t->found[0].address;

	for (size_t i = 0; i + 1 < t->n; i++)
		known += t->found[i].is_known ? t->found[i + 1].address - t->found[i].address : 0;
	return (double)known / (double)(all > 0 ? all : 1);
}

static void print(const char *path)
{
	struct truth t = {.prints = true};

	judge(&t, path);
	printf("%.3f %% of all code is known\n", 100 * share_known(&t));
	free(t.found);
	printf("%s: %llu bytes, known %.3f %%, wrong %.4f %% (%llu), not comparable %.4f %%; %.0f "
	       "ms\n",
	       path, (unsigned long long)t.n_bytes, 100.0 * (double)t.n_known / (double)t.n_bytes,
	       100.0 * (double)t.n_wrong / (double)t.n_bytes, (unsigned long long)t.n_wrong,
	       100.0 * (double)t.n_other / (double)t.n_bytes, t.seconds * 1e3);
}

/* At least the share `known` is known, and of all at most the share `wrong` is another rule. */
static void expect(const char *path, double known, double wrong)
{
	struct truth t = {.prints = false};

	judge(&t, path);
	free(t.found);
	assert_true((double)t.n_known >= known * (double)t.n_bytes);
	assert_true((double)t.n_wrong <= wrong * (double)t.n_bytes);
}

static const char *library_of(const char *symbol, Dl_info *info)
{
	assert_true(dladdr(dlsym(RTLD_DEFAULT, symbol), info) != 0);
	return info->dli_fname;
}

/*
 * Of glibc, three functions of multiplication in assembly push registers that their descriptions
 * do not mention, and that of its entry point has a caller.
 */
TEST(rules_from_code_are_those_of_its_descriptions)
{
	Dl_info info;

	expect("/proc/self/exe", 0.995, 0);
	expect(library_of("gnu_get_libc_version", &info), 0.98, 0.0008);
	expect(library_of("curl_easy_init", &info), 0.98, 0.0001);
	expect(library_of("gnutls_global_init", &info), 0.97, 0.0001);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		print(argv[i]);
	return argc > 1 ? 0 : unit_run(NULL, NULL);
}
