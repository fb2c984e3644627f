/*
 * The internal name is copied, then rules shorten it one after the other, each looking at the end
 * of the name or for one marker. All of them are bounded by the length of the name, which is at
 * most JAVA_NAME_MAX_BYTES. A rule applies only if what it drops looks as the generator makes it,
 * so that a class which somebody called "Foo$ByteBuddy$Helper" keeps its name.
 */
#include "common/jfr/java_names.h"

#include "common/text/utf8.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_alphanumeric(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void cut(struct java_name *n, size_t len)
{
	n->len = len;
	n->text[len] = '\0';
}

/* Drops count bytes at from. */
static void drop(struct java_name *n, size_t from, size_t count)
{
	memmove(n->text + from, n->text + from + count, n->len - from - count);
	cut(n, n->len - count);
}

static size_t digits_at_end(const struct java_name *n)
{
	size_t i = n->len;

	while (i > 0 && is_digit(n->text[i - 1]))
		i--;
	return n->len - i;
}

static bool ends_with(const struct java_name *n, size_t len, const char *suffix)
{
	size_t k = strlen(suffix);

	return len >= k && memcmp(n->text + len - k, suffix, k) == 0;
}

/* Where the name of the class begins, after its package. */
static size_t simple_name(const struct java_name *n)
{
	size_t i = n->len;

	while (i > 0 && n->text[i - 1] != '/')
		i--;
	return i;
}

/*
 * "/0x1f", ".0x1f", "+0x1f", "/123": address or number of a hidden or anonymous class. The JDK's
 * recordings have both. Returns false if there is none.
 */
static bool drop_hidden_suffix(struct java_name *n)
{
	size_t i = n->len;

	while (i > 0 && is_hex(n->text[i - 1]))
		i--;
	if (i == n->len)
		return false;
	if (i >= 3 && n->text[i - 1] == 'x' && n->text[i - 2] == '0' &&
	    strchr("/.+", n->text[i - 3]) != NULL) {
		cut(n, i - 3);
		return true;
	}
	i = n->len - digits_at_end(n);
	if (i < 2 || i == n->len || n->text[i - 1] != '/')
		return false;
	cut(n, i - 1);
	return true;
}

/* Names that end in a number given at run time. */
static void drop_number(struct java_name *n)
{
	static const char *const numbered[] = {
		"GeneratedMethodAccessor",
		"GeneratedConstructorAccessor",
		"GeneratedSerializationConstructorAccessor",
		"$Proxy",
		"LambdaForm$MH",
		"LambdaForm$DMH",
		"LambdaForm$BMH",
		"LambdaForm$LFI",
	};
	size_t len = n->len - digits_at_end(n);

	if (len == n->len)
		return;
	if (ends_with(n, len, "$$Lambda$")) {
		cut(n, len - 1);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbered); i++) {
		if (ends_with(n, len, numbered[i])) {
			cut(n, len);
			return;
		}
	}
}

/* "jdk/proxy2/$Proxy": modules of proxies are numbered as well. */
static void drop_proxy_package_number(struct java_name *n)
{
	static const char package[] = "jdk/proxy";
	size_t end = sizeof(package) - 1;

	if (n->len < end || memcmp(n->text, package, end) != 0)
		return;
	while (is_digit(n->text[end]))
		end++;
	if (n->text[end] == '/')
		drop(n, sizeof(package) - 1, end - (sizeof(package) - 1));
}

/* "Foo$$EnhancerBySpringCGLIB$$1a2b3c", which may be inside another one. */
static void drop_cglib_hashes(struct java_name *n)
{
	size_t at = 0;
	bool is_generated = strstr(n->text, "CGLIB$$") || strstr(n->text, "$$EnhancerBy") ||
			    strstr(n->text, "$$FastClassBy") || strstr(n->text, "$$KeyFactoryBy");

	while (is_generated && at + 2 < n->len) {
		size_t end = at + 2;

		if (n->text[at] != '$' || n->text[at + 1] != '$') {
			at++;
			continue;
		}
		while (is_hex(n->text[end]))
			end++;
		if (end > at + 2 && (n->text[end] == '\0' || n->text[end] == '$'))
			drop(n, at, end - at);
		else
			at++;
	}
}

/* "Foo$ByteBuddy$aB3": a random name behind a marker. */
static void drop_random_suffix(struct java_name *n)
{
	static const struct {
		const char *marker;
		size_t min, max; /* length of the random part */
	} rules[] = {
		{"$ByteBuddy$", 8, 8},
		{"$MockitoMock$", 6, 12},
		{"$HibernateProxy$", 8, 8},
		{"$HibernateInstantiator$", 8, 8},
		{"$HibernateAccessOptimizer$", 8, 8},
		{"$auxiliary$", 8, 8},
		{"__Accessor_", 6, 6},
		{"__Instantiator_", 6, 6},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const char *found = strstr(n->text, rules[i].marker);
		size_t from, end;

		if (!found)
			continue;
		from = (size_t)(found - n->text) + strlen(rules[i].marker);
		end = from;
		while (is_alphanumeric(n->text[end]))
			end++;
		if (end - from >= rules[i].min && end - from <= rules[i].max &&
		    (n->text[end] == '\0' || n->text[end] == '$'))
			drop(n, from - 1, end - from + 1);
	}
}

/* "Foo_$$_jvst8f3_0", "Foo_$$_javassist_12" */
static void drop_javassist_number(struct java_name *n)
{
	static const char *const markers[] = {"_$$_jvst", "_$$_javassist"};

	for (size_t i = 0; i < ARRAY_SIZE(markers); i++) {
		const char *found = strstr(n->text, markers[i]);
		size_t end, p;

		if (!found)
			continue;
		end = (size_t)(found - n->text) + strlen(markers[i]);
		p = end;
		while (is_hex(n->text[p]) || n->text[p] == '_')
			p++;
		if (n->text[p] == '\0')
			cut(n, end);
	}
}

