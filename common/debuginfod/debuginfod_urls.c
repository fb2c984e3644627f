#include "common/debuginfod/debuginfod_urls.h"

#include <errno.h>

#define SEPARATORS ", \t\r\n"
#define URL_MAX_BYTES 4096u

static bool is_http(const char *url)
{
	return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

static int add(struct debuginfod_urls *u, const char *word, size_t len, struct err *err)
{
	char *url;

	if (len >= 4 && memcmp(word, "ima:", 4) == 0)
		return 0;
	if (u->n == DEBUGINFOD_URLS_MAX)
		return err_set(err, -EINVAL, "more than %u debuginfod servers",
			       DEBUGINFOD_URLS_MAX);
	while (len > 0 && word[len - 1] == '/')
		len--;
	url = strndup(word, len);
	if (!url)
		return -ENOMEM;
	u->urls[u->n++] = url;
	if (!is_http(url) || len > URL_MAX_BYTES)
		return err_set(err, -EINVAL,
			       "debuginfod server \"%.80s\": not an http:// or https:// URL", url);
	return 0;
}

int debuginfod_urls_parse(struct debuginfod_urls *ret, const char *text, struct err *err)
{
	int r = 0;

	*ret = (struct debuginfod_urls){.n = 0};
	while (text && r == 0) {
		size_t len;

		text += strspn(text, SEPARATORS);
		len = strcspn(text, SEPARATORS);
		if (len == 0)
			break;
		r = add(ret, text, len, err);
		text += len;
	}
	if (r < 0)
		debuginfod_urls_fini(ret);
	return r;
}

void debuginfod_urls_fini(struct debuginfod_urls *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->urls[i]);
	u->n = 0;
}

int debuginfod_url_of(char **ret, const char *server, const char *build_id,
		      enum debuginfod_file file)
{
	if (asprintf(ret, "%s/buildid/%s/%s", server, build_id,
		     file == DEBUGINFOD_DEBUGINFO ? "debuginfo" : "executable") >= 0)
		return 0;
	*ret = NULL;
	return -ENOMEM;
}

int debuginfod_redirect(char **ret, const char *url, const char *location)
{
	size_t scheme = strcspn(url, ":"), server;
	int r;

	*ret = NULL;
	if (!location || strlen(location) > URL_MAX_BYTES || !is_http(url))
		return -EINVAL;
	if (is_http(location)) {
		if (scheme == 5 && strncmp(location, "https:", 6) != 0)
			return -EINVAL;
		*ret = strdup(location);
		return *ret ? 0 : -ENOMEM;
	}
	if (location[0] != '/' || location[1] == '/')
		return -EINVAL;
	server = scheme + 3 + strcspn(url + scheme + 3, "/?#");
	r = asprintf(ret, "%.*s%s", (int)server, url, location);
	if (r >= 0)
		return 0;
	*ret = NULL;
	return -ENOMEM;
}
