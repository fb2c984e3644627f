/*
 * Interpreters agree on one thing: the first argument that is no option is the script. The table
 * has those that people run by hand, and says which of their options take a value as the next
 * argument, and which bring code along. It errs on the safe side: whatever may be code ends the
 * search, and the program is called as its interpreter. What is taken for a script is cut to its
 * last path element, and refused if it has characters that names of scripts do not have. Rules of
 * the user (name_rules.h) are for all other programs that run programs.
 *
 * A process may overwrite its command line with a title (setproctitle(3), process.title). A
 * title has no NULs between its words, and its first word is the program: "gunicorn: worker
 * [app]", "npm run build", "node /srv/app.js".
 */
#include "node-agent/workload/program_name.h"

#include <ctype.h>

#define ID_LEN 64

struct interpreter {
	const char *names;        /* without a version */
	const char *code_flags;   /* letters that bring code */
	const char *value_flags;  /* letters with a value, attached or the next argument */
	const char *rest_flags;   /* letters with an attached value */
	const char *script_flags; /* letters whose value is the script or module */
	const char *values;       /* whole options whose value is the next argument */
	const char *words;        /* arguments before the script */
};

static const char node_values[] =
	"--require --import --loader --experimental-loader --conditions --title --env-file "
	"--inspect-port --watch-path";
static const char php_values[] = "--define --php-ini --server --docroot";
static const char dotnet_values[] = "--additional-deps --depsfile --runtimeconfig --fx-version";
static const char java_values[] =
	"-cp -classpath --class-path -p --module-path --add-modules --add-reads --add-exports "
	"--add-opens --patch-module --enable-native-access --source";

static const struct interpreter interpreters[] = {
	{"bash sh dash ash zsh ksh mksh tcsh csh", "cs", "oO", "", "", "--rcfile --init-file", ""},
	{"fish", "cC", "dofDp", "", "", "", ""},
	{"python pypy", "c", "WXQ", "", "m", "--check-hash-based-pycs", ""},
	{"node nodejs", "ep", "rC", "", "", node_values, ""},
	{"bun", "ep", "rc", "", "", node_values, "run"},
	{"deno", "", "c", "", "", "", "run serve"},
	{"ruby", "e", "rICE", "i:", "", "", ""},
	{"perl", "eE", "I", "Mmi:", "", "", ""},
	{"php", "rRBE", "dctzS", "", "fF", php_values, ""},
	{"lua luajit", "e", "lj", "", "", "", ""},
	{"R", "e", "g", "", "f", "--gui --encoding", ""},
	{"Rscript", "e", "", "", "", "", ""},
	{"julia", "eE", "JtpLC", "", "", "", ""},
	{"dotnet mono", "", "", "", "", dotnet_values, "exec"},
	{"java", "", "", "", "", java_values, ""},
};

/* Options that bring code, of any interpreter: these, and longer ones. */
static const char *const code_options[] = {"--eval", "--print", "--command", "--init-command",
					   "--run",  "--exec",  "--process-"};

/* The words of a command line, or of a title, each with a NUL at its end. */
struct words {
	char *p, *end;
};

static struct words copy_words(char text[static PROGRAM_COMMAND_LINE_BYTES + 1],
			       const char *command_line, size_t len)
{
	if (len > PROGRAM_COMMAND_LINE_BYTES)
		len = PROGRAM_COMMAND_LINE_BYTES;
	if (len > 0)
		memcpy(text, command_line, len);
	text[len] = '\0';
	return (struct words){text, text + len};
}

static char *next_word(struct words *w)
{
	char *ret = w->p < w->end ? w->p : NULL;

	if (ret)
		w->p += strlen(ret) + 1;
	return ret;
}

static bool is(const char *w, const char *s)
{
	return strcmp(w, s) == 0;
}

static bool begins(const char *w, const char *s)
{
	return strncmp(w, s, strlen(s)) == 0;
}

