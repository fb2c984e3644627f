/*
 * A guard that splits the statement into tokens and looks at neighbours; it does not parse SQL.
 *
 * A parser of ours would have to agree with the engine's in every detail, and the gap between
 * the two would be the hole. So each rule is about few tokens and says what is allowed: the first
 * word, the words after SHOW and EXPLAIN, what may stand before "(" (a function of a list, or a
 * keyword), which tables of the database "system" may be named, which format and settings may
 * stand at the end. The clauses FORMAT and SETTINGS are allowed there only, as the engine checks
 * just the outermost ones; the port takes them off and says the same in its own words.
 *
 * It is the only lock against functions that read files, INTO OUTFILE below the data directory, and
 * a second statement. For all else there is another one: the embedded engine checks which tables a
 * statement reads after it has resolved all names (engine_access.h), and the kernel refuses writing
 * outside the data directory (common/privilege/write_limit.h).
 */
#include "cluster-agent/sql/sql_guard.h"

#include <ctype.h>
#include <errno.h>

#include "cluster-agent/sql/sql_formats.h"
#include "cluster-agent/sql/sql_functions.h"
#include "cluster-agent/sql/sql_tokens.h"
#include "cluster-agent/store/system_tables.h"

/* The engine's parser calls itself for each level. */
#define MAX_DEPTH 256u
/*
 * The engine needs memory for each of them that it does not count: thousands in a few queries at
 * once were more than a container of 512 MiB has.
 */
#define MAX_SELECTS 256u

#define IS_ONE_OF(t, words) sql_is_one_of(t, words, ARRAY_SIZE(words))

enum place {
	AT_START,
	IN_EXPLAIN, /* after the word EXPLAIN, before the statement to be explained */
	IN_STATEMENT,
};

struct guard {
	struct sql_scanner scanner;
	struct sql_token p3, p2, p1, t; /* t follows p1, which follows p2, … */
	enum place place;
	unsigned n_words; /* of the statement, this one included; counts to 3 */
	unsigned depth;   /* of brackets */
	unsigned n_selects;
	struct sql_facts *facts;
	const char *end;    /* of the statement without the clauses at its end */
	struct err why_end; /* why the last clauses, or what looked like them, are refused */
	struct err *err;
};

static int refuse(struct guard *g, const struct sql_token *t, const char *why)
{
	return err_set(g->err, -EPERM, "%.*s %s", (int)(t->len < 64 ? t->len : 64), t->start, why);
}

/* ---- the beginning ---- */

static int check_start(struct guard *g)
{
	static const char *const statements[] = {
		"select", "with", "show", "describe", "desc", "exists",
	};

	if (g->place != AT_START || sql_is_char(&g->t, '('))
		return 0;
	if (g->t.kind == SQL_TOKEN_END)
		return err_set(g->err, -EINVAL, "empty query");
	g->place = sql_is_word(&g->t, "explain") ? IN_EXPLAIN : IN_STATEMENT;
	if (g->place == IN_EXPLAIN || IS_ONE_OF(&g->t, statements))
		return 0;
	return err_set(g->err, -EPERM,
		       "only SELECT, WITH, SHOW, DESCRIBE, EXISTS and EXPLAIN are allowed");
}

/* EXPLAIN [kind] [setting = value, …] SELECT …; those are settings of EXPLAIN alone. */
static int check_explain(struct guard *g)
{
	static const char *const kinds[] = {
		"ast", "syntax", "query", "tree", "plan", "pipeline", "estimate",
	};
	static const char *const statements[] = {"select", "with"};
	bool was_name = g->p1.kind == SQL_TOKEN_WORD && !IS_ONE_OF(&g->p1, kinds) &&
			!sql_is_word(&g->p1, "explain") && !sql_is_char(&g->p2, '=');

	if (g->place != IN_EXPLAIN || sql_is_word(&g->t, "explain"))
		return 0;
	if (was_name != sql_is_char(&g->t, '='))
		return refuse(g, was_name ? &g->p1 : &g->t, "cannot be explained");
	if (IS_ONE_OF(&g->t, statements) || sql_is_char(&g->t, '('))
		g->place = IN_STATEMENT;
	return 0;
}

