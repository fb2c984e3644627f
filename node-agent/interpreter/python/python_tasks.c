/*
 * The description is _AsyncioDebug of Modules/_asynciomodule.c, the only thing in its section. It
 * has no cookie and no version, so that it fits is what it is believed by.
 */
#include "node-agent/interpreter/python/python_tasks.h"

#include <errno.h>

#define TASK_BYTES_MAX 256u /* of which the walk can read the fields at once */
#define THREAD_BYTES_MAX 65536u
#define TASK_NAME_BYTES 96u
#define NUMBER_BYTES_MIN 8u /* of one in hexadecimal, as ids are */

enum word {
	W_TASK_BYTES,
	W_NAME,
	W_AWAITED_BY,
	W_IS_TASK,
	W_IS_SET,
	W_COROUTINE,
	W_NODE,
	W_INTERPRETER_BYTES,
	W_INTERPRETER_TASKS,
	W_THREAD_BYTES,
	W_LOOP,
	W_RUNNING,
	W_THREAD_TASKS,
	WORDS,
};

static bool is_within(uint64_t at, uint64_t bytes, uint64_t end)
{
	return at <= end && end - at >= bytes;
}

/* The walk reads a task from awaited_by up to the name. */
static bool fits(const uint64_t *w)
{
	uint64_t from = w[W_AWAITED_BY], end = w[W_NAME] + sizeof(uint64_t);

	if (w[W_TASK_BYTES] > TASK_BYTES_MAX || w[W_THREAD_BYTES] > THREAD_BYTES_MAX)
		return false;
	return is_within(w[W_NAME], 8, w[W_TASK_BYTES]) && from <= w[W_NAME] &&
	       w[W_IS_TASK] >= from && is_within(w[W_IS_TASK], 1, end) && w[W_IS_SET] >= from &&
	       is_within(w[W_IS_SET], 1, end) && w[W_COROUTINE] >= from &&
	       is_within(w[W_COROUTINE], 8, end) &&
	       ((from | w[W_NAME] | w[W_COROUTINE] | w[W_RUNNING]) & 7) == 0 &&
	       is_within(w[W_RUNNING], 8, w[W_THREAD_BYTES]);
}

int python_tasks_read(const struct elf_layout *layout, const struct byte_source *src,
		      struct python_tasks *ret)
{
	const struct elf_section *s = &layout->sections[ELF_SECTION_ASYNCIO];
	uint64_t words[WORDS];
	int r;

	*ret = (struct python_tasks){0};
	if (s->size_bytes == 0)
		return -ENOENT;
	if (s->size_bytes < sizeof(words) || s->compressed)
		return -ENOTSUP;
	r = byte_source_read(src, s->offset, words, sizeof(words));
	if (r < 0 || !fits(words))
		return r < 0 ? r : -ENOTSUP;
	*ret = (struct python_tasks){
		.awaited_by = (uint16_t)words[W_AWAITED_BY],
		.is_task = (uint16_t)words[W_IS_TASK],
		.is_set = (uint16_t)words[W_IS_SET],
		.coroutine = (uint16_t)words[W_COROUTINE],
		.name = (uint16_t)words[W_NAME],
		.running = (uint16_t)words[W_RUNNING],
	};
	return 0;
}

bool python_tasks_add(const struct interpreter_image *image, uint64_t bias,
		      const struct python_tasks *t, struct chain_layout *layout,
		      struct interpreter_root *ret_running)
{
	if (image->language != INTERPRETER_PYTHON || image->tasks.frame == 0 || t->running == 0)
		return false;
	layout->flags |= CHAIN_HAS_TASKS;
	layout->tasks = image->tasks;
	layout->tasks.awaited_by = t->awaited_by;
	layout->tasks.is_task = t->is_task;
	layout->tasks.is_set = t->is_set;
	layout->tasks.coroutine = t->coroutine;
	layout->tasks.name = t->name;
	layout->tasks.coroutine_type += bias;
	layout->tasks.text_type += bias;
	*ret_running = image->roots[0];
	ret_running->anchor = 0;
	ret_running->n_steps = 1;
	ret_running->steps[0] = t->running;
	return true;
}

/* ---- names ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return ((unsigned char)c | 32) >= 'a' && ((unsigned char)c | 32) <= 'z';
}

/* Bytes of a number at the start of a text: of digits, or, if it is a long one, in hexadecimal. */
static size_t number_bytes(const char *text, bool is_word)
{
	size_t n = is_word ? strspn(text, "0123456789abcdefABCDEF-") : 0;

	if (n >= NUMBER_BYTES_MIN && strcspn(text, "0123456789") < n && !is_letter(text[n]))
		return n;
	return strspn(text, "0123456789");
}

static void without_numbers(char *text)
{
	bool is_word = true; /* one may begin here */
	char *to = text;

	for (const char *from = text; *from;) {
		size_t n = number_bytes(from, is_word);

		is_word = n == 0 && !is_letter(*from) && !is_digit(*from);
		*to++ = n > 0 ? '#' : *from;
		from += n > 0 ? n : 1;
	}
	*to = '\0';
}

/* One that asyncio has made, which is a text once the program has asked for it. */
static bool is_made_by_asyncio(const char *text)
{
	static const char start[] = "Task-";
	const size_t n = sizeof(start) - 1;

	return strncmp(text, start, n) == 0 && is_digit(text[n]) &&
	       text[n + strspn(text + n, "0123456789")] == '\0';
}

static int check(const struct python_memory *m, const struct interpreter_frame *f)
{
	uint64_t bytes, word;
	int r = interpreter_read(m->memory, f->code + m->layout->str_length, &bytes, sizeof(bytes));

	if (r == 0)
		r = interpreter_read(m->memory, f->code + m->layout->str_ascii, &word,
				     sizeof(word));
	return r < 0 ? r : chain_check_text(bytes, word) == f->check ? 0 : -ESTALE;
}

int python_task_name_read(const struct python_memory *m, const struct interpreter_frame *f,
			  struct interpreter_name *ret)
{
	static const char *const left_out[CHAIN_AT_TASKS_END] = {
		[CHAIN_AT_TASKS_SEVERAL] = "(awaited by several tasks)",
		[CHAIN_AT_TASKS_UNREADABLE] = "(awaited by a task that cannot be read)",
		[CHAIN_AT_TASKS_MANY] = "(awaited by too many tasks)",
	};
	char name[TASK_NAME_BYTES];
	int r = 0;

	*ret = (struct interpreter_name){.file = "[interpreter]"};
	if (f->at >= CHAIN_AT_TASKS_END)
		return -EBADMSG;
	if (left_out[f->at]) {
		(void)snprintf(ret->function, sizeof(ret->function), "%s", left_out[f->at]);
		return 0;
	}
	r = python_str_read(m, f->code, name, sizeof(name));
	if (r == 0)
		r = check(m, f);
	if (r == 0 && is_made_by_asyncio(name))
		r = -ENODATA;
	if (r < 0)
		return r;
	without_numbers(name);
	(void)snprintf(ret->function, sizeof(ret->function), "(task %s)", name);
	return 0;
}
