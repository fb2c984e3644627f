#include "cluster-agent/source/source_links.h"

#include <errno.h>
#include <fnmatch.h>

#include "cluster-agent/source/source_folders.h"

#define OPTION "--source-url-template: "
#define BLANKS " \t"
#define CONFIG_BYTES ((size_t)1 << 20)
#define LABEL "label:"
#define LABEL_LEN (sizeof(LABEL) - 1)
#define MAX_NAME_BYTES 128u

/* A place in a template: "{path}", "{line}", "{label:NAME}" or "{label:NAME|OTHER}". */
struct place {
	size_t len; /* with both braces */
	bool is_path;
	bool is_line;
	char label[MAX_NAME_BYTES]; /* "": another place */
	const char *other;          /* NULL: there is none */
	size_t n_other;
};

/* at is at "{". Returns whether it is one of the places. */
static bool read_place(const char *at, struct place *ret)
{
	size_t len = strcspn(at, "}"), n_name;
	const char *text = at + 1;

	*ret = (struct place){.len = len + 1};
	if (at[len] != '}')
		return false;
	ret->is_path = len == 5 && memcmp(text, "path", 4) == 0;
	ret->is_line = len == 5 && memcmp(text, "line", 4) == 0;
	if (ret->is_path || ret->is_line)
		return true;
	if (len <= 1 + LABEL_LEN || memcmp(text, LABEL, LABEL_LEN) != 0)
		return false;
	text += LABEL_LEN;
	n_name = strcspn(text, "|}");
	if (n_name == 0 || n_name >= MAX_NAME_BYTES)
		return false;
	memcpy(ret->label, text, n_name);
	if (text[n_name] == '|') {
		ret->other = text + n_name + 1;
		ret->n_other = strcspn(ret->other, "}");
	}
	return true;
}

/* ---- the option ---- */

static const char *path_of_url(const char *url)
{
	if (strncmp(url, "https://", 8) == 0)
		return strchr(url + 8, '/');
	return strncmp(url, "http://", 7) == 0 ? strchr(url + 7, '/') : NULL;
}

static int check_url(const char *url, struct err *err)
{
	const char *path = path_of_url(url), *at;
	struct place place;

	if (!path || memchr(url, '{', (size_t)(path - url)))
		return err_set(err, -EINVAL,
			       OPTION "\"%.80s\" is not an http:// or https:// URL of a host and "
				      "a path",
			       url);
	if (!strstr(path, "{path}"))
		return err_set(err, -EINVAL, OPTION "\"%.80s\" has no {path}", url);
	for (at = strchr(path, '{'); at; at = strchr(at + place.len, '{')) {
		if (!read_place(at, &place))
			return err_set(err, -EINVAL,
				       OPTION "\"%.40s\" is not {path}, {line}, {label:NAME} or "
					      "{label:NAME|OTHER}",
				       at);
	}
	return 0;
}

static int add_strip(struct source_link *link, const char *prefix, struct err *err)
{
	if (link->n_strips == SOURCE_LINK_STRIPS_MAX)
		return err_set(err, -EINVAL,
			       OPTION "more than %u times strip=", SOURCE_LINK_STRIPS_MAX);
	link->strips[link->n_strips++] = prefix;
	return 0;
}

static int add_word(struct source_links *l, struct source_link *link, const char *word, size_t len,
		    struct err *err)
{
	bool is_app = len > 4 && memcmp(word, "app=", 4) == 0;
	bool is_strip = len > 6 && memcmp(word, "strip=", 6) == 0;
	size_t skipped = is_app ? 4 : is_strip ? 6 : 0;
	char *text;

	while (is_strip && len > skipped + 1 && word[len - 1] == '/')
		len--;
	text = arena_strndup(&l->arena, word + skipped, len - skipped);
	if (!text)
		return -ENOMEM;
	if (link->url)
		return err_set(err, -EINVAL, OPTION "\"%.80s\" follows the URL", word);
	if (is_strip)
		return add_strip(link, text, err);
	if (is_app)
		link->application = text;
	else
		link->url = text;
	return is_app ? 0 : check_url(text, err);
}

