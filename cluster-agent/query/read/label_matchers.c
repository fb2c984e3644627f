#include "cluster-agent/query/read/label_matchers.h"

#include <errno.h>

struct parser {
	struct label_matchers *ret;
	size_t n_texts; /* bytes of ret->texts in use */
	const char *begin;
	const char *at;
	struct err *err;
};

static int fail(const struct parser *p, const char *what)
{
	return err_set(p->err, -EINVAL, "label matchers: %s at character %zu", what,
		       (size_t)(p->at - p->begin) + 1);
}

static void skip_spaces(struct parser *p)
{
	p->at += strspn(p->at, " \t\r\n");
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("_.:/-", c));
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

static int put(struct parser *p, char c)
{
	if (p->n_texts == LABEL_MATCHERS_MAX_BYTES)
		return err_set(p->err, -EINVAL, "label matchers: more than %u characters",
			       LABEL_MATCHERS_MAX_BYTES);
	p->ret->texts[p->n_texts++] = c;
	return 0;
}

/* Reads what follows a backslash in quotes. */
static int parse_escape(struct parser *p, char quote)
{
	char c = *p->at;
	int r = 0;

	if (c == 'n' || c == 'r' || c == 't')
		c = c == 'n' ? '\n' : c == 'r' ? '\r' : '\t';
	else if (c != quote && c != '\\')
		return put(p, '\\'); /* it stands for itself; c is read as any character */
	r = put(p, c);
	p->at++;
	return r;
}

static int parse_quoted(struct parser *p)
{
	char quote = *p->at++;

	while (*p->at != quote) {
		int r;

		if (!*p->at)
			return fail(p, "missing closing quote");
		if (*p->at == '\\' && quote != '`') {
			p->at++;
			r = parse_escape(p, quote);
		} else {
			r = put(p, *p->at++);
		}
		if (r < 0)
			return r;
	}
	p->at++;
	return put(p, '\0');
}

static int parse_name(struct parser *p, const char **ret)
{
	int r;

	*ret = p->ret->texts + p->n_texts;
	if (is_quote(*p->at)) {
		r = parse_quoted(p);
		return r == 0 && !**ret ? fail(p, "empty label name") : r;
	}
	if (!is_name_char(*p->at))
		return fail(p, "expected a label name");
	while (is_name_char(*p->at)) {
		r = put(p, *p->at++);
		if (r < 0)
			return r;
	}
	return put(p, '\0');
}

static int parse_op(struct parser *p, enum label_match *ret)
{
	static const struct {
		const char *text;
		enum label_match op;
	} ops[] = {
		{"=~", LABEL_MATCHES},
		{"!~", LABEL_NOT_MATCHES},
		{"!=", LABEL_NOT_EQUAL},
		{"=", LABEL_EQUAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		size_t len = strlen(ops[i].text);

		if (strncmp(p->at, ops[i].text, len) != 0)
			continue;
		p->at += len;
		*ret = ops[i].op;
		return 0;
	}
	return fail(p, "expected =, !=, =~ or !~");
}

static int parse_matcher(struct parser *p)
{
	struct label_matcher *m = &p->ret->items[p->ret->n_items];
	int r;

	if (p->ret->n_items == LABEL_MATCHERS_MAX)
		return err_set(p->err, -EINVAL, "label matchers: more than %u of them",
			       LABEL_MATCHERS_MAX);
	r = parse_name(p, &m->name);
	if (r < 0)
		return r;
	skip_spaces(p);
	r = parse_op(p, &m->op);
	if (r < 0)
		return r;
	skip_spaces(p);
	if (!is_quote(*p->at))
		return fail(p, "expected a value in quotes");
	m->value = p->ret->texts + p->n_texts;
	r = parse_quoted(p);
	if (r == 0)
		p->ret->n_items++;
	return r;
}

int label_matchers_parse(struct label_matchers *ret, const char *text, struct err *err)
{
	struct parser p = {.ret = ret, .begin = text, .at = text, .err = err};
	bool braces;

	ret->n_items = 0;
	skip_spaces(&p);
	braces = *p.at == '{';
	p.at += braces;
	for (skip_spaces(&p); *p.at && *p.at != '}';) {
		int r = parse_matcher(&p);

		if (r < 0)
			return r;
		skip_spaces(&p);
		if (*p.at == ',')
			p.at++;
		else if (*p.at && *p.at != '}')
			return fail(&p, "expected a comma");
		skip_spaces(&p);
	}
	if (braces != (*p.at == '}'))
		return fail(&p, braces ? "missing }" : "} without {");
	p.at += braces;
	skip_spaces(&p);
	return *p.at ? fail(&p, "unexpected text") : 0;
}