static int check_show(struct guard *g)
{
	static const char *const what[] = {
		"tables",  "databases", "columns",   "fields",       "index",    "indexes",
		"indices", "keys",      "functions", "full",         "settings", "setting",
		"engines", "create",    "extended",  "dictionaries",
	};
	static const char *const created[] = {"table", "view", "database"};
	bool second = g->n_words == 2 && sql_is_word(&g->p1, "show");
	bool third = g->n_words == 3 && sql_is_word(&g->p2, "show");

	if (second && !IS_ONE_OF(&g->t, what))
		return refuse(g, &g->t, "cannot be shown");
	if (third && sql_is_word(&g->p1, "create") && !IS_ONE_OF(&g->t, created))
		return refuse(g, &g->t, "cannot be shown");
	return 0;
}

/* ---- words ---- */

static int check_words(struct guard *g)
{
	static const char *const refused[] = {"outfile", "infile"};
	static const struct {
		const char *first;
		const char *second;
	} pairs[] = {
		{"insert", "into"},
		{"parallel", "with"}, /* more statements in one */
		{"table", "override"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (sql_is_name(&g->t, refused[i]))
			return refuse(g, &g->t, "is not available here");
	}
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (sql_is_word(&g->p1, pairs[i].first) && sql_is_word(&g->t, pairs[i].second))
			return refuse(g, &g->p1, "is not available here");
	}
	if (sql_is_word(&g->t, "select") && ++g->n_selects > MAX_SELECTS)
		return err_set(g->err, -EPERM, "more than %u times SELECT", MAX_SELECTS);
	if (sql_is_char(&g->t, ';')) /* is_end() takes the one at the end */
		return err_set(g->err, -EPERM, "only one statement is allowed");
	return 0;
}

/* {name:Identifier} could stand for anything that is refused by its name. */
static int check_parameter(struct guard *g)
{
	if (sql_is_char(&g->p1, ':') && sql_is_name(&g->t, "identifier"))
		return refuse(g, &g->t, "parameters are not allowed");
	return 0;
}

static int check_system(struct guard *g)
{
	bool is_name = g->t.kind == SQL_TOKEN_WORD || g->t.kind == SQL_TOKEN_QUOTED;

	if (!sql_is_name(&g->p2, "system") || !sql_is_char(&g->p1, '.'))
		return 0;
	if (is_name && system_table_is_public(g->t.start, g->t.len))
		return 0;
	return refuse(g, &g->t, "is not a table of the database system that can be read here");
}

static int check_depth(struct guard *g)
{
	static const char opening[] = "([{", closing[] = ")]}";

	if (g->t.kind != SQL_TOKEN_OTHER)
		return 0;
	if (strchr(opening, *g->t.start) && ++g->depth > MAX_DEPTH)
		return err_set(g->err, -EPERM, "more than %u brackets are open", MAX_DEPTH);
	if (strchr(closing, *g->t.start) && g->depth > 0)
		g->depth--;
	return 0;
}

/* ---- functions ---- */

/* Words after which a bracket does not mean that they are called. */
static bool is_keyword(const struct sql_token *t)
{
	static const char *const words[] = {
		"select", "from",        "where",    "prewhere",     "having",    "qualify",
		"and",    "or",          "not",      "in",           "as",        "on",
		"using",  "by",          "limit",    "offset",       "union",     "all",
		"any",    "some",        "distinct", "except",       "intersect", "when",
		"then",   "else",        "case",     "interval",     "between",   "like",
		"ilike",  "over",        "filter",   "group",        "rollup",    "cube",
		"sets",   "join",        "exists",   "replace",      "apply",     "describe",
		"desc",   "explain",     "table",    "top",          "to",        "step",
		"with",   "interpolate", "div",      "materialized", "plan",      "ast",
		"syntax", "pipeline",    "estimate", "tree",         "return",    "asof",
	};

	return IS_ONE_OF(t, words);
}

