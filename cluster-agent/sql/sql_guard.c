/*
 * A guard that only splits the statement into tokens and looks at neighbours; it does not parse
 * SQL.
 *
 * A parser of ours would have to agree with the engine's in every detail, and the gap between
 * the two would be the hole. Tokens are simple enough to agree on, and where the engine might
 * split a text differently (heredocs, nested comments, backslashes in quoted names, characters
 * beyond ASCII outside quotes) the statement is refused.
 *
 * What is looked for: a name from refused_functions before "(", also in APPLY without
 * parentheses; words that make the client part of the engine write or read files; SETTINGS in
 * any clause, because the engine checks only the outermost one; a second statement. Everything
 * else that could do harm is refused by the engine's own readonly = 1, behind which this is the
 * second lock.
 *
 * The list of functions says what to refuse, so a new release of the engine may bring one that is
 * missing. test/store asks the engine for its table functions and fails if there is one that is not
 * classified; ordinary functions must be reviewed by hand with each release.
 */
#include "cluster-agent/sql/sql_guard.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,   /* a keyword, or a name without quotes */
	TOKEN_QUOTED, /* a name in " or ` */
	TOKEN_VALUE,  /* a string or a number */
	TOKEN_OTHER,  /* one character */
};

struct token {
	enum token_kind kind;
	const char *start; /* without quotes */
	size_t len;
};

struct scanner {
	const char *pos;
	const char *end;
};

static const char *const statements[] = {
	"select", "with", "show", "describe", "desc", "exists", "explain",
};

/*
 * All table functions of the engine that reach beyond the store's tables, and the ordinary
 * functions that read files, run models or use the network.
 */
static const char *const refused_functions[] = {
	"aiclassify",
	"aiextract",
	"aigenerate",
	"aitranslate",
	"arrowstream",
	"azureblobstorage",
	"azureblobstoragecluster",
	"catboostevaluate",
	"cluster",
	"clusterallreplicas",
	"cosn",
	"deltalake",
	"deltalakeazure",
	"deltalakeazurecluster",
	"deltalakecluster",
	"deltalakelocal",
	"deltalakes3",
	"deltalakes3cluster",
	"dictionary",
	"executable",
	"file",
	"filecluster",
	"filesystem",
	"fuzzjson",
	"fuzzquery",
	"gcs",
	"hdfs",
	"hdfscluster",
	"hudi",
	"hudicluster",
	"iceberg",
	"icebergazure",
	"icebergazurecluster",
	"icebergcluster",
	"iceberghdfs",
	"iceberghdfscluster",
	"iceberglocal",
	"iceberglocalcluster",
	"icebergs3",
	"icebergs3cluster",
	"input",
	"jdbc",
	"loop",
	"mergetreeanalyzeindexes",
	"mergetreeanalyzeindexesuuid",
	"mergetreetextindex",
	"mongodb",
	"mysql",
	"odbc",
	"oss",
	"paimon",
	"paimonazure",
	"paimonazurecluster",
	"paimoncluster",
	"paimonhdfs",
	"paimonhdfscluster",
	"paimonlocal",
	"paimons3",
	"paimons3cluster",
	"postgresql",
	"prometheusquery",
	"prometheusqueryrange",
	"python",
	"redis",
	"remote",
	"remotesecure",
	"s3",
	"s3cluster",
	"sqlite",
	"timeseriesdata",
	"timeseriesmetrics",
	"timeseriesselector",
	"timeseriestags",
	"url",
	"urlcluster",
	"ytsaurus",
};

static bool is_word(const struct token *t, const char *word)
{
	return t->kind == TOKEN_WORD && t->len == strlen(word) &&
	       strncasecmp(t->start, word, t->len) == 0;
}

static bool is_char(const struct token *t, char c)
{
	return t->kind == TOKEN_OTHER && *t->start == c;
}

static bool is_one_of(const struct token *t, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (is_word(t, words[i]))
			return true;
	}
	return false;
}

static bool is_refused_function(const struct token *t)
{
	return is_one_of(t, refused_functions, ARRAY_SIZE(refused_functions));
}

static bool starts_with(const struct scanner *s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s->end - s->pos) >= len && memcmp(s->pos, text, len) == 0;
}

static int skip_block_comment(struct scanner *s, struct err *err)
{
	for (s->pos += 2; s->pos < s->end; s->pos++) {
		if (starts_with(s, "*/")) {
			s->pos += 2;
			return 0;
		}
		if (starts_with(s, "/*"))
			return err_set(err, -EPERM, "comments inside comments are not allowed");
	}
	return err_set(err, -EINVAL, "a comment does not end");
}

static int skip_line_comment(struct scanner *s, struct err *err)
{
	s->pos += 2;
	if (s->pos < s->end && !isspace((unsigned char)*s->pos))
		return err_set(err, -EPERM, "-- must be followed by a space");
	while (s->pos < s->end && *s->pos != '\n') {
		if (*s->pos == '\r' && !starts_with(s, "\r\n"))
			return err_set(err, -EPERM, "a carriage return in a comment");
		s->pos++;
	}
	return 0;
}

