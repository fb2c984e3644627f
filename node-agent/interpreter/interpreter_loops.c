/*
 * Symbols say it all where they are: .symtab has the local ones, of parts and of tail-calling
 * functions. A stripped file has one symbol, and unwinding information for each part. A part is one
 * into whose middle the function jumps, and that jumps back into the function's middle. Jumps of
 * other functions, which are tail calls, go to starts.
 *
 * On x86-64 jumps are looked for at each byte, as where instructions begin is not known; that some
 * bytes look like a jump to the middle of a function by chance happens, but not two of them to the
 * same one and back.
 */
#include "node-agent/interpreter/interpreter_loops.h"

#include <elf.h>
#include <errno.h>

#include "common/data/heap_sort.h"
#include "common/elf/eh_function.h"
#include "common/elf/file_windows.h"

#define SYMBOLS_AT_ONCE 256u
#define SYMBOLS_MAX 400000u     /* of libpython: some 20,000 */
#define RANGES_MAX 1024u        /* before they are merged */
#define FUNCTION_MAX (1u << 20) /* bytes of a part; the loop has some 80,000 */
#define JUMPS_MAX 4096u         /* that leave the function and are followed */
#define CANDIDATES_MAX 256u     /* into whose middle a jump goes */
#define PARTS_MAX 16u           /* of these, that are read */
#define JUMPS_ENOUGH 2u
#define GAP_MAX 64u /* between functions: padding */

struct parts {
	const struct elf_layout *layout;
	const struct byte_source *src;
	interpreter_is_loop_fn *is_loop;
	struct interpreter_range *ranges; /* RANGES_MAX */
	uint32_t n;
};

static void add(struct parts *p, uint64_t start, uint64_t end)
{
	if (p->n < RANGES_MAX && start < end && elf_layout_is_text(p->layout, start) &&
	    elf_layout_is_text(p->layout, end - 1))
		p->ranges[p->n++] = (struct interpreter_range){start, end};
}

/* ---- by symbols ---- */

bool interpreter_is_part(const char *name, const char *function)
{
	size_t len = strlen(function);

	return strncmp(name, function, len) == 0 &&
	       (name[len] == '\0' || name[len] == '.' || name[len] == '/');
}

#define NAME_BYTES 64u /* longer ones are cut */

static int add_symbol(struct parts *p, const Elf64_Sym *sym, struct file_windows *w,
		      const struct elf_section *strings)
{
	size_t len = NAME_BYTES - 1;
	char name[NAME_BYTES] = "";
	const uint8_t *at;
	int r;

	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF ||
	    sym->st_size == 0 || sym->st_size > FUNCTION_MAX || sym->st_name >= strings->size_bytes)
		return 0;
	if (strings->size_bytes - sym->st_name < len)
		len = (size_t)(strings->size_bytes - sym->st_name);
	r = file_windows_get(w, strings->offset + sym->st_name, len, &at);
	if (r < 0)
		return r;
	memcpy(name, at, len);
	if (p->is_loop(name))
		add(p, sym->st_value, sym->st_value + sym->st_size);
	return 0;
}

static int add_symbols(struct parts *p, const struct elf_section *symbols)
{
	CLEANUP(file_windows_freep) struct file_windows *w = NULL;
	uint64_t n = symbols->size_bytes / sizeof(Elf64_Sym);
	Elf64_Sym syms[SYMBOLS_AT_ONCE];
	int r = 0;

	if (n > SYMBOLS_MAX)
		return 0;
	if (n > 0)
		r = file_windows_new(&w, p->src);
	for (uint64_t i = 0; i < n && r == 0; i += SYMBOLS_AT_ONCE) {
		size_t count = n - i < SYMBOLS_AT_ONCE ? (size_t)(n - i) : SYMBOLS_AT_ONCE;

		r = byte_source_read(p->src, symbols->offset + i * sizeof(*syms), syms,
				     count * sizeof(*syms));
		for (size_t j = 0; j < count && r == 0; j++)
			r = add_symbol(p, &syms[j], w, symbols + 1);
	}
	return r;
}

/* ---- by jumps ---- */

/* Code of a function, and where it jumps. */
struct code {
	uint8_t *bytes;
	uint64_t start;
	uint64_t end;
};

static int read_code(const struct parts *p, uint64_t start, uint64_t end, struct code *ret)
{
	uint64_t offset;
	int r = elf_layout_offset(p->layout, start, &offset);

	*ret = (struct code){.start = start, .end = end};
	if (r < 0 || end - start > FUNCTION_MAX)
		return -ENOENT;
	ret->bytes = malloc((size_t)(end - start));
	if (!ret->bytes)
		return -ENOMEM;
	r = byte_source_read(p->src, offset, ret->bytes, (size_t)(end - start));
	if (r < 0) {
		free(ret->bytes);
		ret->bytes = NULL;
	}
	return r;
}