static int check_call(struct guard *g)
{
	/* a table function, which is not the ordinary one of the same name */
	static const char *const before_tables[] = {"from", "join", "table", "describe", "desc"};

	if (!sql_is_char(&g->t, '('))
		return 0;
	if (g->p1.kind == SQL_TOKEN_OTHER && !sql_is_char(&g->p1, '}'))
		return 0;
	if (g->p1.kind == SQL_TOKEN_END) /* the first token */
		return 0;
	if (g->p1.kind != SQL_TOKEN_WORD)
		return err_set(g->err, -EPERM,
			       "the name of a function must be written without quotes");
	if (sql_is_word(&g->p1, "format") && IS_ONE_OF(&g->p2, before_tables))
		return refuse(g, &g->p1, "is a function that is not available here");
	if (is_keyword(&g->p1) || sql_function_is_allowed(g->p1.start, g->p1.len))
		return 0;
	return refuse(g, &g->p1, "is a function that is not available here");
}

/* SELECT * APPLY f and APPLY(f) name a function without brackets after it. */
static int check_apply(struct guard *g)
{
	bool plain = sql_is_word(&g->p1, "apply") && !sql_is_char(&g->t, '(');
	/* APPLY(x -> …) has a name, too */
	bool in_brackets = sql_is_word(&g->p3, "apply") && sql_is_char(&g->p2, '(') &&
			   !sql_is_char(&g->t, '-');
	const struct sql_token *f = plain ? &g->t : &g->p1;

	if (!plain && !in_brackets)
		return 0;
	if (f->kind == SQL_TOKEN_WORD && sql_function_is_allowed(f->start, f->len))
		return 0;
	return refuse(g, f, "is a function that is not available here");
}

/*
 * arrayMap(file, …) and arrayMap(ALL file, …) call a function without brackets after its name. So
 * the names of such functions may stand in brackets only where they are those of a column.
 */
static int check_argument(struct guard *g)
{
	bool is_name = g->t.kind == SQL_TOKEN_WORD || g->t.kind == SQL_TOKEN_QUOTED;
	bool is_column = sql_is_char(&g->p1, '.') || sql_is_word(&g->p1, "as");

	if (g->depth > 0 && is_name && !is_column && sql_function_is_refused(g->t.start, g->t.len))
		return refuse(g, &g->t, "is a function that is not available here");
	return 0;
}

/* ---- the end ---- */

/*
 * The point of "1." belongs to the number for the engine, so the next word may begin a clause; the
 * one of a.1.b does not.
 */
static int check_point(struct guard *g)
{
	bool after_number = g->p1.kind == SQL_TOKEN_VALUE && isdigit((unsigned char)*g->p1.start) &&
			    g->p1.start + g->p1.len == g->t.start;
	const char *next = g->scanner.pos;

	if (!sql_is_char(&g->t, '.') || !after_number || sql_is_char(&g->p2, '.'))
		return 0;
	if (next < g->scanner.end && isdigit((unsigned char)*next))
		return 0;
	return err_set(g->err, -EPERM, "a number must not end with a point");
}

/* A number, a word or a string without its quotes and backslashes. */
static int read_value(struct sql_scanner *s, struct sql_token *t, char *ret, size_t size)
{
	size_t n = 0;
	int r = sql_scan(s, t, NULL);

	if (r < 0 || (t->kind != SQL_TOKEN_VALUE && t->kind != SQL_TOKEN_WORD))
		return -EPERM;
	for (size_t i = 0; i < t->len; i++) {
		char c = t->start[i];

		if (c == '\\') {
			if (++i == t->len || !strchr("\\'t", t->start[i]))
				return -EPERM;
			c = t->start[i] == 't' ? '\t' : t->start[i];
		}
		if (n + 1 >= size)
			return -EPERM;
		ret[n++] = c;
	}
	ret[n] = '\0';
	return sql_scan(s, t, NULL);
}

