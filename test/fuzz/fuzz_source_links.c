#include <assert.h>

#include "cluster-agent/source/source_folders.h"
#include "cluster-agent/source/source_links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOST "https://git.example/"

static int get(void *ctx, const char *name, char ret[static SOURCE_LABEL_BYTES], struct err *err)
{
	(void)name, (void)err;
	snprintf(ret, SOURCE_LABEL_BYTES, "%s", (const char *)ctx);
	return 1;
}

static bool has_way_up(const char *url)
{
	size_t len = strlen(url);

	return strstr(url, "/../") || strstr(url, "/./") ||
	       (len >= 3 && strcmp(url + len - 3, "/..") == 0);
}

/* "file \0 value of the label" never leave the host and the repository of a template. */
static void check_link(const char *file, char *value)
{
	const struct source_labels labels = {get, value};
	CLEANUP(buf_fini) struct buf url;
	struct source_links l;
	int r = source_links_parse(
		&l, "strip=/b " HOST "r/{label:v}/{path}#L{line}\n" HOST "r/{path}", NULL);

	assert(r == 0);
	buf_init(&url, SOURCE_URL_MAX_BYTES);
	r = source_links_make(&l, "/a", file, &labels, &url, NULL);
	if (r == 1) {
		assert(strncmp(url.data, HOST "r/", strlen(HOST "r/")) == 0);
		assert(!has_way_up(url.data) && !strpbrk(url.data, " \"<>\n\r\t\\"));
	}
	source_links_fini(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = malloc(size + 2);
	struct source_folders folders;
	struct source_links l;
	char *value;

	assert(text);
	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	value = text + strlen(text) + 1;
	if (value > text + size)
		value = text + size;
	check_link(text, value);
	if (source_links_parse(&l, text, NULL) == 0)
		source_links_fini(&l);
	if (source_folders_parse(&folders, text, NULL) == 0) {
		for (size_t i = 0; i < folders.n; i++) {
			const char *path = source_folder_path(&folders.items[i], value);

			assert(!path || source_path_is_plain(path));
		}
		source_folders_fini(&folders);
	}
	return 0;
}
