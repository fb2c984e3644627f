/*
 * What passes the guard has, outside of quotes and comments, no second statement, no refused
 * function before a bracket, no refused table of the database "system" and no zero byte; cutting
 * it where the guard says leaves a statement that passes, without clauses.
 *
 * A byte beyond ASCII and the one behind it stand for a word: names that the engine knows and the
 * guard refuses, from test/data/sql/, and some of SQL.
 */
#include <assert.h>
#include <stdio.h>

#include "cluster-agent/sql/sql_formats.h"
#include "cluster-agent/sql/sql_guard.h"
#include "cluster-agent/sql/sql_tokens.h"
#include "cluster-agent/store/system_tables.h"

#define MAX_WORDS 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *words[MAX_WORDS];
static size_t n_words;
static size_t n_functions; /* the first ones of words */

static void read_words(const char *name)
{
	char path[100], line[200];
	FILE *f;

	snprintf(path, sizeof(path), "test/data/sql/%s", name);
	f = fopen(path, "re");
	assert(f);
	while (fgets(line, sizeof(line), f) && n_words < MAX_WORDS) {
		line[strcspn(line, "\n")] = '\0';
		words[n_words] = strdup(line);
		assert(words[n_words]);
		n_words++;
	}
	fclose(f);
}

static void prepare(void)
{
	static const char *const sql[] = {
		"SELECT ",
		"WITH ",
		"SHOW ",
		"EXPLAIN ",
		"DESCRIBE ",
		" FROM ",
		" AS ",
		" FORMAT ",
		" SETTINGS ",
		" APPLY ",
		"system.",
		" = 1 ",
		"(1)",
		" INTO ",
		"{x:Identifier}",
		"{x:String}",
		"sum",
		"If(x)",
		" UNION ALL ",
		"/**/",
		"-- \n",
		"merge('system', 'x')",
		"JSON",
		"max_result_rows",
		"'x'",
		"`x`",
		";",
	};

	read_words("refused-functions");
	read_words("refused-table-functions");
	n_functions = n_words;
	read_words("refused-formats");
	read_words("refused-settings");
	for (size_t i = 0; i < ARRAY_SIZE(sql) && n_words < MAX_WORDS; i++)
		words[n_words++] = strdup(sql[i]);
}

static char *spell(const uint8_t *data, size_t size, size_t *ret_len)
{
	size_t len = 0, limit = size * 100 + 1;
	char *text = malloc(limit);

	assert(text);
	for (size_t i = 0; i < size; i++) {
		const char *word;

		if (data[i] < 0x80 || i + 1 == size) {
			text[len++] = (char)data[i];
			continue;
		}
		/* the last ones, SQL itself, are wanted more often */
		word = data[i] < 0xc0 ? words[n_words - 1 - data[i + 1] % 27]
				      : words[((data[i] & 0x3fu) << 8 | data[i + 1]) % n_words];
		i++;
		memcpy(text + len, word, strlen(word));
		len += strlen(word);
	}
	*ret_len = len;
	return text;
}

static bool is_refused_function(const struct sql_token *t)
{
	for (size_t i = 0; i < n_functions; i++) {
		if (sql_is_name(t, words[i]))
			return true;
	}
	return false;
}

static void check_tokens(const char *sql, size_t len)
{
	struct sql_scanner s = {sql, sql + len};
	struct sql_token p2 = {0}, p1 = {0}, t;

	do {
		assert(sql_scan(&s, &t, NULL) == 0);
		/* an ordinary function has this name, too */
		if (sql_is_char(&t, '(') && !sql_is_word(&p1, "format"))
			assert(!is_refused_function(&p1));
		assert(!sql_is_name(&t, "outfile") && !sql_is_name(&t, "infile"));
		assert(!sql_is_char(&t, ';'));
		if (sql_is_name(&p2, "system") && sql_is_char(&p1, '.'))
			assert(system_table_is_public(t.start, t.len));
		p2 = p1;
		p1 = t;
	} while (t.kind != SQL_TOKEN_END);
}

static void check_accepted(const char *sql, size_t len, const struct sql_facts *facts)
{
	struct sql_facts again;
	AUTO_FREE char *longer = malloc(len + 8);

	assert(!memchr(sql, '\0', len));
	assert(facts->len <= len);
	assert(!facts->format[0] || sql_format_find(facts->format, strlen(facts->format)));
	check_tokens(sql, facts->len);
	assert(sql_guard_check(sql, facts->len, &again, NULL) == 0);
	assert(!again.format[0] && again.n_settings == 0 && again.len == facts->len);
	if (!longer || len + 8 > SQL_GUARD_MAX_BYTES)
		return;
	memcpy(longer, sql, len);
	memcpy(longer + len, "\n-- end\n", 8);
	assert(sql_guard_check(longer, len + 8, &again, NULL) == 0);
	memcpy(longer + len, "\n;DROP x", 8);
	assert(sql_guard_check(longer, len + 8, &again, NULL) < 0);
	memcpy(longer + len, "\nfile(1)", 8);
	assert(sql_guard_check(longer, len + 8, &again, NULL) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *sql = NULL;
	struct sql_facts facts;
	struct err err = {0};
	size_t len;
	int r;

	if (n_words == 0)
		prepare();
	sql = spell(data, size, &len);
	r = sql_guard_check(sql, len, &facts, &err);
	assert(r == 0 || err.msg[0]);
	if (r == 0)
		check_accepted(sql, len, &facts);
	return 0;
}
