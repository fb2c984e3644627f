/*
 * Plain text, too, is a pattern of PCRE2, taken literally: it then ignores case in every script, as
 * the page does. Names are compared as UTF-8 and may contain bytes that are not.
 *
 * A pattern comes from whoever asks. PCRE2's just-in-time compiler is not used: it would need
 * executable memory of its own, and its code ignores some of the limits below. A match is limited
 * in steps and memory, and a pattern that reaches the limit once is refused: names are short, and
 * no sensible pattern needs more. PCRE2 counts the steps anew at each character where a match may
 * begin, and a service may have 100,000 functions, so the CPU time of all matches of a search is
 * limited, too.
 */
#include "cluster-agent/query/tree/function_search.h"

#include <errno.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/system/clock.h"

#define MAX_STEPS 20000u
#define MAX_DEPTH 1000u
#define MAX_HEAP_KIB 1024u
/* a sensible pattern takes some microseconds per name */
#define MAX_CPU_NS (2 * NS_PER_S)

struct function_search {
	pcre2_code *code; /* NULL: an exact name */
	pcre2_match_data *match;
	pcre2_match_context *limits;
	uint64_t cpu_ns; /* of all matches */
	size_t name_len;
	char name[]; /* the exact one */
};

/* Removes white space around a text; returns its new beginning. */
static const char *trim(const char *s, size_t *len)
{
	static const char space[] = " \t\r\n\f\v";

	while (*len > 0 && strchr(space, s[*len - 1]))
		--*len;
	while (*len > 0 && strchr(space, *s)) {
		s++;
		--*len;
	}
	return s;
}

static int compile(struct function_search *s, const char *text, size_t len, uint32_t options,
		   struct err *err)
{
	PCRE2_UCHAR reason[128];
	PCRE2_SIZE at;
	int code;

	s->code = pcre2_compile((PCRE2_SPTR)text, len,
				options | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_CASELESS,
				&code, &at, NULL);
	if (!s->code && code == PCRE2_ERROR_NOMEMORY)
		return -ENOMEM;
	if (!s->code) {
		pcre2_get_error_message(code, reason, sizeof(reason));
		return err_set(err, -EINVAL, "search: %s at character %zu", (const char *)reason,
			       (size_t)at);
	}
	s->match = pcre2_match_data_create(1, NULL);
	s->limits = pcre2_match_context_create(NULL);
	if (!s->match || !s->limits)
		return -ENOMEM;
	pcre2_set_match_limit(s->limits, MAX_STEPS);
	pcre2_set_depth_limit(s->limits, MAX_DEPTH);
	pcre2_set_heap_limit(s->limits, MAX_HEAP_KIB);
	return 0;
}

static bool is_exact(const char *text, size_t len)
{
	return len > 2 && text[0] == '"' && text[len - 1] == '"';
}

static int parse(struct function_search *s, const char *text, size_t len, struct err *err)
{
	if (is_exact(text, len)) {
		s->name_len = len - 2;
		memcpy(s->name, text + 1, len - 2);
		return 0;
	}
	if (text[0] != '/')
		return compile(s, text, len, PCRE2_LITERAL, err);
	if (len > 2 && text[len - 1] == '/')
		len--;
	return compile(s, text + 1, len - 1, PCRE2_NEVER_BACKSLASH_C, err);
}

int function_search_new(struct function_search **ret, const char *text, struct err *err)
{
	CLEANUP(function_search_freep) struct function_search *s = NULL;
	size_t len = strlen(text), max = FUNCTION_SEARCH_MAX_BYTES;
	int r;

	text = trim(text, &len);
	if (len == 0 || (len == 1 && text[0] == '/'))
		return err_set(err, -EINVAL, "search: nothing to search for");
	if (is_exact(text, len))
		max = FUNCTION_SEARCH_MAX_NAME_BYTES + 2;
	if (len > max)
		return err_set(err, -EINVAL, "search: more than %zu bytes", max);
	s = calloc(1, sizeof(*s) + len);
	if (!s)
		return -ENOMEM;
	r = parse(s, text, len, err);
	if (r == 0)
		*ret = TAKE_PTR(s);
	return r;
}

void function_search_free(struct function_search *s)
{
	if (!s)
		return;
	pcre2_code_free(s->code);
	pcre2_match_data_free(s->match);
	pcre2_match_context_free(s->limits);
	free(s);
}

static int match(struct function_search *s, const char *text, size_t len, struct err *err)
{
	uint64_t start = clock_thread_cpu_ns();
	int r = s->cpu_ns < MAX_CPU_NS
			? pcre2_match(s->code, (PCRE2_SPTR)text, len, 0, 0, s->match, s->limits)
			: PCRE2_ERROR_MATCHLIMIT;

	s->cpu_ns += clock_thread_cpu_ns() - start;
	if (r >= 0)
		return 1;
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r == PCRE2_ERROR_NOMEMORY)
		return -ENOMEM;
	return err_set(err, -EINVAL, "search: the expression takes too many steps");
}

int function_search_test(struct function_search *s, const char *name, size_t name_len,
			 const char *file, size_t file_len, struct err *err)
{
	int r;

	if (!s->code)
		return name_len == s->name_len && memcmp(name, s->name, name_len) == 0;
	r = match(s, name, name_len, err);
	return r == 0 && file_len > 0 ? match(s, file, file_len, err) : r;
}