/* "Script12", "Script12$_run_closure1": Groovy numbers the scripts of a shell. */
static void drop_groovy_number(struct java_name *n)
{
	static const char script[] = "Script";
	size_t end = sizeof(script) - 1;

	if (n->len < end || memcmp(n->text, script, end) != 0)
		return;
	while (is_digit(n->text[end]))
		end++;
	if (n->text[end] == '\0' || n->text[end] == '$')
		drop(n, sizeof(script) - 1, end - (sizeof(script) - 1));
}

/* "jdk/jfr/internal/handlers/EventHandler1299_1795426697126-11552", of JDK 9 to 18 */
static void drop_event_handler_number(struct java_name *n)
{
	static const char handler[] = "jdk/jfr/internal/handlers/EventHandler";
	size_t len = sizeof(handler) - 1;

	if (n->len > len && memcmp(n->text, handler, len) == 0 && is_digit(n->text[len]) &&
	    strspn(n->text + len, "0123456789_-") == n->len - len)
		cut(n, len);
}

static void copy(struct java_name *n, const char *text, size_t len)
{
	cut(n, len < JAVA_NAME_MAX_BYTES ? len : JAVA_NAME_MAX_BYTES);
	memcpy(n->text, text, n->len);
	for (size_t i = 0; i < n->len; i++) {
		if (n->text[i] == '\0')
			n->text[i] = '?';
	}
}

static void make_printable(struct java_name *n)
{
	cut(n, utf8_make_printable(n->text, n->len));
}

/* Stores the name with slashes, without what changes from run to run. */
static void fold(struct java_name *n, const char *name, size_t len)
{
	copy(n, name, len);
	while (drop_hidden_suffix(n))
		;
	for (size_t i = 0; i < n->len; i++) {
		if (n->text[i] == '.')
			n->text[i] = '/';
	}
	drop_number(n);
	drop_proxy_package_number(n);
	drop_cglib_hashes(n);
	drop_random_suffix(n);
	drop_javassist_number(n);
	drop_groovy_number(n);
	drop_event_handler_number(n);
}

static const char *primitive_name(char descriptor)
{
	static const char *const names[] = {
		"Bbyte", "Cchar", "Ddouble", "Ffloat", "Iint", "Jlong", "Sshort", "Zboolean",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i][0] == descriptor)
			return names[i] + 1;
	}
	return NULL;
}

void java_name_of_class(struct java_name *ret, const char *class_name, size_t len)
{
	const char *primitive = NULL;
	size_t dimensions = 0;

	while (dimensions < len && dimensions < 255 && class_name[dimensions] == '[')
		dimensions++;
	class_name += dimensions;
	len -= dimensions;
	if (dimensions > 0 && len == 1)
		primitive = primitive_name(class_name[0]);
	if (dimensions > 0 && len >= 2 && class_name[0] == 'L' && class_name[len - 1] == ';') {
		class_name++;
		len -= 2;
	}
	if (primitive)
		copy(ret, primitive, strlen(primitive));
	else
		fold(ret, class_name, len);
	for (size_t i = 0; i < ret->len; i++) {
		if (ret->text[i] == '/')
			ret->text[i] = '.';
	}
	make_printable(ret);
	for (; dimensions > 0 && ret->len + 2 <= JAVA_NAME_MAX_BYTES; dimensions--) {
		memcpy(ret->text + ret->len, "[]", 3);
		ret->len += 2;
	}
}

static bool has_no_source(const struct java_name *n)
{
	static const char *const generated[] = {
		"$Proxy",
		"GeneratedMethodAccessor",
		"GeneratedConstructorAccessor",
		"GeneratedSerializationConstructorAccessor",
		"LambdaForm$MH",
		"LambdaForm$DMH",
		"LambdaForm$BMH",
		"LambdaForm$LFI",
	};

	for (size_t i = 0; i < ARRAY_SIZE(generated); i++) {
		size_t len = strlen(generated[i]);

		/* all of the class's own name: "Foo$Proxy" is in Foo */
		if (n->len - simple_name(n) == len && ends_with(n, n->len, generated[i]))
			return true;
	}
	return false;
}

void java_name_of_file(struct java_name *ret, const char *class_name, size_t len)
{
	size_t simple, end;

	fold(ret, class_name, len);
	if (ret->len == 0 || ret->text[0] == '[' || has_no_source(ret)) {
		cut(ret, 0);
		return;
	}
	simple = simple_name(ret);
	for (end = simple + 1; end < ret->len && ret->text[end] != '$'; end++)
		;
	if (end < ret->len && end > simple + 1 && ret->text[end - 1] == '_' &&
	    strncmp(ret->text + end, "$$_", 3) == 0)
		end--;
	if (end < ret->len)
		cut(ret, end);
	make_printable(ret);
}

/* "I2C/C2I adapters(0xbbaa)": adapters of one kind of signature each */
static void drop_fingerprint(struct java_name *n)
{
	size_t i = n->len > 0 ? n->len - 1 : 0;

	if (!ends_with(n, n->len, ")"))
		return;
	while (i > 0 && is_hex(n->text[i - 1]))
		i--;
	if (i + 1 < n->len && ends_with(n, i, "(0x"))
		cut(n, i - 3);
}

void java_name_of_text(struct java_name *ret, const char *text, size_t len)
{
	copy(ret, text, len);
	drop_fingerprint(ret);
	make_printable(ret);
}