/* "name = value", then the next token into t. Settings that mean nothing here are left out. */
static int read_setting(struct guard *g, struct sql_scanner *s, struct sql_token *t)
{
	char name[80], value[sizeof(((struct sql_setting *)0)->value) + 1];
	struct sql_token name_token = *t;
	struct sql_setting setting;
	int r;

	if (t->kind != SQL_TOKEN_WORD || t->len >= sizeof(name))
		return -EPERM;
	snprintf(name, sizeof(name), "%.*s", (int)t->len, t->start);
	r = sql_scan(s, t, NULL);
	if (r < 0 || !sql_is_char(t, '=') || read_value(s, t, value, sizeof(value)) < 0)
		return -EPERM;
	if (sql_is_char(t, '.')) /* of a number */
		return refuse(g, &name_token, "must be a whole number");
	/* drivers send it in the URL, where it means nothing; in SQL it is meant */
	if (strcmp(name, "readonly") == 0)
		return refuse(g, &name_token, "cannot be changed here");
	r = sql_setting_check(name, value, &setting, g->err);
	if (r == 1 && g->facts->n_settings == ARRAY_SIZE(g->facts->settings))
		return err_set(g->err, -EPERM, "too many settings");
	if (r == 1)
		g->facts->settings[g->facts->n_settings++] = setting;
	return r < 0 ? -EPERM : 0;
}

/* FORMAT name, then the next token into t. */
static int read_format(struct guard *g, struct sql_scanner *s, struct sql_token *t)
{
	const struct sql_format *format;

	if (sql_scan(s, t, NULL) < 0 || t->kind != SQL_TOKEN_WORD)
		return -EPERM;
	format = sql_format_find(t->start, t->len);
	if (!format)
		return -EPERM;
	snprintf(g->facts->format, sizeof(g->facts->format), "%s", format->name);
	return sql_scan(s, t, NULL);
}

/* SETTINGS name = value, …, then the next token into t. */
static int read_settings(struct guard *g, struct sql_scanner *s, struct sql_token *t)
{
	int r;

	do {
		r = sql_scan(s, t, NULL);
		if (r == 0)
			r = read_setting(g, s, t);
	} while (r == 0 && sql_is_char(t, ','));
	return r;
}

/* The clauses at the end, from the token t on. Returns 0 if there is nothing else. */
static int read_end(struct guard *g, struct sql_scanner s, struct sql_token t)
{
	bool has_settings = false;
	int r = 0;

	while (r == 0 && t.kind == SQL_TOKEN_WORD) {
		if (sql_is_word(&t, "format") && !g->facts->format[0]) {
			r = read_format(g, &s, &t);
		} else if (sql_is_word(&t, "settings") && !has_settings) {
			has_settings = true;
			r = read_settings(g, &s, &t);
		} else {
			return -EPERM;
		}
	}
	if (r == 0 && sql_is_char(&t, ';'))
		r = sql_scan(&s, &t, NULL);
	return r == 0 && t.kind == SQL_TOKEN_END ? 0 : -EPERM;
}

/* Returns whether the statement ended with t, which begins its last clauses. */
static bool is_end(struct guard *g)
{
	struct err *before = g->err;
	int r;

	if (sql_is_char(&g->p1, ';') || g->depth > 0 || g->n_words < 2 ||
	    sql_is_char(&g->p1, '.') || sql_is_word(&g->p1, "as"))
		return false;
	if (!sql_is_word(&g->t, "format") && !sql_is_word(&g->t, "settings") &&
	    !sql_is_char(&g->t, ';'))
		return false;
	*g->facts = (struct sql_facts){0};
	g->why_end = (struct err){0};
	g->err = &g->why_end;
	r = read_end(g, g->scanner, g->t);
	g->err = before;
	if (r == 0) {
		g->end = g->t.start;
		return true;
	}
	*g->facts = (struct sql_facts){0};
	return false;
}