static int add_link(struct source_links *l, const char *line, size_t len, struct err *err)
{
	struct source_link *link = &l->items[l->n];
	int r = 0;

	if (l->n == SOURCE_LINKS_MAX)
		return err_set(err, -EINVAL, OPTION "more than %u templates", SOURCE_LINKS_MAX);
	for (size_t at = 0; at < len && r == 0;) {
		size_t n_word = 0;

		at += strspn(line + at, BLANKS);
		while (at + n_word < len && !strchr(BLANKS, line[at + n_word]))
			n_word++;
		if (n_word > 0)
			r = add_word(l, link, line + at, n_word, err);
		at += n_word;
	}
	if (r == 0 && !link->url && (link->application || link->n_strips > 0))
		return err_set(err, -EINVAL, OPTION "\"%.*s\" has no URL",
			       (int)(len < 80 ? len : 80), line);
	l->n += link->url != NULL;
	return r;
}

int source_links_parse(struct source_links *ret, const char *text, struct err *err)
{
	int r = 0;

	*ret = (struct source_links){.n = 0};
	arena_init(&ret->arena, CONFIG_BYTES);
	while (text && *text && r == 0) {
		size_t len = strcspn(text, "\n");

		r = add_link(ret, text, len, err);
		text += len;
		text += *text != '\0';
	}
	if (r < 0)
		source_links_fini(ret);
	return r;
}

void source_links_fini(struct source_links *l)
{
	arena_fini(&l->arena);
	l->n = 0;
}

/* ---- an address ---- */

/* Slashes separate the parts of a path, and are a character of all else. */
static int add_encoded(struct buf *out, const char *text, bool is_path)
{
	int r = 0;

	for (; *text && r == 0; text++) {
		unsigned char c = (unsigned char)*text;
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || strchr("-._~", c) ||
				(is_path && c == '/');

		r = is_plain ? buf_add(out, text, 1) : buf_addf(out, "%%%02X", c);
	}
	return r;
}

/* A browser would take these for a way up. */
static bool is_way_up(const char *value)
{
	return strcmp(value, ".") == 0 || strcmp(value, "..") == 0;
}

static int add_label(struct buf *out, const struct place *place, const struct source_labels *labels,
		     struct err *err)
{
	char value[SOURCE_LABEL_BYTES] = "";
	int r = labels->get(labels->ctx, place->label, value, err);

	if (r < 0)
		return r;
	if (r > 0 && value[0] && !is_way_up(value))
		r = add_encoded(out, value, false);
	else if (place->other)
		r = buf_add(out, place->other, place->n_other);
	else
		return 0;
	return r < 0 ? r : 1;
}

/* Returns 1, 0 if a label is missing, or an error. */
static int fill_in(const char *url, const char *path, const struct source_labels *labels,
		   struct buf *out, struct err *err)
{
	buf_truncate(out, 0);
	while (*url) {
		size_t len = strcspn(url, "{");
		struct place place;
		int r = buf_add(out, url, len);

		url += len;
		if (r < 0 || !*url)
			return r < 0 ? r : 1;
		if (!read_place(url, &place))
			return 0;
		if (place.is_path)
			r = add_encoded(out, path, true) < 0 ? -EFBIG : 1;
		else if (place.is_line)
			r = buf_add(out, url, place.len) < 0 ? -EFBIG : 1;
		else
			r = add_label(out, &place, labels, err);
		if (r <= 0)
			return r;
		url += place.len;
	}
	return 1;
}

static const char *path_for(const struct source_link *link, const char *file)
{
	const char *path;

	if (strncmp(file, "./", 2) == 0)
		file += 2;
	path = link->n_strips == 0 ? file : NULL;
	for (size_t i = 0; i < link->n_strips && !path; i++)
		path = source_after_prefix(file, link->strips[i]);
	return path && source_path_is_plain(path) ? path : NULL;
}

int source_links_make(const struct source_links *l, const char *application, const char *file,
		      const struct source_labels *labels, struct buf *out, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct source_link *link = &l->items[i];
		const char *path = path_for(link, file);
		int r;

		if (!path || (link->application && fnmatch(link->application, application, 0) != 0))
			continue;
		r = fill_in(link->url, path, labels, out, err);
		/* an address that is too long is none */
		if (r != 0 && r != -EFBIG)
			return r;
	}
	return 0;
}
