#include "common/symbols/demangle.h"

#include <setjmp.h>

#include <libiberty/demangle.h>

#define XXH_INLINE_ALL
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

#include "common/symbols/plain_names.h"
#include "common/text/utf8.h"

/* Of a symbol, longer ones are equal if so much of them is. */
#define SYMBOL_MAX_BYTES ((size_t)64 << 10)
/* A shorter text has no room for a digest. */
#define DIGEST_MIN_BYTES 64u

struct output {
	char *to;
	size_t cap;
	size_t len;
	bool is_full; /* there was more */
	bool is_rust; /* the Rust demangler is the one that is running */
	jmp_buf full;
};

static bool is_ascii(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] >= 0x80)
			return false;
	}
	return true;
}

/*
 * libiberty's callback cannot stop the demangler, so output that explodes is left by
 * longjmp(). This leaks nothing, because the callback variants keep their state on the stack,
 * with one exception: the Rust demangler has allocated memory while it passes on a decoded
 * Punycode identifier. It does that in one piece, which always has a character beyond ASCII,
 * so no jump leaves such a piece. The limit still holds, since everything in Rust names that
 * multiplies output prints ASCII separators in between.
 */
static void append(const char *s, size_t len, void *ctx)
{
	struct output *out = ctx;
	size_t room = out->cap - 1 - out->len;
	size_t n = len < room ? len : room;

	if (n > 0) /* s may be NULL if there is nothing to add */
		memcpy(out->to + out->len, s, n);
	out->len += n;
	out->is_full |= len > room;
	if (len > room && (!out->is_rust || is_ascii(s, len)))
		longjmp(out->full, 1);
}

/* Returns the length without suffixes such as " [clone .part.0] [clone .cold]". */
static size_t without_clones(const char *s, size_t len)
{
	static const char clone[] = " [clone ";

	for (size_t i = 0; i + sizeof(clone) - 1 < len && s[len - 1] == ']'; i++) {
		if (memcmp(s + i, clone, sizeof(clone) - 1) == 0)
			return i;
	}
	return len;
}

/* Returns false if the name is not mangled. setjmp() is here, where no local variable changes. */
static bool demangle_into(const char *name, struct output *out)
{
	if (setjmp(out->full))
		return true;
	out->is_rust = true;
	if (rust_demangle_callback(name, 0, append, out))
		return true;
	out->is_rust = out->is_full = false;
	out->len = 0;
	return name[0] == '_' && name[1] == 'Z' &&
	       cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out);
}

/* The readable form of len bytes, not mangled; it may be longer than cap. Returns its length. */
static size_t copy_plain(const char *name, size_t len, char *to, size_t cap)
{
	size_t n = plain_name_read(name, len, to, cap);

	if (n > 0)
		return n;
	memcpy(to, name, len < cap ? len : cap);
	return len;
}

/* Rust's v0 mangling has "<std::path::PathBuf>::new" where the older one has no brackets. */
static size_t without_brackets(char *name, size_t len)
{
	size_t end;

	name[len] = '\0';
	end = name[0] == '<' ? strcspn(name + 1, "<>&*[]() ,") + 1 : len;
	if (end + 2 >= len || memcmp(name + end, ">::", 3) != 0)
		return len;
	memmove(name, name + 1, end - 1);
	memmove(name + end - 1, name + end + 1, len - end - 1);
	return len - 2;
}

/*
 * Names that are too long differ in what is cut, often, so a digest of the symbol is the end. It
 * is the same wherever the symbol is read.
 */
static size_t end_with_digest(const char *symbol, size_t symbol_len, char *to, size_t len)
{
	char digest[32];
	size_t n = (size_t)snprintf(digest, sizeof(digest), "~%016llx",
				    (unsigned long long)XXH3_64bits(symbol, symbol_len));

	if (len < DIGEST_MIN_BYTES)
		return len;
	len -= n;
	while (len > 0 && ((unsigned char)to[len] & 0xc0) == 0x80)
		len--; /* a character that would be cut */
	memcpy(to + len, digest, n);
	return len + n;
}

size_t demangle(const char *name, char *to, size_t cap)
{
	char mangled[DEMANGLE_INPUT_MAX_BYTES + 1];
	struct output out = {.to = to, .cap = cap};
	size_t symbol_len = strnlen(name, SYMBOL_MAX_BYTES), len;
	const char *version = memchr(name, '@', symbol_len);

	if (version && version != name)
		symbol_len = (size_t)(version - name);
	symbol_len = plain_name_without_parts(name, symbol_len);
	if (name[0] != '_' || symbol_len >= sizeof(mangled)) {
		len = copy_plain(name, symbol_len, to, cap - 1);
	} else {
		memcpy(mangled, name, symbol_len);
		mangled[symbol_len] = '\0';
		if (!demangle_into(mangled, &out) || out.len == 0)
			len = copy_plain(mangled, symbol_len, to, cap - 1);
		else if (out.is_full)
			len = cap;
		else if (out.is_rust)
			len = without_brackets(to, out.len);
		else
			len = without_clones(to, out.len);
	}
	if (len >= cap)
		len = end_with_digest(name, symbol_len, to, cap - 1);
	len = utf8_make_printable(to, len);
	to[len] = '\0';
	return len;
}
