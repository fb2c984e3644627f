#include "cluster-agent/operator/spec/spec_problems.h"

#include <errno.h>
#include <stdarg.h>

#include "common/text/utf8.h"

#define TEXT_BYTES 257 /* with the NUL */

static char *copy_printable(const char *text)
{
	char clean[TEXT_BYTES];
	size_t len = strnlen(text, TEXT_BYTES - 1);

	memcpy(clean, text, len);
	clean[utf8_make_printable(clean, len)] = '\0';
	return strdup(clean);
}

/* text may be NULL. */
static int add(struct spec_problem_list *list, const char *path, const char *text)
{
	AUTO_FREE char *path_copy = NULL, *text_copy = NULL;

	if (list->n == SPEC_PROBLEMS_MAX) {
		list->n_more++;
		return 0;
	}
	path_copy = copy_printable(path);
	text_copy = text ? copy_printable(text) : NULL;
	if (!path_copy || (text && !text_copy))
		return -ENOMEM;
	list->at[list->n++] =
		(struct spec_problem){.path = TAKE_PTR(path_copy), .text = TAKE_PTR(text_copy)};
	return 0;
}

int spec_problems_wrong(struct spec_problems *p, const char *path, const char *fmt, ...)
{
	char text[2 * TEXT_BYTES] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return add(&p->wrong, path, text);
}

int spec_problems_unused(struct spec_problems *p, const char *path, const char *why)
{
	return add(&p->unused, path, why);
}

static void clear(struct spec_problem_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->at[i].path);
		free(list->at[i].text);
	}
	*list = (struct spec_problem_list){.n = 0};
}

void spec_problems_fini(struct spec_problems *p)
{
	clear(&p->wrong);
	clear(&p->unused);
}
