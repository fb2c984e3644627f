#include "node-agent/procfs/process_status.h"

#include <errno.h>

#include "common/text/parse.h"

/*
 * Finds the value of a line, without the white space before it. The name of the process comes
 * first and cannot contain a newline: the kernel escapes it.
 */
static bool find_line(const char *text, size_t len, const char *name, const char **ret,
		      size_t *ret_len)
{
	const char *end = text + len;
	size_t name_len = strlen(name);

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ?: end;

		if ((size_t)(stop - text) > name_len && memcmp(text, name, name_len) == 0 &&
		    text[name_len] == ':') {
			text += name_len + 1;
			while (text < stop && (*text == ' ' || *text == '\t'))
				text++;
			*ret = text;
			*ret_len = (size_t)(stop - text);
			return true;
		}
		text = stop + 1;
	}
	return false;
}

/* The word with that index, from 0; UINT32_MAX: the last one. */
static bool find_word(const char *text, size_t len, uint32_t index, const char **ret,
		      size_t *ret_len)
{
	const char *end = text + len;
	bool found = false;

	for (uint32_t i = 0;; i++) {
		const char *start;

		while (text < end && (*text == ' ' || *text == '\t'))
			text++;
		if (text == end)
			return found && index == UINT32_MAX;
		start = text;
		while (text < end && *text != ' ' && *text != '\t')
			text++;
		*ret = start;
		*ret_len = (size_t)(text - start);
		found = true;
		if (i == index)
			return true;
	}
}

static int take_number(const char *text, size_t len, const char *name, uint32_t index, uint64_t max,
		       uint64_t *ret)
{
	const char *line, *word = NULL;
	size_t line_len, word_len = 0;

	if (!find_line(text, len, name, &line, &line_len) ||
	    !find_word(line, line_len, index, &word, &word_len))
		return -EBADMSG;
	return parse_u64(word, word_len, 0, max, ret) < 0 ? -EBADMSG : 0;
}

static int take_signals(const char *text, size_t len, const char *name, uint64_t *ret)
{
	const char *line;
	size_t line_len;
	uint64_t set = 0;

	if (!find_line(text, len, name, &line, &line_len) || line_len != 16)
		return -EBADMSG;
	for (size_t i = 0; i < line_len; i++) {
		char c = line[i];

		if (c >= '0' && c <= '9')
			set = set << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			set = set << 4 | (uint64_t)(c - 'a' + 10);
		else
			return -EBADMSG;
	}
	*ret = set;
	return 0;
}

int process_status_parse(const char *text, size_t len, struct process_status *ret)
{
	struct process_status s = {0};
	uint64_t uid, gid, nspid;
	const char *state;
	size_t state_len;

	if (!find_line(text, len, "State", &state, &state_len) || state_len == 0 ||
	    take_number(text, len, "Uid", 1, UINT32_MAX, &uid) < 0 ||
	    take_number(text, len, "Gid", 1, UINT32_MAX, &gid) < 0 ||
	    take_number(text, len, "NSpid", UINT32_MAX, INT32_MAX, &nspid) < 0 || nspid == 0 ||
	    take_signals(text, len, "ShdPnd", &s.pending) < 0 ||
	    take_signals(text, len, "SigIgn", &s.ignored) < 0 ||
	    take_signals(text, len, "SigCgt", &s.caught) < 0)
		return -EBADMSG;
	s.state = state[0];
	s.uid = (uid_t)uid;
	s.gid = (gid_t)gid;
	s.nspid = (pid_t)nspid;
	*ret = s;
	return 0;
}
