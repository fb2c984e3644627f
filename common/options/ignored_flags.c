#include "common/options/ignored_flags.h"

#include <errno.h>

static bool name_is(const char *name, size_t len, const char *want)
{
	return strlen(want) == len && memcmp(name, want, len) == 0;
}

/* The flag of an argument without its value, "--name", or NULL. */
static const struct ignored_flag *find(const struct ignored_flag *flags, const char *arg)
{
	const char *name = arg + 2;
	size_t len;

	if (!flags || strncmp(arg, "--", 2) != 0)
		return NULL;
	len = strcspn(name, "=");
	for (const struct ignored_flag *f = flags; f->name; f++) {
		if (name_is(name, len, f->name) ||
		    (f->is_switch && len > 3 && memcmp(name, "no-", 3) == 0 &&
		     name_is(name + 3, len - 3, f->name)))
			return f;
	}
	return NULL;
}

static int add_name(char **names, const char *arg)
{
	int len = (int)strcspn(arg, "=");
	char *longer;

	if (asprintf(&longer, "%s%s%.*s", *names ?: "", *names ? " " : "", len, arg) < 0)
		return -ENOMEM;
	free(*names);
	*names = longer;
	return 0;
}

int ignored_flags_remove(const struct ignored_flag *flags, char **argv, char ***ret,
			 char **ret_names)
{
	AUTO_FREE char **kept = NULL;
	AUTO_FREE char *names = NULL;
	size_t n = 0, n_kept = 0;

	while (argv[n])
		n++;
	kept = calloc(n + 1, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct ignored_flag *f = find(flags, argv[i]);

		if (!f) {
			kept[n_kept++] = argv[i];
			continue;
		}
		if (add_name(&names, argv[i]) < 0)
			return -ENOMEM;
		if (!f->is_switch && !strchr(argv[i], '=') && i + 1 < n)
			i++;
	}
	*ret = TAKE_PTR(kept);
	*ret_names = TAKE_PTR(names);
	return 0;
}
