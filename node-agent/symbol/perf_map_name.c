#include "node-agent/symbol/perf_map_name.h"

#include "common/jfr/java_names.h"
#include "common/text/parse.h"
#include "common/text/utf8.h"

#define JAVA_TYPE_CHARACTERS                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
	"_$.[]/-"

/* A part of the name; not NUL-terminated. */
struct part {
	const char *text;
	size_t len;
};

static struct part part_of(const char *from, const char *to)
{
	return (struct part){from, (size_t)(to - from)};
}

static const char *end_of(struct part p)
{
	return p.text + p.len;
}

static const char *find(struct part p, const char *needle)
{
	return memmem(p.text, p.len, needle, strlen(needle));
}

static bool begins_with(struct part p, const char *prefix)
{
	return p.len >= strlen(prefix) && memcmp(p.text, prefix, strlen(prefix)) == 0;
}

static const char *last_of(struct part p, char c)
{
	return p.len > 0 ? memrchr(p.text, c, p.len) : NULL;
}

static void copy_printable(char *to, size_t cap, struct part p)
{
	size_t len = p.len < cap - 1 ? p.len : cap - 1;

	if (len > 0)
		memcpy(to, p.text, len);
	to[utf8_make_printable(to, len)] = '\0';
}

static void set_file(char to[PERF_MAP_FILE_BYTES + 1], struct part file)
{
	if (begins_with(file, "file://"))
		file = part_of(file.text + strlen("file://"), end_of(file));
	copy_printable(to, PERF_MAP_FILE_BYTES + 1, file);
	if (to[0] == '\0')
		snprintf(to, PERF_MAP_FILE_BYTES + 1, PERF_MAP_NO_FILE);
	for (char *c = to; *c; c++) {
		if (*c == ' ')
			*c = '_';
	}
}

void perf_map_name_file(char to[PERF_MAP_FILE_BYTES + 1], const char *file)
{
	set_file(to, (struct part){file, strlen(file)});
}

/* Both parts; an empty one is replaced. */
static void set(struct perf_map_name *ret, struct part function, struct part file)
{
	copy_printable(ret->function, sizeof(ret->function), function);
	set_file(ret->file, file);
	if (ret->function[0] == '\0')
		snprintf(ret->function, sizeof(ret->function), "(anonymous)");
}

/* ---- V8 ---- */

/* Cuts ":12" off and returns true; false: there is no number after the last colon. */
static bool cut_number(struct part *p, uint64_t *ret)
{
	const char *colon = last_of(*p, ':');

	if (!colon ||
	    parse_u64(colon + 1, (size_t)(end_of(*p) - colon - 1), 0, UINT32_MAX, ret) < 0)
		return false;
	p->len = (size_t)(colon - p->text);
	return true;
}

/* Where " <file>" begins; names such as "get size" have blanks, and files may. */
static const char *find_script(struct part p)
{
	static const char *const beginnings[] = {" /", " file://", " node:", " webpack"};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		const char *found = find(p, beginnings[i]);

		if (found)
			return found;
	}
	return last_of(p, ' ');
}

static bool parse_script(struct perf_map_name *ret, struct part p)
{
	static const char *const kinds[] = {"LazyCompile:", "JS:", "Function:", "Eval:", "Script:"};
	uint64_t column = 0, line = 0;
	struct part file, shorter;
	const char *blank;
	size_t kind = 0;

	while (kind < ARRAY_SIZE(kinds) && !begins_with(p, kinds[kind]))
		kind++;
	if (kind == ARRAY_SIZE(kinds))
		return false;
	p = part_of(p.text + strlen(kinds[kind]), end_of(p));
	if (p.len > 0 && p.text[0] != '\0' && strchr("~*^+'", p.text[0]))
		p = part_of(p.text + 1, end_of(p));
	blank = find_script(p);
	if (!blank) {
		set(ret, p, (struct part){0});
		return true;
	}
	file = part_of(blank + 1, end_of(p));
	/* "<line>:<column>", or "<line>" alone */
	if (cut_number(&file, &line)) {
		shorter = file;
		if (cut_number(&shorter, &column)) {
			line = column;
			file = shorter;
		}
	}
	set(ret, part_of(p.text, blank), file);
	ret->line = (uint32_t)line;
	return true;
}

/* ---- Java ---- */

static void set_java(struct perf_map_name *ret, struct part class, struct part method)
{
	struct java_name name, file;

	java_name_of_class(&name, class.text, class.len);
	java_name_of_file(&file, class.text, class.len);
	set(ret, (struct part){name.text, name.len}, (struct part){file.text, file.len});
	name.len = strlen(ret->function);
	if (name.len + 1 < sizeof(ret->function)) {
		ret->function[name.len] = '.';
		copy_printable(ret->function + name.len + 1, sizeof(ret->function) - name.len - 1,
			       method);
	}
}

/* perf-map-agent: "Ljava/util/HashMap;::put", perhaps with a signature after it. */
static bool parse_descriptor(struct perf_map_name *ret, struct part p)
{
	const char *separator = find(p, ";::"), *method, *parameters;

	if (!separator || p.text[0] != 'L' || separator == p.text + 1)
		return false;
	method = separator + 3;
	parameters = memchr(method, '(', (size_t)(end_of(p) - method));
	p = part_of(p.text, parameters ?: end_of(p));
	if (method == end_of(p))
		return false;
	set_java(ret, part_of(p.text + 1, separator), part_of(method, end_of(p)));
	return true;
}

