#include "node-agent/workload/name_rules.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdatomic.h>

#define GROUPS 10

struct rule {
	regex_t regex;
	char *name;
};

struct name_rules {
	atomic_uint refs;
	size_t n;
	struct rule rules[NAME_RULES_MAX];
};

struct name_rules *name_rules_ref(struct name_rules *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void name_rules_unref(struct name_rules *r)
{
	/* acquire: other owners' reads of r must come before it is freed */
	if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < r->n; i++) {
		regfree(&r->rules[i].regex);
		free(r->rules[i].name);
	}
	free(r);
}

/* The name must not use groups that the expression lacks. */
static int check_name(const char *line, const struct rule *rule, struct err *err)
{
	for (const char *p = rule->name; (p = strchr(p, '\\')) != NULL; p += p[1] ? 2 : 1) {
		if (isdigit((unsigned char)p[1]) && (size_t)(p[1] - '0') > rule->regex.re_nsub)
			return err_set(err, -EINVAL,
				       "--name-rule: \"%s\": the expression has no group \\%c",
				       line, p[1]);
	}
	return 0;
}

static int add_rule(struct name_rules *r, char *line, struct err *err)
{
	struct rule *rule = &r->rules[r->n];
	char *equals = strrchr(line, '='), message[128];
	int e;

	if (r->n == NAME_RULES_MAX)
		return err_set(err, -EINVAL, "--name-rule: more than %d rules", NAME_RULES_MAX);
	if (!equals || equals == line || !equals[1])
		return err_set(err, -EINVAL, "--name-rule: \"%s\" is not REGEX=NAME", line);
	rule->name = strdup(equals + 1);
	if (!rule->name)
		return -ENOMEM;
	*equals = '\0';
	e = regcomp(&rule->regex, line, REG_EXTENDED);
	if (e != 0) {
		free(rule->name);
		if (e == REG_ESPACE)
			return -ENOMEM;
		regerror(e, &rule->regex, message, sizeof(message));
		return err_set(err, -EINVAL, "--name-rule: \"%s\": %s", line, message);
	}
	r->n++;
	return check_name(line, rule, err);
}

int name_rules_new(struct name_rules **ret, const char *lines, struct err *err)
{
	CLEANUP(name_rules_unrefp) struct name_rules *r = calloc(1, sizeof(*r));
	AUTO_FREE char *copy = strdup(lines ? lines : "");
	char *rest = copy, *line;
	int e = 0;

	if (r)
		atomic_init(&r->refs, 1);
	if (!r || !copy)
		return -ENOMEM;
	while (e == 0 && (line = strsep(&rest, "\n")) != NULL) {
		if (line[0])
			e = add_rule(r, line, err);
	}
	if (e == 0)
		*ret = TAKE_PTR(r);
	return e;
}

bool name_rules_any(const struct name_rules *r)
{
	return r && r->n > 0;
}

/* Appends text[0..len) as far as it fits. */
static size_t append(char *ret, size_t at, size_t size, const char *text, size_t len)
{
	if (len > size - 1 - at)
		len = size - 1 - at;
	memcpy(ret + at, text, len);
	return at + len;
}

static bool expand(const struct rule *rule, const char *subject, const regmatch_t *groups,
		   char *ret, size_t size)
{
	size_t at = 0, start;

	if (rule->name[0] != '/')
		at = append(ret, at, size, "/process/", strlen("/process/"));
	start = at;
	for (const char *p = rule->name; *p; p++) {
		const regmatch_t *g;

		if (p[0] != '\\' || !p[1]) {
			at = append(ret, at, size, p, 1);
			continue;
		}
		p++;
		if (!isdigit((unsigned char)*p)) {
			at = append(ret, at, size, p, 1);
			continue;
		}
		g = &groups[*p - '0'];
		if (g->rm_so >= 0)
			at = append(ret, at, size, subject + g->rm_so,
				    (size_t)(g->rm_eo - g->rm_so));
	}
	ret[at] = '\0';
	return at > start && strcmp(ret, "/") != 0;
}

bool name_rules_apply(const struct name_rules *r, const char *subject, char *ret, size_t size)
{
	char bounded[NAME_RULE_SUBJECT_BYTES];
	regmatch_t groups[GROUPS];

	/* the time that an expression takes depends on the length of the text */
	snprintf(bounded, sizeof(bounded), "%s", subject);
	for (size_t i = 0; i < r->n; i++) {
		if (regexec(&r->rules[i].regex, bounded, GROUPS, groups, 0) == 0 &&
		    expand(&r->rules[i], bounded, groups, ret, size))
			return true;
	}
	return false;
}
