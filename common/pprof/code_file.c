#include "common/pprof/code_file.h"

#include <inttypes.h>

#include "common/text/utf8.h"

#define UNKNOWN "[unknown]"
#define DELETED " (deleted)"
#define BUILD_ID_MAX_BYTES 64u
/* Names of files on Linux are no longer; each unnamed location has one. */
#define NAME_MAX_BYTES 255u

struct profile_string code_file_text(struct arena *a, const char *text, size_t len)
{
	char *s = arena_strndup(a, text, len);

	len = s ? len : 0;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] <= ' ' || s[i] == 0x7f)
			s[i] = '_';
	return (struct profile_string){.data = s, .len = len};
}

/*
 * The last part of the path, without what Linux says about removed files, and of a text in brackets
 * without what follows: perf names the kernel "[kernel.kallsyms]_text".
 */
static struct profile_string base_name(const struct profile_string *path)
{
	size_t len = path->len, deleted_len = strlen(DELETED), begin;
	const char *text = path->data, *bracket;

	if (len > deleted_len && memcmp(text + len - deleted_len, DELETED, deleted_len) == 0)
		len -= deleted_len;
	for (begin = len; begin > 0 && text[begin - 1] != '/';)
		begin--;
	if (len == begin)
		return (struct profile_string){"", 0};
	text += begin;
	len -= begin;
	bracket = text[0] == '[' ? memchr(text, ']', len) : NULL;
	if (bracket)
		len = (size_t)(bracket - text) + 1;
	return (struct profile_string){text, utf8_cut(text, len, NAME_MAX_BYTES)};
}

struct profile_string code_file_module(const struct code_file *f, bool with_build_id,
				       struct arena *a)
{
	struct profile_string name = base_name(&f->path), id = {"", 0};
	char text[NAME_MAX_BYTES + BUILD_ID_MAX_BYTES + 4];
	int len;

	if (with_build_id)
		id = f->build_id;
	if (id.len > BUILD_ID_MAX_BYTES)
		id.len = BUILD_ID_MAX_BYTES;
	if (name.len == 0 && id.len == 0)
		return name;
	if (name.len > 2 && name.data[0] == '[' && name.data[name.len - 1] == ']')
		return code_file_text(a, name.data, name.len);
	len = snprintf(text, sizeof(text), "[%.*s%s%.*s]", (int)name.len, name.data,
		       id.len > 0 ? ":" : "", (int)id.len, id.len > 0 ? id.data : "");
	return code_file_text(a, text, (size_t)len);
}

/* Addresses in memory become offsets in the file, where it is known which part of it lies there. */
static uint64_t address_in_file(const struct code_file *f, uint64_t address)
{
	return f->memory_start > 0 && address >= f->memory_start
		       ? address - f->memory_start + f->offset
		       : address;
}

struct profile_string code_file_frame(const struct code_file *f, uint64_t address, struct arena *a)
{
	struct profile_string name = base_name(&f->path), ret;
	char text[NAME_MAX_BYTES + sizeof("+0x0123456789abcdef")];
	int len;

	if (name.len > 0)
		len = snprintf(text, sizeof(text), "%.*s+0x%" PRIx64, (int)name.len, name.data,
			       address_in_file(f, address));
	else if (address > 0)
		len = snprintf(text, sizeof(text), "0x%" PRIx64, address);
	else
		len = snprintf(text, sizeof(text), UNKNOWN);
	ret.data = arena_strndup(a, text, (size_t)len);
	ret.len = ret.data ? (size_t)len : 0;
	return ret;
}

/* Hexadecimal digits and nothing else, of which there are few enough. */
static bool read_number(const char *text, size_t len, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		*ret = *ret * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return len > 0 && len <= 16;
}

/* The last ':' or '@' between a file and a build id, neither of which is empty; or NULL. */
static const char *find_separator(struct profile_string module)
{
	for (size_t i = module.len - 3; i >= 2; i--)
		if (module.data[i] == ':' || module.data[i] == '@')
			return module.data + i;
	return NULL;
}

bool code_file_parse(struct profile_string name, struct profile_string module,
		     struct code_place_text *ret)
{
	static const char plus[] = "+0x";
	const size_t plus_len = strlen(plus);
	const char *separator;
	size_t len;

	if (module.len < 5 || module.data[0] != '[' || module.data[module.len - 1] != ']')
		return false;
	separator = find_separator(module);
	if (!separator)
		return false;
	len = (size_t)(separator - module.data) - 1;
	if (name.len < len + plus_len || memcmp(name.data, module.data + 1, len) != 0 ||
	    memcmp(name.data + len, plus, plus_len) != 0 ||
	    !read_number(name.data + len + plus_len, name.len - len - plus_len, &ret->number))
		return false;
	ret->file = (struct profile_string){module.data + 1, len};
	ret->build_id = (struct profile_string){separator + 1, module.len - len - 3};
	ret->kind = *separator == '@' ? CODE_FILE_ADDRESS : CODE_FILE_OFFSET;
	return true;
}
