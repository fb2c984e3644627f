#include "common/flame/frame_text.h"

#include "common/text/parse.h"

#define INLINED ":inlined"

/* Index after the last c, or 0 when there is none. */
static size_t after_last(const char *s, size_t len, char c)
{
	while (len > 0 && s[len - 1] != c)
		len--;
	return len;
}

/* Some compilers' debug information yields negative lines; they mean "unknown". */
static bool parse_line(const char *s, size_t len, int64_t *ret)
{
	bool negative = len > 0 && s[0] == '-';
	uint64_t line;

	if (parse_u64(s + negative, len - negative, 0, INT64_MAX, &line) < 0)
		return false;
	*ret = negative ? 0 : (int64_t)line;
	return true;
}

/* Returns the length without the mark of an inlined frame. */
static size_t without_mark(const char *s, size_t len)
{
	size_t mark = strlen(INLINED);

	return len > mark && memcmp(s + len - mark, INLINED, mark) == 0 ? len - mark : len;
}

void frame_text_split(struct frame_text *ret, const char *text, size_t len)
{
	size_t end = without_mark(text, len);
	size_t file = after_last(text, end, ' ');
	size_t line = after_last(text, end, ':');

	*ret = (struct frame_text){.name = text, .name_len = len, .file = text + len};
	if (file == 0 || line <= file)
		return;
	if (!parse_line(text + line, end - line, &ret->line))
		return;
	ret->name_len = file - 1;
	ret->file = text + file;
	ret->file_len = line - 1 - file;
	ret->inlined = end < len;
}

/* "yaml@v1.2.3" → "yaml", "python3.11" → "python", "serde-1.0.200" → "serde" */
static size_t without_version(const char *folder, size_t len)
{
	const char *at = len > 1 ? memchr(folder + 1, '@', len - 1) : NULL;

	if (at)
		len = (size_t)(at - folder);
	while (len > 0 && strchr("0123456789.-_", folder[len - 1]))
		len--;
	return len;
}

size_t frame_file_key(const char *file, size_t len, char buf[FRAME_FILE_KEY_MAX], const char **ret)
{
	size_t name = after_last(file, len, '/');
	size_t folder = name > 0 ? after_last(file, name - 1, '/') : 0;
	size_t n_folder, n_rest;

	*ret = file;
	if (name == 0 || len >= FRAME_FILE_KEY_MAX)
		return len;
	n_folder = without_version(file + folder, name - 1 - folder);
	n_rest = len - (name - 1); /* "/", then the name */
	memcpy(buf, file + folder, n_folder);
	memcpy(buf + n_folder, file + name - 1, n_rest);
	*ret = buf;
	return n_folder + n_rest;
}

bool frame_file_is_label(const char *file, size_t len)
{
	static const char kernel[] = "[kernel]";

	return len > 2 && file[0] == '[' && file[len - 1] == ']' &&
	       !(len == strlen(kernel) && memcmp(file, kernel, len) == 0);
}

bool frame_file_is_native(const char *file, size_t len)
{
	/* what a file's name ends with; the headers of C++ end with nothing */
	static const char endings[] = " c cc cpp cxx c++ C h hh hpp hxx h++ H tcc ipp inl inc def "
				      "rs s S asm f f90 f95 f03 f08 F F90 for d di zig nim adb "
				      "ads pas pp m mm swift ml mli hs y l cu ll ";
	size_t name = after_last(file, len, '/');
	size_t dot = after_last(file, len, '.');
	char ending[8];

	if (dot <= name)
		return name > 0 && memmem(file, len, "/c++/", 5);
	if (len == dot || len - dot > sizeof(ending) - 3)
		return false;
	ending[0] = ' ';
	memcpy(ending + 1, file + dot, len - dot);
	memcpy(ending + 1 + (len - dot), " ", 2);
	return strstr(endings, ending) != NULL;
}
