#include "node-agent/heap/go_image.h"

#include <errno.h>

#include "node-agent/heap/go_code.h"
#include "node-agent/symbol/elf_symbols.h"

#define FUNCTION_MAX_BYTES 65536u
#define REFS_MAX 512u
#define WORD_BYTES 8u
#define SCAN_STEP_BYTES 4096u
#define USER_ADDRESS_MIN UINT64_C(0x10000)
#define USER_ADDRESS_MAX (UINT64_C(1) << 47)

/* One executable in work; refs is for the functions. */
struct locating {
	const struct go_image *image;
	struct go_module module;
	struct go_ref refs[REFS_MAX];
	struct go_ref others[REFS_MAX];
	uint8_t code[FUNCTION_MAX_BYTES];
};

static bool is_writable(const struct go_image *image, uint64_t address)
{
	uint64_t vaddr = address - image->bias;

	for (uint32_t i = 0; i < image->layout->n_segments; i++) {
		const struct elf_segment *s = &image->layout->segments[i];

		if (s->writable && vaddr >= s->vaddr && vaddr - s->vaddr < s->memory_bytes &&
		    s->memory_bytes - (vaddr - s->vaddr) >= WORD_BYTES)
			return true;
	}
	return false;
}

/* ---- module data ---- */

/* Where a section or a symbol says that it is. */
static int find_named_module(struct locating *l)
{
	const struct go_image *im = l->image;
	const struct elf_section *own = &im->layout->sections[ELF_SECTION_GO_MODULE];
	uint64_t vaddr = 0;
	int r = -ENOENT;

	if (own->size_bytes > 0)
		r = go_module_parse(&l->module, im->memory, own->vaddr + im->bias, im->minor);
	if (r == 0)
		return 0;
	r = elf_symbol_address(im->layout, im->file, "runtime.firstmoduledata", &vaddr);
	if (r == 0)
		r = go_module_parse(&l->module, im->memory, vaddr + im->bias, im->minor);
	return r;
}

static int find_module(struct locating *l)
{
	const struct elf_layout *layout = l->image->layout;
	int r = find_named_module(l);

	for (uint32_t i = 0; r < 0 && r != -ENOMEM && i < layout->n_segments; i++) {
		const struct elf_segment *s = &layout->segments[i];
		const struct go_range range = {
			.start = s->vaddr + l->image->bias,
			.end = s->vaddr + l->image->bias + s->file_bytes,
		};

		if (s->writable)
			r = go_module_scan(&l->module, l->image->memory, &range, l->image->minor);
	}
	return r;
}

/* ---- variables ---- */

/* References of a function to writable data. Their number, or -errno. */
static int read_refs(struct locating *l, const char *name, struct go_ref *refs)
{
	const struct go_image *im = l->image;
	struct gopclntab_function f;
	size_t len, n, kept = 0;
	int r;

	r = gopclntab_find_named(&l->module.table, im->memory, name, &f);
	if (r < 0)
		return r;
	if (f.end <= f.start || f.end - f.start > FUNCTION_MAX_BYTES)
		return -ENOENT;
	len = (size_t)(f.end - f.start);
	r = byte_source_read(im->memory, f.start, l->code, len);
	if (r < 0)
		return r;
	n = go_code_refs(im->layout->machine, l->code, len, f.start, refs, REFS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (is_writable(im, refs[i].target))
			refs[kept++] = refs[i];
	}
	return (int)kept;
}

static bool is_word_load(const struct go_ref *r)
{
	return r->kind == GO_REF_LOAD && r->size_bytes == WORD_BYTES;
}

static bool is_among(const struct go_ref *r, const struct go_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (is_word_load(&refs[i]) && refs[i].target == r->target)
			return true;
	}
	return false;
}

/* The one word that is loaded, among those in others if there are any. -ENOENT: none, or several. */
static int only_load(const struct go_ref *refs, size_t n, const struct go_ref *others,
		     size_t n_others, uint64_t *ret)
{
	uint64_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_word_load(&refs[i]) || (others && !is_among(&refs[i], others, n_others)))
			continue;
		if (found != 0 && found != refs[i].target)
			return -ENOENT;
		found = refs[i].target;
	}
	if (found == 0)
		return -ENOENT;
	*ret = found;
	return 0;
}

/* mProf_FlushLocked walks the list and loads nothing else of this size. */
static int find_buckets_in_code(struct locating *l, uint64_t *ret)
{
	int n = read_refs(l, "runtime.mProf_FlushLocked", l->refs);

	return n < 0 ? n : only_load(l->refs, (size_t)n, NULL, 0, ret);
}

/* Both functions load the rate, and no other word. */
static int find_rate_in_code(struct locating *l, uint64_t *ret)
{
	int n = read_refs(l, "runtime.profilealloc", l->refs), n_others;

	if (n < 0)
		return n;
	n_others = read_refs(l, "runtime.allocmcache", l->others);
	if (n_others < 0)
		return n_others;
	return only_load(l->refs, (size_t)n, l->others, (size_t)n_others, ret);
}

/*
 * The byte is looked at just before the rate is set to 0: in schedinit since 1.20, before in the
 * package's initialisation.
 */
