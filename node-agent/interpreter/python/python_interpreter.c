/*
 * A file has CPython if it has _PyRuntime (since 3.7) and the interpreter loop, whatever it is
 * called: a library, a program that has it built in, or one that was made of it.
 */
#include "node-agent/interpreter/python/python_interpreter.h"

#include <errno.h>

#include "node-agent/interpreter/interpreter_loops.h"
#include "node-agent/interpreter/interpreter_symbols.h"
#include "node-agent/interpreter/python/python_names.h"
#include "node-agent/interpreter/python/python_offsets.h"
#include "node-agent/interpreter/python/python_thread_key.h"

#define RELEASE_CANDIDATE 0xcu /* of PY_VERSION_HEX; what is earlier has no fixed layout */

#define MINOR_GC_OF_INTERPRETER 9u /* each interpreter has its own garbage */
#define MINOR_CURRENT 12u          /* a thread-local variable has the current state */

enum symbol {
	SYMBOL_LOOP,
	SYMBOL_RUNTIME,
	SYMBOL_KEY_GETTER,
	SYMBOL_STATE_GETTER,
	SYMBOL_CURRENT, /* which thread's state has the GIL: 3.6 */
	SYMBOL_VERSION,
	SYMBOL_CODE_TYPE,
	SYMBOL_STR_TYPE,
	SYMBOL_BYTES_TYPE,
	SYMBOL_COROUTINE_TYPE,
	SYMBOL_TRACED_OBJECTS, /* builds whose objects are in a list: other offsets until 3.12 */
	SYMBOL_JIT,
	SYMBOL_3_8,
	SYMBOL_3_9,
	SYMBOL_3_10,
	SYMBOLS,
};

static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_LOOP] = "_PyEval_EvalFrameDefault",
	[SYMBOL_RUNTIME] = "_PyRuntime",
	[SYMBOL_KEY_GETTER] = "PyGILState_GetThisThreadState",
	[SYMBOL_STATE_GETTER] = "_PyThreadState_GetCurrent",
	[SYMBOL_CURRENT] = "_PyThreadState_Current",
	[SYMBOL_VERSION] = "Py_Version",
	[SYMBOL_CODE_TYPE] = "PyCode_Type",
	[SYMBOL_STR_TYPE] = "PyUnicode_Type",
	[SYMBOL_BYTES_TYPE] = "PyBytes_Type",
	[SYMBOL_COROUTINE_TYPE] = "PyCoro_Type",
	[SYMBOL_TRACED_OBJECTS] = "_Py_PrintReferences",
	[SYMBOL_JIT] = "_PyOptimizer_Optimize",
	[SYMBOL_3_8] = "PyCode_NewWithPosOnlyArgs",
	[SYMBOL_3_9] = "PyFrame_GetBack",
	[SYMBOL_3_10] = "Py_NewRef",
};

/* A file, and what was found in it. */
struct file {
	const struct elf_layout *layout;
	const struct byte_source *src;
	uint64_t symbols[SYMBOLS];
};

static int find_symbols(struct file *f)
{
	int r = interpreter_symbols_find(f->layout, f->src, symbol_names, f->symbols, SYMBOLS);

	return r < 0 ? r : f->symbols[SYMBOL_LOOP] != 0 ? 0 : -ENOENT;
}

static int read_at(const struct file *f, uint64_t vaddr, void *to, size_t len)
{
	uint64_t offset;
	int r = elf_layout_offset(f->layout, vaddr, &offset);

	if (r == 0)
		r = byte_source_read(f->src, offset, to, len);
	return r == -ENOENT || r == -ENODATA ? -ENOTSUP : r;
}

/* Releases without Py_Version are told by functions that the next one added. */
static unsigned old_minor(const struct file *f)
{
	if (f->symbols[SYMBOL_3_10])
		return 10;
	if (f->symbols[SYMBOL_3_9])
		return 9;
	if (f->symbols[SYMBOL_3_8])
		return 8;
	return f->symbols[SYMBOL_RUNTIME] ? 7 : 6;
}

static int find_offsets(const struct file *f, struct python_offsets *ret)
{
	uint8_t description[PYTHON_DESCRIPTION_BYTES];
	unsigned minor = 0;
	uint32_t version;
	int r;

	if (f->symbols[SYMBOL_VERSION] == 0) {
		minor = old_minor(f);
	} else {
		r = read_at(f, f->symbols[SYMBOL_VERSION], &version, sizeof(version));
		if (r < 0)
			return r;
		minor = version >> 16 & 0xff;
		if (version >> 24 != 3 || (version >> 4 & 0xf) < RELEASE_CANDIDATE)
			return -ENOTSUP;
	}
	if (minor < PYTHON_MINOR_DESCRIBED)
		return f->symbols[SYMBOL_TRACED_OBJECTS] ? -ENOTSUP
							 : python_offsets_of_release(minor, ret);
	r = read_at(f, f->symbols[SYMBOL_RUNTIME], description, sizeof(description));
	return r < 0 ? r : python_offsets_described(description, version, ret);
}

static struct interpreter_root root_of(const struct python_thread_offsets *t,
				       enum interpreter_root_kind kind, uint64_t vaddr)
{
	struct interpreter_root root = {
		.kind = kind,
		.vaddr = vaddr,
		.n_steps = t->n_steps,
		.anchor = t->has_anchor,
	};

	for (unsigned i = 0; i < t->n_steps; i++)
		root.steps[i] = t->steps[i];
	return root;
}