/* Where the instruction at these bytes jumps to, if it is a jump; 0: it is none. */
static uint64_t jump_of_x86(const struct code *c, size_t i)
{
	const uint8_t *b = c->bytes + i;
	size_t left = (size_t)(c->end - c->start) - i, len;
	int32_t distance;

	if (left >= 5 && b[0] == 0xe9)
		len = 5; /* jmp */
	else if (left >= 6 && b[0] == 0x0f && (b[1] & 0xf0) == 0x80)
		len = 6; /* a condition */
	else
		return 0;
	memcpy(&distance, b + len - 4, sizeof(distance));
	return c->start + i + len + (uint64_t)(int64_t)distance;
}

static int64_t sign_extended(uint64_t v, unsigned bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static uint64_t jump_of_arm64(const struct code *c, size_t i)
{
	uint32_t w = 0;
	int64_t words;

	if (i % 4 == 0 && i + 4 <= (size_t)(c->end - c->start))
		memcpy(&w, c->bytes + i, sizeof(w));
	if ((w & 0xfc000000) == 0x14000000)
		words = sign_extended(w & 0x3ffffff, 26); /* b */
	else if ((w & 0xff000010) == 0x54000000 || (w & 0x7e000000) == 0x34000000)
		words = sign_extended(w >> 5 & 0x7ffff, 19); /* b.cond, cbz, cbnz */
	else
		return 0;
	return c->start + i + (uint64_t)(words * 4);
}

/* Where a call or the jump of a tail call goes; 0: it is none. */
static uint64_t call_at(const struct elf_layout *layout, const struct code *c, size_t i)
{
	size_t left = (size_t)(c->end - c->start) - i;
	int32_t distance = 0;

	if (left >= 4)
		memcpy(&distance, c->bytes + i, sizeof(distance));
	if (layout->machine == EM_AARCH64) {
		if (i % 4 != 0 || ((uint32_t)distance & 0x7c000000) != 0x14000000) /* b, bl */
			return 0;
		return c->start + i + (uint64_t)(sign_extended((uint32_t)distance, 26) * 4);
	}
	if (left < 5 || (c->bytes[i] != 0xe8 && c->bytes[i] != 0xe9))
		return 0;
	memcpy(&distance, c->bytes + i + 1, sizeof(distance));
	return c->start + i + 5 + (uint64_t)(int64_t)distance;
}

static uint64_t jump_at(const struct parts *p, const struct code *c, size_t i)
{
	return p->layout->machine == EM_AARCH64 ? jump_of_arm64(c, i) : jump_of_x86(c, i);
}

/* Whether code has enough jumps into the middle of [start, end). */
static bool jumps_into(const struct parts *p, const struct code *c, uint64_t start, uint64_t end)
{
	unsigned n = 0;

	for (size_t i = 0; i < (size_t)(c->end - c->start) && n < JUMPS_ENOUGH; i++) {
		uint64_t to = jump_at(p, c, i);

		n += to > start && to < end;
	}
	return n >= JUMPS_ENOUGH;
}

struct candidate {
	uint64_t start;
	uint64_t end;
	unsigned n_jumps; /* into the middle */
};

/* Returns false if there is no room. */
static bool count_candidate(struct candidate *c, unsigned *n, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < *n; i++) {
		if (c[i].start == start) {
			c[i].n_jumps++;
			return true;
		}
	}
	if (*n == CANDIDATES_MAX)
		return false;
	c[(*n)++] = (struct candidate){start, end, 1};
	return true;
}

static int jumps_back(const struct parts *p, const struct candidate *from, const struct code *to)
{
	struct code c;
	int r = read_code(p, from->start, from->end, &c);

	if (r == 0)
		r = jumps_into(p, &c, to->start, to->end);
	free(c.bytes);
	return r == -ENOENT ? 0 : r;
}