static int find_disabled_in_code(struct locating *l, uint64_t rate, uint64_t *ret)
{
	const char *name = l->image->minor >= 20 ? "runtime.schedinit" : "runtime.init";
	int n = read_refs(l, name, l->refs);

	for (int i = 1; i < n; i++) {
		if (l->refs[i].kind != GO_REF_STORE || l->refs[i].target != rate)
			continue;
		for (int back = i - 1; back >= 0 && back >= i - 3; back--) {
			if (l->refs[back].kind != GO_REF_LOAD || l->refs[back].size_bytes != 1)
				continue;
			*ret = l->refs[back].target;
			return 0;
		}
	}
	return n < 0 ? n : -ENOENT;
}

static int find_disabled(struct locating *l, uint64_t rate, uint64_t *ret)
{
	const struct go_image *im = l->image;
	uint64_t address = 0;
	int r;

	r = elf_symbol_address(im->layout, im->file, "runtime.disableMemoryProfiling", &address);
	if (r == 0 && is_writable(im, address + im->bias)) {
		*ret = address;
		return 0;
	}
	r = find_disabled_in_code(l, rate + im->bias, &address);
	if (r == 0)
		*ret = address - im->bias;
	return r;
}

typedef int find_fn(struct locating *l, uint64_t *ret);

/* By symbol or by code. *ret is without the bias. */
static int find_variable(struct locating *l, const char *symbol, find_fn *in_code, uint64_t *ret)
{
	const struct go_image *im = l->image;
	uint64_t vaddr = 0;
	int r;

	r = elf_symbol_address(im->layout, im->file, symbol, &vaddr);
	if (r == 0 && is_writable(im, vaddr + im->bias)) {
		*ret = vaddr;
		return 0;
	}
	r = in_code(l, &vaddr);
	if (r == 0)
		*ret = vaddr - im->bias;
	return r;
}

int go_image_locate(const struct go_image *image, struct go_addresses *ret)
{
	AUTO_FREE struct locating *l = calloc(1, sizeof(*l));
	struct go_addresses at = {0};
	int r;

	if (!l)
		return -ENOMEM;
	l->image = image;
	r = find_module(l);
	if (r < 0)
		return r;
	at.module = l->module.address - image->bias;
	r = find_variable(l, "runtime.MemProfileRate", find_rate_in_code, &at.rate);
	if (r < 0)
		return r;
	r = find_variable(l, "runtime.mbuckets", find_buckets_in_code, &at.buckets);
	if (r == 0 || r == -ENOENT)
		r = find_disabled(l, at.rate, &at.disabled);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = at;
	return 0;
}

int go_image_modules(const struct go_image *image, const struct go_addresses *at,
		     struct go_module *modules, size_t max)
{
	uint64_t address = at->module + image->bias;
	size_t n = 0;

	while (address != 0 && n < max) {
		int r = go_module_parse(&modules[n], image->memory, address, image->minor);

		if (r < 0)
			return n > 0 && r == -ENOENT ? (int)n : r;
		address = modules[n++].next;
	}
	return (int)n;
}

/* ---- by the hashes ---- */

struct scan {
	struct memory_windows *w;
	const struct heap_bucket_format *format;
	struct heap_bucket bucket;
	uint64_t found; /* address of the variable; 0: none yet */
};

/* The words of a piece of data. -EEXIST: a second one. */
static int scan_words(struct scan *s, const uint64_t *words, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = words[i];
		int r;

		if (v < USER_ADDRESS_MIN || v >= USER_ADDRESS_MAX || v % WORD_BYTES != 0)
			continue;
		r = heap_bucket_read(s->w, s->format, v, &s->bucket);
		if (r == -EFBIG || r == -ENOMEM)
			return r;
		if (r < 0 && r != -EAGAIN)
			continue;
		if (s->found != 0)
			return -EEXIST;
		s->found = address + i * WORD_BYTES;
	}
	return 0;
}

static int scan_range(struct scan *s, const struct go_range *range)
{
	uint64_t words[SCAN_STEP_BYTES / WORD_BYTES];
	uint64_t start = (range->start + WORD_BYTES - 1) & ~(uint64_t)(WORD_BYTES - 1);
	uint64_t end = range->end;

	if (end > start && end - start > GO_IMAGE_SCAN_MAX_BYTES)
		end = start + GO_IMAGE_SCAN_MAX_BYTES;
	for (uint64_t at = start; at < end; at += sizeof(words)) {
		size_t len = end - at < sizeof(words) ? (size_t)(end - at) : sizeof(words);
		int r = memory_windows_read_now(s->w, at, words, len);

		if (r == 0)
			r = scan_words(s, words, len / WORD_BYTES, at);
		if (r < 0)
			return r;
	}
	return 0;
}

int go_image_scan_buckets(struct memory_windows *w, const struct go_module *module,
			  const struct heap_bucket_format *format, uint64_t *ret)
{
	AUTO_FREE struct scan *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->w = w;
	s->format = format;
	/* bss since 1.19, noptrbss before */
	for (size_t i = 2; r == 0 && i < ARRAY_SIZE(module->data); i++)
		r = scan_range(s, &module->data[i]);
	if (r < 0)
		return r == -EEXIST ? -ENOENT : r;
	if (s->found == 0)
		return -ENOENT;
	*ret = s->found;
	return 0;
}