static int skip_space(struct scanner *s, struct err *err)
{
	while (s->pos < s->end) {
		int r = 0;

		if (isspace((unsigned char)*s->pos)) {
			s->pos++;
		} else if (starts_with(s, "--")) {
			r = skip_line_comment(s, err);
		} else if (starts_with(s, "/*")) {
			r = skip_block_comment(s, err);
		} else {
			break;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* A backslash in a quoted name could spell a refused word in disguise; strings may have any. */
static int scan_quoted(struct scanner *s, struct token *ret, struct err *err)
{
	char quote = *s->pos++;
	const char *start = s->pos;

	for (; s->pos < s->end; s->pos++) {
		if (*s->pos == '\\') {
			if (quote != '\'')
				return err_set(err, -EPERM,
					       "backslashes in quoted names are not allowed");
			if (++s->pos == s->end)
				break;
		} else if (*s->pos == quote) {
			ret->kind = quote == '\'' ? TOKEN_VALUE : TOKEN_QUOTED;
			ret->start = start;
			ret->len = (size_t)(s->pos++ - start);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "a quoted text does not end");
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static int scan_token(struct scanner *s, struct token *ret, struct err *err)
{
	static const char punctuation[] = "()[]{},;.:+-*/%=<>!?|&@^~";
	int r = skip_space(s, err);
	unsigned char c;

	*ret = (struct token){.kind = TOKEN_END, .start = s->pos};
	if (r < 0 || s->pos == s->end)
		return r;
	c = (unsigned char)*s->pos;
	if (c == '\'' || c == '"' || c == '`')
		return scan_quoted(s, ret, err);
	if (is_name_char((char)c)) {
		ret->kind = isdigit(c) ? TOKEN_VALUE : TOKEN_WORD;
		while (s->pos < s->end && is_name_char(*s->pos))
			s->pos++;
		ret->len = (size_t)(s->pos - ret->start);
		return 0;
	}
	if (!strchr(punctuation, c))
		return err_set(err, -EPERM, "the character 0x%02x is not allowed outside of quotes",
			       c);
	ret->kind = TOKEN_OTHER;
	ret->len = 1;
	s->pos++;
	return 0;
}

static int refuse_function(const struct token *t, struct err *err)
{
	return err_set(err, -EPERM, "the function %.*s is not available here",
		       (int)(t->len < 64 ? t->len : 64), t->start);
}

/* Checks t, which follows p1, which follows p2. */
static int check_token(const struct token *p2, const struct token *p1, const struct token *t,
		       struct err *err)
{
	static const char *const refused_words[] = {"outfile", "infile", "override", "stack_trace"};
	bool is_applied;

	for (size_t i = 0; i < ARRAY_SIZE(refused_words); i++) {
		if ((t->kind == TOKEN_WORD || t->kind == TOKEN_QUOTED) &&
		    t->len == strlen(refused_words[i]) &&
		    strncasecmp(t->start, refused_words[i], t->len) == 0)
			return err_set(err, -EPERM, "%s is not available here", refused_words[i]);
	}
	if (is_char(p1, ';') && t->kind != TOKEN_END)
		return err_set(err, -EPERM, "only one statement is allowed");
	if (is_char(t, '(')) {
		if (is_refused_function(p1))
			return refuse_function(p1, err);
		if (p1->kind == TOKEN_QUOTED || is_char(p1, '}'))
			return err_set(err, -EPERM,
				       "the name of a function must be written without quotes");
	}
	/* the engine checks only the outermost SETTINGS; names of settings may contain dots */
	if ((is_word(p2, "settings") && (is_char(t, '=') || is_char(t, '.'))) ||
	    (is_word(p1, "settings") && is_char(t, '{')))
		return err_set(err, -EPERM, "the clause SETTINGS is not allowed");
	/* SELECT * APPLY f and APPLY(f) name a function without parentheses after it */
	is_applied = is_word(p1, "apply") || (is_word(p2, "apply") && is_char(p1, '('));
	if (is_applied && !is_char(t, '(') && (t->kind != TOKEN_WORD || is_refused_function(t)))
		return refuse_function(t, err);
	return 0;
}

/* Takes the name of the last FORMAT clause if the statement ends with it. */
static void note_format(const struct token *p2, const struct token *p1, const struct token *t,
			struct sql_facts *ret)
{
	bool ends = t->kind == TOKEN_END || is_char(t, ';');

	if (ends && is_word(p2, "format") && p1->kind == TOKEN_WORD)
		snprintf(ret->format, sizeof(ret->format), "%.*s", (int)p1->len, p1->start);
}

int sql_guard_check(const char *sql, size_t len, struct sql_facts *ret, struct err *err)
{
	struct scanner s = {sql, sql + len};
	struct token p2 = {0}, p1 = {0}, t;
	bool has_first = false;
	int r;

	*ret = (struct sql_facts){0};
	if (len > SQL_GUARD_MAX_BYTES)
		return err_set(err, -EFBIG, "the query is longer than %zu bytes",
			       SQL_GUARD_MAX_BYTES);
	if (memchr(sql, '\0', len))
		return err_set(err, -EINVAL, "the query has a zero byte");
	do {
		r = scan_token(&s, &t, err);
		if (r == 0 && !has_first && !is_char(&t, '(')) {
			has_first = true;
			if (t.kind == TOKEN_END)
				r = err_set(err, -EINVAL, "empty query");
			else if (!is_one_of(&t, statements, ARRAY_SIZE(statements)))
				r = err_set(err, -EPERM,
					    "only SELECT, WITH, SHOW, DESCRIBE, EXISTS and "
					    "EXPLAIN are allowed");
		}
		if (r == 0)
			r = check_token(&p2, &p1, &t, err);
		if (r < 0)
			return r;
		note_format(&p2, &p1, &t, ret);
		if (is_char(&t, ';'))
			ret->end = (size_t)(t.start - sql);
		p2 = p1;
		p1 = t;
	} while (t.kind != TOKEN_END);
	return 0;
}