static bool has(const char *letters, char ch)
{
	return strchr(letters, ch) != NULL;
}

bool program_is_listed(const char *list, const char *name, size_t len)
{
	for (size_t n; *list; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		if (n == len && memcmp(list, name, len) == 0)
			return true;
	}
	return false;
}

static bool is_one_of(const char *w, const char *list)
{
	return program_is_listed(list, w, strlen(w));
}

/* The length of the last part of a path, at ret. */
static size_t basename_of(const char *path, const char **ret)
{
	const char *slash = strrchr(path, '/'), *deleted;

	*ret = slash ? slash + 1 : path;
	deleted = strstr(*ret, " (deleted)");
	return deleted ? (size_t)(deleted - *ret) : strlen(*ret);
}

/* "/usr/bin/python3.11" → python; NULL if it is no interpreter. */
static const struct interpreter *find_interpreter(const char *path)
{
	const char *name;
	size_t len = basename_of(path, &name);

	while (len > 0 && has("0123456789.-", name[len - 1]))
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(interpreters); i++) {
		if (program_is_listed(interpreters[i].names, name, len))
			return &interpreters[i];
	}
	return NULL;
}

bool program_is_interpreter(const char *exe)
{
	return find_interpreter(exe) != NULL;
}

/* Sets the name and the folder to those of a path. */
static void set_path(struct program *ret, const char *path)
{
	const char *name;
	size_t len = basename_of(path, &name);

	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)len, name);
	snprintf(ret->dir, sizeof(ret->dir), "%.*s", (int)(name - path), path);
}

/* Not those of code, addresses, assignments and patterns. */
static bool is_in_names(char ch)
{
	return (unsigned char)ch >= 0x80 || isalnum((unsigned char)ch) || has("._-+~", ch);
}

/* Returns false if w cannot be the path of a script. */
static bool set_script(struct program *ret, char *w)
{
	static const char code[] = "\"'`;$|<>*\\{}\n"; /* not even in names of folders */
	const char *name;
	size_t len;

	if (!w)
		return false;
	w[strcspn(w, "?#")] = '\0'; /* a URL's query may have secrets */
	/* a descriptor: what it leads to is not known */
	if (strpbrk(w, code) || begins(w, "/dev/fd/") || begins(w, "/dev/stdin") ||
	    begins(w, "/proc/"))
		return false;
	if (is(w, "./") || is(w, "../"))
		w[strlen(w) - 1] = '\0';
	len = basename_of(w, &name);
	for (size_t i = 0; i < len; i++) {
		if (!is_in_names(name[i]))
			return false;
	}
	if (len == 0)
		return false;
	ret->script = true;
	if (is(name, ".") || is(name, "..")) { /* "node .": the folder is all that it is called */
		ret->place = PROGRAM_PLACE_DIR;
		snprintf(ret->dir, sizeof(ret->dir), "%s", w);
	} else {
		set_path(ret, w);
	}
	return true;
}

/* What an argument says about the next ones. */
enum step {
	STEP_GO_ON,
	STEP_SKIP_NEXT,
	STEP_SCRIPT_NEXT,
	STEP_END, /* the script has been found, or there is code */
};

static enum step end_with_script(struct program *ret, char *w)
{
	(void)set_script(ret, w);
	return STEP_END;
}

static enum step read_flags(const struct interpreter *in, char *w, struct program *ret)
{
	while (*++w) {
		if (has(in->code_flags, *w))
			return STEP_END;
		if (has(in->rest_flags, *w))
			return STEP_GO_ON;
		if (has(in->value_flags, *w))
			return w[1] ? STEP_GO_ON : STEP_SKIP_NEXT;
		if (!has(in->script_flags, *w))
			continue;
		if (*w == 'm') /* a module */
			ret->place = PROGRAM_PLACE_CWD;
		return w[1] ? end_with_script(ret, w + 1) : STEP_SCRIPT_NEXT;
	}
	return STEP_GO_ON;
}

