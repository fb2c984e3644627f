/*
 * DBeaver sends SET readonly = 1 for a connection that its user has marked as read-only; drivers
 * end a query by a second request with KILL QUERY. The port does not let statements other than
 * queries reach the engine, so these few are known by their words. Anything unusual in them
 * (comments, other settings, other conditions) makes them statements for sql_guard.h, which
 * refuses them.
 */
#include "cluster-agent/sql/sql_command.h"

#include <ctype.h>
#include <strings.h>

struct words {
	const char *pos;
	const char *end;
};

static void skip_space(struct words *w)
{
	while (w->pos < w->end && isspace((unsigned char)*w->pos))
		w->pos++;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Takes text, a word in any case or one other character, if it is next. */
static bool take(struct words *w, const char *text)
{
	size_t len = strlen(text);

	skip_space(w);
	if ((size_t)(w->end - w->pos) < len || strncasecmp(w->pos, text, len) != 0)
		return false;
	if (is_name(*text) && w->pos + len < w->end && is_name(w->pos[len]))
		return false;
	w->pos += len;
	return true;
}

static bool at_end(struct words *w)
{
	(void)take(w, ";");
	skip_space(w);
	return w->pos == w->end;
}

static bool is_read_only(struct words w)
{
	return take(&w, "readonly") && take(&w, "=") && (take(&w, "1") || take(&w, "2")) &&
	       at_end(&w);
}

static bool is_no_role(struct words w)
{
	return take(&w, "role") && (take(&w, "none") || take(&w, "default") || take(&w, "all")) &&
	       at_end(&w);
}

static bool is_own_database(struct words w)
{
	static const char *const quotes[] = {"", "`", "\""};

	for (size_t i = 0; i < ARRAY_SIZE(quotes); i++) {
		struct words t = w;

		if (take(&t, quotes[i]) && (take(&t, "coroot") || take(&t, "default")) &&
		    take(&t, quotes[i]) && at_end(&t))
			return true;
	}
	return false;
}

/* Takes a string without escapes, as ids have none. */
static bool take_id(struct words *w, char *ret)
{
	const char *start;
	size_t len;

	if (!take(w, "'"))
		return false;
	start = w->pos;
	while (w->pos < w->end && *w->pos != '\'' && *w->pos != '\\' &&
	       isprint((unsigned char)*w->pos))
		w->pos++;
	len = (size_t)(w->pos - start);
	if (len == 0 || len >= SQL_QUERY_ID_BYTES || !take(w, "'"))
		return false;
	memcpy(ret, start, len);
	ret[len] = '\0';
	return true;
}

static bool is_kill(struct words w, char *ret)
{
	if (!take(&w, "query") || !take(&w, "where") || !take(&w, "query_id") || !take(&w, "=") ||
	    !take_id(&w, ret))
		return false;
	if (!take(&w, "sync"))
		(void)take(&w, "async");
	return at_end(&w);
}

void sql_command_parse(const char *sql, size_t len, struct sql_command *ret)
{
	struct words w = {sql, sql + len};

	*ret = (struct sql_command){0};
	if (take(&w, "set")) {
		if (is_read_only(w) || is_no_role(w))
			ret->kind = SQL_COMMAND_NOTHING;
	} else if (take(&w, "use")) {
		if (is_own_database(w))
			ret->kind = SQL_COMMAND_NOTHING;
	} else if (take(&w, "kill")) {
		if (is_kill(w, ret->query_id))
			ret->kind = SQL_COMMAND_KILL;
		else
			ret->query_id[0] = '\0';
	}
}
