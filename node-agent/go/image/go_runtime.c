/*
 * A variable is found by its symbol; in a stripped program by the code of functions that use
 * it, whose names the pclntab always has (go_refs.h). Both are slow (thousands of symbols, a
 * linear search for a function name), so the result is kept with the executable for all
 * processes that run it, as an address without the load bias.
 *
 * What is cached could come from a process that changed its own code or data to mislead us.
 * The cache therefore is valid only for processes with the same shape: equal places of code,
 * data and tables (go_module_shape()). Within one shape a wrong address can still be planted,
 * so every user validates what it finds there, and nothing is written by a cached address.
 *
 * Tables are read from the file where possible, as the same bytes then serve all processes,
 * and from memory otherwise.
 */
#include "node-agent/go/image/go_runtime.h"

#include <errno.h>

#include "common/elf/elf_symbols.h"
#include "common/system/clock.h"
#include "node-agent/go/pclntab/go_frames.h"

static int open_sources(struct go_runtime *rt, const struct program_target *t)
{
	int r;

	rt->image = (struct go_image){
		.layout = &t->layout,
		.file = &t->file,
		.memory = &t->memory,
		.bias = t->bias,
		.minor = rt->executable->minor,
	};
	byte_source_from_image(&rt->constants, &rt->image);
	r = page_cache_new(&rt->constants_pages, &rt->constants);
	if (r == 0)
		r = page_cache_new(&rt->memory_pages, &t->memory);
	if (r < 0)
		return r;
	byte_source_from_pages(&rt->file_tables, rt->constants_pages);
	byte_source_from_pages(&rt->memory_tables, rt->memory_pages);
	return 0;
}

/* Empties the cache if it was filled by a process whose code and data lie elsewhere. */
static void compare_shape(struct go_runtime *rt)
{
	const struct go_module_shape shape = go_module_shape(&rt->modules[0], rt->image.bias);
	struct go_executable *x = rt->executable;

	if (memcmp(&x->module, &shape, sizeof(shape)) == 0)
		return;
	x->module = shape;
	x->searched = UINT32_C(1) << GO_MODULE_DATA;
}

/* If the cached address is wrong for this process, searches its memory. */
static int find_modules(struct go_runtime *rt)
{
	uint64_t bias = rt->image.bias, address = rt->executable->at[GO_MODULE_DATA] + bias;
	int r = go_image_modules(&rt->image, &rt->constants, address, rt->modules,
				 GO_IMAGE_MODULES_MAX);

	if (r == -ENOENT) {
		r = go_image_find_module(&rt->image, &rt->constants, &address);
		if (r == 0)
			r = go_image_modules(&rt->image, &rt->constants, address, rt->modules,
					     GO_IMAGE_MODULES_MAX);
		if (r > 0)
			rt->executable->at[GO_MODULE_DATA] = address - bias;
	}
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	rt->n_modules = (size_t)r;
	compare_shape(rt);
	/* from here on tables are read through pages, which pay off only for many reads */
	for (size_t i = 0; i < rt->n_modules; i++) {
		rt->text[i] = rt->modules[i].text;
		rt->modules[i].source =
			rt->modules[i].in_file ? &rt->file_tables : &rt->memory_tables;
	}
	return 0;
}

int go_runtime_open(struct go_runtime **ret, const struct program_target *t,
		    struct go_executables *x, struct memory_windows *w)
{
	CLEANUP(go_runtime_closep) struct go_runtime *rt = calloc(1, sizeof(*rt));
	int r;

	if (!rt)
		return -ENOMEM;
	r = go_executables_get(x, t, &rt->executable);
	if (r == 0)
		r = open_sources(rt, t);
	if (r == 0)
		r = find_modules(rt);
	if (r < 0)
		return r;
	rt->target = t;
	rt->windows = w;
	rt->deadline_ns = clock_effort_ns() + GO_RUNTIME_NAMES_MAX_NS;
	memory_windows_begin(w, &t->memory, GO_RUNTIME_MAX_BYTES);
	*ret = TAKE_PTR(rt);
	return 0;
}

void go_runtime_close(struct go_runtime *rt)
{
	if (!rt)
		return;
	if (rt->windows)
		memory_windows_end(rt->windows);
	page_cache_free(rt->constants_pages);
	page_cache_free(rt->memory_pages);
	free(rt);
}

bool go_runtime_is_data(const struct go_runtime *rt, uint64_t address, size_t len)
{
	return go_module_has_data(&rt->modules[0], address, len);
}

static int find_symbol(const struct go_runtime *rt, const char *symbol, uint64_t *ret)
{
	const struct go_image *im = &rt->image;
	CLEANUP(page_cache_freep) struct page_cache *pages = NULL;
	struct byte_source file;
	int r;

	/* thousands of names are compared, one after the other */
	r = page_cache_new(&pages, im->file);
	if (r < 0)
		return r;
	byte_source_from_pages(&file, pages);
	r = elf_symbol_address(im->layout, &file, symbol, ret);
	if (r < 0)
		return r;
	*ret += im->bias;
	return go_runtime_is_data(rt, *ret, 1) ? 0 : -ENOENT;
}

/* Sets *ret to 0 if the variable cannot be found. */
static int search(struct go_runtime *rt, const char *symbol, go_find_fn *in_code, uint64_t *ret)
{
	int r = -ENOENT;

	*ret = 0;
	if (symbol)
		r = find_symbol(rt, symbol, ret);
	if (r == -ENOENT)
		r = in_code ? in_code(rt, ret) : -ENOENT;
	if (r == -ENOENT)
		*ret = 0;
	return r == -ENOENT ? 0 : r;
}

int go_runtime_find(struct go_runtime *rt, enum go_variable v, const char *symbol,
		    go_find_fn *in_code, uint64_t *ret)
{
	struct go_executable *x = rt->executable;
	uint64_t address;
	int r;

	if (rt->uncached || !(x->searched >> v & 1)) {
		r = search(rt, symbol, in_code, &address);
		if (r < 0)
			return r;
	} else {
		address = x->at[v] != 0 ? x->at[v] + rt->image.bias : 0;
	}
	if (!rt->uncached) {
		x->at[v] = address != 0 ? address - rt->image.bias : 0;
		x->searched |= UINT32_C(1) << v;
	}
	if (address == 0)
		return -ENOENT;
	*ret = address;
	return 0;
}

void go_runtime_forget(struct go_runtime *rt, enum go_variable v)
{
	rt->executable->searched &= ~(UINT32_C(1) << v);
}

int go_runtime_resolver(struct go_runtime *rt, struct frame_resolver *ret)
{
	const struct go_frames_process process = {
		.pid = rt->target->pid,
		.start_time = rt->target->start_time,
		.modules = rt->modules,
		.n_modules = rt->n_modules,
		.bias = rt->image.bias,
		.minor = rt->image.minor,
		.deadline_ns = rt->deadline_ns,
	};
	int r = go_frames_begin(rt->executable->frames, &process);

	if (r == 0)
		*ret = go_frames_resolver(rt->executable->frames);
	return r;
}