static bool brings_code(const char *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(code_options); i++) {
		if (begins(w, code_options[i]))
			return true;
	}
	return is(w, "-") || is(w, "--") || is(w, "--args") || is(w, "eval");
}

static enum step read_argument(const struct interpreter *in, char *w, struct program *ret)
{
	static const char file[] = "--file=";

	if (brings_code(w))
		return STEP_END;
	if (begins(w, file))
		return end_with_script(ret, w + strlen(file));
	if (in->values == java_values && is_one_of(w, "-jar -m --module"))
		return STEP_SCRIPT_NEXT;
	if (is_one_of(w, in->values))
		return STEP_SKIP_NEXT;
	if (begins(w, "--") || is_one_of(w, in->words))
		return STEP_GO_ON;
	if (begins(w, "-") || begins(w, "+") || begins(w, "@"))
		return read_flags(in, w, ret);
	/* arguments of R are no scripts */
	return strcmp(in->names, "R") == 0 ? STEP_GO_ON : end_with_script(ret, w);
}

static void read_arguments(const struct interpreter *in, struct words words, struct program *ret)
{
	enum step step = STEP_GO_ON;
	char *w;

	while (step != STEP_END && (w = next_word(&words))) {
		step = read_argument(in, w, ret);
		if (step == STEP_SKIP_NEXT)
			(void)next_word(&words);
		else if (step == STEP_SCRIPT_NEXT)
			step = end_with_script(ret, next_word(&words));
	}
}

/*
 * Reads the first word. Returns whether the words were a title without the name of an
 * interpreter, which is all that is known.
 */
static bool read_title(struct words *words, struct program *ret)
{
	char *p = words->p, *w;

	while (words->end > p && words->end[-1] == '\0') /* titles are padded */
		words->end--;
	p += strspn(p, "[ ");
	if (memchr(words->p, '\0', (size_t)(words->end - words->p)) || !strpbrk(p, " :")) {
		(void)next_word(words);
		return false;
	}
	words->p = p;
	for (char *blank = p; (blank = strchr(blank, ' ')); blank++)
		*blank = '\0';
	w = next_word(words);
	w = strrchr(w, '/') ? strrchr(w, '/') + 1 : w;
	w[strcspn(w, ":")] = '\0';
	return !find_interpreter(w) && set_script(ret, w);
}

void program_parse(const char *exe, const char *fallback, const char *command_line, size_t len,
		   struct program *ret)
{
	char text[PROGRAM_COMMAND_LINE_BYTES + 1];
	struct words words = copy_words(text, command_line, command_line ? len : 0);
	const struct interpreter *in;

	if (begins(exe, "/memfd:")) /* the name of the memory file may be another one each time */
		exe = "";
	if (fallback && !exe[0])
		exe = fallback;
	if (begins(exe, "memfd:")) /* the kernel's name of a process that executed a descriptor */
		exe = "memfd";
	*ret = (struct program){.script = false};
	set_path(ret, exe);
	if (!ret->name[0])
		set_path(ret, "unknown");
	in = find_interpreter(ret->name);
	if (in && words.end > words.p && !read_title(&words, ret))
		read_arguments(in, words, ret);
}

bool program_gvisor_id(const char *command_line, size_t len, char *ret, size_t size)
{
	char text[PROGRAM_COMMAND_LINE_BYTES + 1];
	struct words words = copy_words(text, command_line, len);
	const char *w = next_word(&words), *name, *last = "";

	if (!w || size < ID_LEN + 1)
		return false;
	(void)basename_of(w, &name);
	if (!is(name, "runsc") && !is(name, "runsc-sandbox"))
		return false;
	while ((w = next_word(&words)))
		last = w;
	if (strlen(last) != ID_LEN || strspn(last, "0123456789abcdef") != ID_LEN)
		return false;
	memcpy(ret, last, ID_LEN + 1);
	return true;
}