/* Of a result: "long", "java.lang.String[]". */
static bool is_java_type(struct part p)
{
	for (size_t i = 0; i < p.len; i++) {
		unsigned char c = (unsigned char)p.text[i];

		if (c < 0x80 && (c == '\0' || !strchr(JAVA_TYPE_CHARACTERS, c)))
			return false;
	}
	return p.len > 0;
}

/* The JVM's own: "long java.util.HashMap.put(int, java.lang.Object)", the result's type first. */
static bool parse_method(struct perf_map_name *ret, struct part p)
{
	const char *open = p.len > 0 ? memchr(p.text, '(', p.len) : NULL, *blank, *dot;
	struct part name;

	if (!open || p.text[p.len - 1] != ')')
		return false;
	blank = memchr(p.text, ' ', (size_t)(open - p.text));
	if (!blank || !is_java_type(part_of(p.text, blank)))
		return false;
	name = part_of(blank + 1, open);
	dot = last_of(name, '.');
	if (!dot || dot == name.text || dot + 1 == open || memchr(name.text, ' ', name.len) ||
	    memchr(name.text, ':', name.len))
		return false;
	set_java(ret, part_of(name.text, dot), part_of(dot + 1, open));
	return true;
}

/* ---- .NET ---- */

/* "instance void [App] App.Main::Run(string)[Tier0]" */
static bool parse_dotnet(struct perf_map_name *ret, struct part p)
{
	const char *tier = last_of(p, '['), *open, *close, *colons, *from, *parameters;
	struct part type;
	size_t len;

	if (!tier || tier == p.text || p.text[p.len - 1] != ']' || tier[-1] != ')')
		return false;
	p = part_of(p.text, tier);
	parameters = memchr(p.text, '(', p.len);
	colons = find(p, "::");
	open = memchr(p.text, '[', p.len);
	close = open ? find(part_of(open, end_of(p)), "] ") : NULL;
	if (!parameters || !colons || !close || close > colons || colons > parameters)
		return false;
	from = close + 2;
	type = part_of(from, colons);
	set(ret, type, part_of(open, close + 1));
	len = strlen(ret->function);
	if (len + 1 < sizeof(ret->function)) {
		ret->function[len] = '.';
		copy_printable(ret->function + len + 1, sizeof(ret->function) - len - 1,
			       part_of(colons + 2, parameters));
	}
	return true;
}

/* ---- Python ---- */

/* "py::run:/app/a.py", since 3.12; "py::<module>:<string>" */
static bool parse_python(struct perf_map_name *ret, struct part p)
{
	const char *colon;

	if (!begins_with(p, "py::"))
		return false;
	p = part_of(p.text + 4, end_of(p));
	colon = p.len > 0 ? memchr(p.text, ':', p.len) : NULL;
	if (!colon || colon == p.text)
		return false;
	set(ret, part_of(p.text, colon), part_of(colon + 1, end_of(p)));
	return true;
}

/* ---- LuaJIT ---- */

/* "TRACE_12::/app/a.lua:34" */
static bool parse_luajit(struct perf_map_name *ret, struct part p)
{
	const char *colons = find(p, "::");
	uint64_t number, line;
	struct part file;

	if (!colons || !begins_with(p, "TRACE_") ||
	    parse_u64(p.text + 6, (size_t)(colons - p.text - 6), 0, UINT32_MAX, &number) < 0)
		return false;
	file = part_of(colons + 2, end_of(p));
	if (!cut_number(&file, &line) || file.len == 0)
		return false;
	set(ret, part_of(p.text, colons), file);
	ret->line = (uint32_t)line;
	return true;
}

/* ---- BEAM ---- */

/* "$lists:map/2" */
static bool parse_beam(struct perf_map_name *ret, struct part p)
{
	const char *slash = last_of(p, '/'), *colon = p.len > 0 ? memchr(p.text, ':', p.len) : NULL;
	char module[PERF_MAP_FILE_BYTES];
	uint64_t arity;
	int n;

	if (!slash || !colon || !begins_with(p, "$") || colon == p.text + 1 || colon > slash ||
	    parse_u64(slash + 1, (size_t)(end_of(p) - slash - 1), 0, 255, &arity) < 0)
		return false;
	n = snprintf(module, sizeof(module), "[%.*s]", (int)(colon - p.text - 1), p.text + 1);
	if (n >= (int)sizeof(module))
		return false;
	set(ret, p, (struct part){module, (size_t)n});
	return true;
}

/* ---- */

/* V8's, whose patterns may look like anything. */
static bool is_regexp(struct part p)
{
	return begins_with(p, "RegExp:");
}

void perf_map_name_parse(struct perf_map_name *ret, const char *text, size_t len)
{
	const struct part p = {text, len};

	ret->line = ret->at_line = 0;
	if (len > 0 && !is_regexp(p) &&
	    (parse_script(ret, p) || parse_python(ret, p) || parse_luajit(ret, p) ||
	     parse_beam(ret, p) || parse_descriptor(ret, p) || parse_dotnet(ret, p) ||
	     parse_method(ret, p)))
		return;
	set(ret, p, (struct part){0});
	if (len == 0)
		snprintf(ret->function, sizeof(ret->function), "[unknown]");
}