/*
 * Until 3.11 the state that was made for a thread is found by a key. Since 3.12 a thread-local
 * variable has the current one, which a thread that has released the GIL does not have; it keeps
 * the first one: by the key, and since 3.15 by another variable.
 */
static int find_roots(const struct file *f, const struct python_offsets *o,
		      struct interpreter_image *ret)
{
	const struct python_key_search search = {f->symbols[SYMBOL_KEY_GETTER],
						 f->symbols[SYMBOL_RUNTIME]};
	enum interpreter_root_kind kind =
		f->symbols[SYMBOL_RUNTIME] ? INTERPRETER_ROOT_KEY_MADE : INTERPRETER_ROOT_KEY;
	unsigned n = 0;
	uint64_t key;
	int r = -ENOENT;

	if (o->objects.minor >= MINOR_CURRENT && f->symbols[SYMBOL_STATE_GETTER])
		ret->roots[n++] = root_of(&o->thread, INTERPRETER_ROOT_GETTER,
					  f->symbols[SYMBOL_STATE_GETTER]);
	if (search.function && o->objects.minor >= 15)
		ret->roots[n++] = root_of(&o->thread, INTERPRETER_ROOT_GETTER, search.function);
	else if (search.function)
		r = python_thread_key_find(f->layout, f->src, &search, &key);
	if (r == 0)
		ret->roots[n++] = root_of(&o->thread, kind, key);
	else if (r != -ENOENT)
		return r;
	return n > 0 ? 0 : -ENOTSUP;
}

/* From the same variable as the frames, but to another word. */
static struct interpreter_root state_of(const struct interpreter_root *root,
					const struct python_thread_offsets *t, bool collecting)
{
	struct interpreter_root state = {.kind = root->kind, .vaddr = root->vaddr};

	if (collecting) {
		state.n_steps = 2;
		state.steps[0] = t->interpreter;
		state.steps[1] = t->collecting;
	}
	return state;
}

static struct interpreter_root global(uint64_t vaddr, bool of_this_thread)
{
	return (struct interpreter_root){
		.kind = INTERPRETER_ROOT_GLOBAL, .vaddr = vaddr, .of_this_thread = of_this_thread};
}

/* Whether a thread has the GIL, and its interpreter collects garbage, as far as a word says so. */
static void find_states(const struct file *f, const struct python_offsets *o,
			struct interpreter_image *ret)
{
	struct interpreter_root *collects = &ret->states[CHAIN_COLLECTS];
	struct interpreter_root *holds = &ret->states[CHAIN_HOLDS_LOCK];
	const struct python_thread_offsets *t = &o->thread;

	ret->state_shifts[CHAIN_COLLECTS] = 32; /* an int */
	if (o->objects.minor >= MINOR_CURRENT && !f->symbols[SYMBOL_STATE_GETTER])
		return;
	if (t->collecting != 0)
		*collects = o->objects.minor >= MINOR_GC_OF_INTERPRETER
				    ? state_of(&ret->roots[0], t, true)
				    : global(f->symbols[SYMBOL_RUNTIME] + t->collecting, false);
	if (!t->has_gil)
		return;
	if (o->objects.minor >= MINOR_CURRENT)
		*holds = state_of(&ret->roots[0], t, false);
	else if (t->key_to_current != 0)
		*holds = global(ret->roots[0].vaddr - t->key_to_current, true);
	else if (f->symbols[SYMBOL_CURRENT])
		*holds = global(f->symbols[SYMBOL_CURRENT], true);
}

static bool is_loop(const char *name)
{
	static const char tail[] = "_TAIL_CALL_";

	return strncmp(name, tail, sizeof(tail) - 1) == 0 ||
	       interpreter_is_part(name, symbol_names[SYMBOL_LOOP]);
}

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	struct file f = {.layout = layout, .src = src};
	struct python_offsets offsets;
	int r = find_symbols(&f);

	if (r < 0)
		return r;
	r = find_offsets(&f, &offsets);
	if (r < 0)
		return r;
	if (!f.symbols[SYMBOL_CODE_TYPE])
		return -ENOTSUP;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_PYTHON,
		.frames = offsets.frames,
		.texts = {offsets.objects.code_qualname ?: offsets.objects.code_name,
			  offsets.objects.code_filename, offsets.objects.code_lines},
		.flags = f.symbols[SYMBOL_JIT] ? CHAIN_ANONYMOUS_IS_LOOP : 0,
		.python = offsets.objects,
	};
	/* the thread's state is found by a getter, as the task is */
	if (f.symbols[SYMBOL_STATE_GETTER] && f.symbols[SYMBOL_COROUTINE_TYPE])
		ret->tasks = offsets.tasks;
	ret->tasks.coroutine_type = f.symbols[SYMBOL_COROUTINE_TYPE];
	ret->tasks.text_type = f.symbols[SYMBOL_STR_TYPE];
	ret->python.code_type = f.symbols[SYMBOL_CODE_TYPE];
	ret->python.str_type = f.symbols[SYMBOL_STR_TYPE];
	ret->python.bytes_type = f.symbols[SYMBOL_BYTES_TYPE];
	r = interpreter_loops_find(layout, src, &f.symbols[SYMBOL_LOOP], 1, is_loop, ret->loops);
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	ret->n_loops = (uint32_t)r;
	r = find_roots(&f, &offsets, ret);
	if (r == 0)
		find_states(&f, &offsets, ret);
	return r;
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	return python_name_read(&image->python, bias, memory, f, ret);
}

const struct interpreter_ops python_interpreter_ops = {"python", "_PyEval_EvalFrameDefault",
						       recognise, name_frame};