/* Adds the parts that code jumps into, and that jump back. */
static int add_jumped_to(struct parts *p, const struct code *code)
{
	struct candidate candidates[CANDIDATES_MAX] = {0};
	unsigned n = 0, n_jumps = 0;
	int r = 0;

	for (size_t i = 0; i < (size_t)(code->end - code->start) && n_jumps < JUMPS_MAX; i++) {
		uint64_t to = jump_at(p, code, i), start, end;

		if ((to >= code->start && to < code->end) || !elf_layout_is_text(p->layout, to))
			continue;
		n_jumps++;
		r = eh_function_before(p->layout, p->src, to, &start, &end);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0 && to > start && to < end &&
		    !count_candidate(candidates, &n, start, end))
			break;
	}
	r = 0;
	for (unsigned i = 0, n_read = 0; i < n && n_read < PARTS_MAX && r >= 0; i++) {
		if (candidates[i].n_jumps < JUMPS_ENOUGH)
			continue;
		n_read++;
		r = jumps_back(p, &candidates[i], code);
		if (r > 0)
			add(p, candidates[i].start, candidates[i].end);
	}
	return r < 0 ? r : 0;
}

/* The function itself, and if symbols have not said more, its parts. */
static int add_parts(struct parts *p, uint64_t function, bool knows_parts)
{
	struct code code;
	uint64_t start, end;
	int r = eh_function_before(p->layout, p->src, function, &start, &end);

	if (r < 0 || start != function)
		return r == -ENOENT ? 0 : r;
	add(p, start, end);
	if (knows_parts)
		return 0;
	r = read_code(p, start, end, &code);
	if (r == 0)
		r = add_jumped_to(p, &code);
	free(code.bytes);
	return r == -ENOENT ? 0 : r;
}

/* ---- calls ---- */

static bool is_among(const struct interpreter_range *ranges, size_t n, uint64_t start)
{
	for (size_t i = 0; i < n; i++) {
		if (ranges[i].start == start)
			return true;
	}
	return false;
}

int interpreter_calls_find(const struct elf_layout *layout, const struct byte_source *src,
			   uint64_t function, struct interpreter_range *ret, size_t max)
{
	struct parts p = {.layout = layout, .src = src};
	unsigned n_calls = 0;
	struct code code;
	uint64_t start, end;
	size_t n = 0;
	int r = eh_function_before(layout, src, function, &start, &end);

	if (r == 0)
		r = start == function ? read_code(&p, start, end, &code) : -ENOENT;
	if (r < 0)
		return r;
	for (size_t i = 0; i < (size_t)(end - start) && n < max && n_calls < JUMPS_MAX; i++) {
		uint64_t to = call_at(layout, &code, i);
		struct interpreter_range called;

		if (!elf_layout_is_text(layout, to) || (to >= start && to < end) ||
		    is_among(ret, n, to))
			continue;
		n_calls++;
		r = eh_function_before(layout, src, to, &called.start, &called.end);
		if (r < 0 && r != -ENOENT)
			break;
		if (r == 0 && called.start == to)
			ret[n++] = called;
		r = 0;
	}
	free(code.bytes);
	return r < 0 ? r : (int)n;
}

/* ---- together ---- */

static int compare_starts(const void *a, const void *b)
{
	const struct interpreter_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Joins ranges that overlap, or have no more than gap bytes between them. */
static void join(struct parts *p, uint64_t gap)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		struct interpreter_range *r = &p->ranges[i];

		if (n > 0 &&
		    (r->start < p->ranges[n - 1].end || r->start - p->ranges[n - 1].end <= gap)) {
			if (r->end > p->ranges[n - 1].end)
				p->ranges[n - 1].end = r->end;
		} else {
			p->ranges[n++] = *r;
		}
	}
	p->n = n;
}

int interpreter_loops_find(const struct elf_layout *layout, const struct byte_source *src,
			   const uint64_t *functions, size_t n_functions,
			   interpreter_is_loop_fn *is_loop,
			   struct interpreter_range ranges[CHAIN_RANGES])
{
	AUTO_FREE struct interpreter_range *all = calloc(RANGES_MAX, sizeof(*all));
	struct parts p = {.layout = layout, .src = src, .is_loop = is_loop, .ranges = all};
	bool knows_parts;
	int r;

	if (!all)
		return -ENOMEM;
	r = add_symbols(&p, &layout->sections[ELF_SECTION_SYMTAB]);
	knows_parts = p.n > n_functions;
	for (size_t i = 0; i < n_functions && r == 0; i++)
		r = add_parts(&p, functions[i], knows_parts);
	if (r == 0 && p.n == 0)
		r = add_symbols(&p, &layout->sections[ELF_SECTION_DYNSYM]);
	if (r < 0)
		return r;
	heap_sort(p.ranges, p.n, sizeof(*p.ranges), compare_starts);
	for (uint64_t gap = GAP_MAX; join(&p, gap), p.n > CHAIN_RANGES; gap *= 2)
		;
	memcpy(ranges, p.ranges, p.n * sizeof(*ranges));
	return p.n > 0 ? (int)p.n : -ENOENT;
}