/* FORMAT and SETTINGS that do not end the statement, or are refused: a clause, or only a name? */
static int check_clauses(struct guard *g)
{
	static const char *const after_name[] = {
		"from",    "as",     "is",       "in",     "not",    "like",      "ilike",
		"and",     "or",     "asc",      "desc",   "then",   "else",      "end",
		"between", "global", "when",     "where",  "group",  "order",     "limit",
		"having",  "union",  "settings", "with",   "except", "intersect", "on",
		"using",   "div",    "mod",      "over",   "nulls",  "collate",   "prewhere",
		"offset",  "fetch",  "qualify",  "format",
	};
	bool is_name = g->t.kind == SQL_TOKEN_WORD || g->t.kind == SQL_TOKEN_QUOTED;

	bool is_clause = sql_is_word(&g->p1, "format") && !sql_is_char(&g->p2, '.') && is_name &&
			 !IS_ONE_OF(&g->t, after_name);

	if (is_clause && sql_format_find(g->t.start, g->t.len))
		return err_set(g->err, -EINVAL, "Syntax error: FORMAT is not at the end");
	if (is_clause)
		return err_set(g->err, -EPERM, "the format %.*s is not available here",
			       (int)(g->t.len < 64 ? g->t.len : 64), g->t.start);
	/* a setting without a value is switched on */
	is_clause = sql_is_word(&g->p1, "settings") && !sql_is_char(&g->p2, '.') && is_name &&
		    !IS_ONE_OF(&g->t, after_name) && !sql_is_word(&g->p2, "show");
	if (is_clause ||
	    (sql_is_word(&g->p2, "settings") &&
	     (sql_is_char(&g->t, '=') || sql_is_char(&g->t, '.'))) ||
	    (sql_is_word(&g->p1, "settings") && sql_is_char(&g->t, '{')))
		return err_set(g->err, -EPERM, "%s",
			       g->why_end.msg[0] ? g->why_end.msg
						 : "SETTINGS is allowed at the end only");
	return 0;
}

/* ---- all together ---- */

static int check_token(struct guard *g)
{
	static int (*const rules[])(struct guard *) = {
		check_start,     check_explain,  check_show,  check_words,
		check_parameter, check_system,   check_depth, check_call,
		check_apply,     check_argument, check_point, check_clauses,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rules) && r == 0; i++)
		r = rules[i](g);
	return r;
}

static int next_token(struct guard *g)
{
	g->p3 = g->p2;
	g->p2 = g->p1;
	g->p1 = g->t;
	if (g->n_words < 4 && g->place != AT_START)
		g->n_words++;
	return sql_scan(&g->scanner, &g->t, g->err);
}

int sql_guard_check(const char *sql, size_t len, struct sql_facts *ret, struct err *err)
{
	struct guard g = {.scanner = {sql, sql + len},
			  .facts = ret,
			  .n_words = 1,
			  .end = sql + len,
			  .err = err};
	int r;

	*ret = (struct sql_facts){0};
	if (len > SQL_GUARD_MAX_BYTES)
		return err_set(err, -EFBIG, "the query is longer than %zu bytes",
			       SQL_GUARD_MAX_BYTES);
	if (memchr(sql, '\0', len))
		return err_set(err, -EINVAL, "the query has a zero byte");
	do {
		r = next_token(&g);
		if (r == 0 && is_end(&g)) /* the rest must be right without its end, too */
			g.t = (struct sql_token){.start = g.end};
		if (r == 0)
			r = check_token(&g);
	} while (r == 0 && g.t.kind != SQL_TOKEN_END);
	ret->len = (size_t)(g.end - sql);
	return r;
}
