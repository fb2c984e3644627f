/*
 * Interpreters agree on one thing: the first argument that is no option is the script. What they
 * disagree on is which options take a value as the next argument, and which bring code along;
 * the table says so for each. An option that the table lacks is taken to have no value, so the
 * worst mistake is to show an option's value as the script: it is then cut to its last path
 * element, and refused if it has characters that names of scripts do not have. Code has them.
 *
 * Loaders, emulators and multi-call programs are not what runs: the program below them is.
 *
 * A process may overwrite its command line with a title (setproctitle(3), process.title). A
 * title has no NULs between its words, and its first word is the program: "gunicorn: worker
 * [app]", "npm run build", "node /srv/app.js".
 */
#include "node-agent/workload/program_name.h"

#define DELETED " (deleted)"
#define MEMFD "/memfd:"
#define ID_LEN 64
#define UNWRAP_MAX 4 /* a loader runs busybox, which runs a shell */

struct interpreter {
	const char *names;        /* without a version */
	const char *inline_flags; /* letters that bring code */
	const char *value_flags;  /* letters with a value, attached or the next argument */
	const char *script_flags; /* letters whose value is the script or module */
	const char *rest_flags;   /* letters that use up the rest of their argument */
	const char *number_flags; /* letters that may have a number before the next letter */
	const char *values;       /* whole options whose value is the next argument */
	bool shell;
	bool dashes;        /* the script may come after "--" */
	bool no_positional; /* only an option names a script */
};

static const char node_values[] =
	"--require --import --loader --experimental-loader --conditions --title --env-file "
	"--env-file-if-exists --input-type --config --inspect-port --icu-data-dir --openssl-config "
	"--disable-warning --diagnostic-dir --redirect-warnings --unhandled-rejections "
	"--dns-result-order --watch-path";
static const char php_values[] = "--define --php-ini --server --docroot";
static const char dotnet_values[] = "--additionalprobingpath --additional-deps --depsfile "
				    "--runtimeconfig --fx-version --roll-forward";
static const char java_values[] =
	"-cp -classpath --class-path -p --module-path --add-modules --add-reads --add-exports "
	"--add-opens --limit-modules --upgrade-module-path --patch-module --enable-native-access "
	"--source";
/* Of the loaders of glibc and musl, and of qemu's emulators of a user's program. */
static const char launcher_values[] =
	"--library-path --inhibit-rpath --audit --preload --argv0 --glibc-hwcaps-prepend "
	"--glibc-hwcaps-mask -cpu -dfilter -plugin -seed -tb-size -trace";

/* Options that bring code, of any interpreter: these, and longer ones. */
static const char *const inline_options[] = {"--eval", "--print", "--command", "--init-command",
					     "--run",  "--exec",  "--process-"};

static const struct interpreter interpreters[] = {
	{"bash sh dash ash zsh ksh mksh tcsh csh", "cs", "oO", "", "", "", "--rcfile --init-file",
	 true, true, false},
	{"fish", "cC", "dofDp", "", "", "", "", true, true, false},
	{"python pypy", "c", "WXQ", "m", "", "", "--check-hash-based-pycs --jit", false, true,
	 false},
	{"node nodejs", "ep", "rC", "", "", "", node_values, false, true, false},
	{"bun", "ep", "rc", "", "", "", node_values, false, false, false},
	{"deno", "", "c", "", "", "", node_values, false, false, false},
	{"ruby", "e", "rICE", "", "xFi", "0KTW", "", false, true, false},
	{"perl", "eE", "I", "", "MmxiDVF", "0C", "", false, true, false},
	{"php", "rRBE", "dctzS", "fF", "", "", php_values, false, false, false},
	{"lua luajit", "e", "lj", "", "", "", "", false, false, false},
	{"tclsh", "", "", "", "", "", "-encoding", false, false, false},
	{"expect", "c", "D", "f", "", "", "", false, false, false},
	{"R", "e", "g", "f", "", "", "--gui --encoding", false, false, true},
	{"Rscript", "e", "", "", "", "", "", false, false, false},
	{"julia", "eE", "JtpLC", "", "", "", "", false, false, false},
	{"dotnet mono", "", "", "", "", "", dotnet_values, false, false, false},
	{"java", "", "", "", "", "", java_values, false, false, false},
	{"beam.smp beam", "", "", "", "", "", "", false, false, false},
};

/*
 * Loaders of glibc, musl and uClibc, and emulators of a user's program: they run the program that
 * is their first argument that is no option.
 */
static const struct interpreter launcher = {
	"", "", "0LEUBRgsrdDp", "", "", "", launcher_values, false, true, false};
static const char *const launchers[] = {
	"ld-",          "ld.so",      "ld64.so",   "libc.so",     "libc.musl-",
	"qemu-aarch64", "qemu-arm",   "qemu-i386", "qemu-x86_64", "qemu-riscv",
	"qemu-ppc",     "qemu-s390x", "qemu-mips", "qemu-loong",  "qemu-sparc",
	"qemu-m68k",    "rosetta",    "box64",     "FEX",
};
/* Many programs in one file: the first argument says which, or the name by which it is called. */
static const char *const multicalls[] = {"busybox", "toybox", "coreutils"};

/* The words of a command line, or of a title. */
struct words {
	const char *p;
	size_t len;
	char separator;
};

struct word {
	const char *p; /* NULL: there is none */
	size_t len;
};

static struct word next_word(struct words *w)
{
	struct word ret = {NULL, 0};
	const char *end;

	if (w->separator == ' ') {
		while (w->len > 0 && *w->p == ' ') {
			w->p++;
			w->len--;
		}
	}
	if (w->len == 0)
		return ret;
	end = memchr(w->p, w->separator, w->len);
	ret = (struct word){w->p, end ? (size_t)(end - w->p) : w->len};
	w->p += ret.len + (end != NULL);
	w->len -= ret.len + (end != NULL);
	return ret;
}

static bool is(struct word w, const char *s)
{
	return w.p && w.len == strlen(s) && memcmp(w.p, s, w.len) == 0;
}

static bool begins(struct word w, const char *s)
{
	return w.p && w.len >= strlen(s) && memcmp(w.p, s, strlen(s)) == 0;
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

static bool is_one_of(struct word w, const char *list)
{
	return w.p && program_is_listed(list, w.p, w.len);
}

static bool begins_one_of(struct word w, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (begins(w, list[i]))
			return true;
	}
	return false;
}

static struct word basename_of(struct word w)
{
	const char *slash = w.len > 0 ? memrchr(w.p, '/', w.len) : NULL;

	if (slash) {
		w.len -= (size_t)(slash + 1 - w.p);
		w.p = slash + 1;
	}
	return w;
}

static struct word exe_path(const char *exe)
{
	struct word w = {exe, strlen(exe)};
	size_t deleted = strlen(DELETED);

	if (begins(w, MEMFD)) /* the name of the memory file may be another one each time */
		return (struct word){exe, 0};
	if (w.len > deleted && memcmp(w.p + w.len - deleted, DELETED, deleted) == 0)
		w.len -= deleted;
	return w;
}

static bool is_multicall(struct word name)
{
	return begins_one_of(name, multicalls, ARRAY_SIZE(multicalls));
}

static bool is_launcher(struct word name)
{
	return begins_one_of(name, launchers, ARRAY_SIZE(launchers)) &&
	       (!begins(name, "ld-") || memmem(name.p, name.len, ".so", 3));
}

/* "python3.11" → python; NULL if w is no interpreter. */
static const struct interpreter *find_interpreter(struct word w)
{
	if (begins(w, "-")) /* a login shell */
		w = (struct word){w.p + 1, w.len - 1};
	while (w.len > 0 && (strchr("0123456789.-", w.p[w.len - 1]) != NULL && w.p[w.len - 1]))
		w.len--;
	for (size_t i = 0; i < ARRAY_SIZE(interpreters); i++) {
		if (is_one_of(w, interpreters[i].names))
			return &interpreters[i];
	}
	return NULL;
}

bool program_is_interpreter(const char *exe)
{
	struct word name = basename_of(exe_path(exe));

	return find_interpreter(name) || is_launcher(name) || is_multicall(name);
}

static void set_text(char *ret, size_t size, struct word w)
{
	snprintf(ret, size, "%.*s", (int)(w.len < size ? w.len : size), w.p);
}

/* Sets the name and the folder to those of a path. */
static void set_path(struct program *ret, struct word path)
{
	struct word name = basename_of(path);

	set_text(ret->name, sizeof(ret->name), name);
	set_text(ret->dir, sizeof(ret->dir), (struct word){path.p, path.len - name.len});
}

static bool has(const char *letters, char ch)
{
	return ch != '\0' && strchr(letters, ch) != NULL;
}

/* Not those of code, addresses, assignments and patterns. */
static bool is_in_names(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       (unsigned char)ch >= 0x80 || has("._-+~", ch);
}

/* Returns false if w cannot be the path of a script. */
static bool set_script(struct program *ret, struct word w)
{
	static const char code[] = "\"'`;$|<>*\\{}\n"; /* not even in names of folders */
	struct word name;

	if (!w.p)
		return false;
	/* a URL's query may have secrets */
	for (size_t i = 0; i < w.len; i++) {
		if (w.p[i] == '?' || w.p[i] == '#')
			w.len = i;
	}
	for (size_t i = 0; i < w.len; i++) {
		if (has(code, w.p[i]))
			return false;
	}
	if (begins(w, "/dev/fd/") || begins(w, "/dev/stdin") || begins(w, "/proc/"))
		return false; /* a descriptor: what it leads to is not known */
	if (is(w, "./") || is(w, "../"))
		w.len--;
	name = basename_of(w);
	for (size_t i = 0; i < name.len; i++) {
		if (!is_in_names(name.p[i]))
			return false;
	}
	if (name.len == 0)
		return false;
	ret->kind = PROGRAM_SCRIPT;
	if (is(name, ".") || is(name, "..")) { /* "node .": the folder is all that it is called */
		ret->place = PROGRAM_PLACE_DIR;
		set_text(ret->dir, sizeof(ret->dir), w);
	} else {
		set_path(ret, w);
	}
	return true;
}

/* What one cluster of short options says about the rest. */
enum flags_outcome {
	FLAGS_GO_ON,
	FLAGS_SKIP_NEXT,
	FLAGS_INLINE,
	FLAGS_SCRIPT,
	FLAGS_SCRIPT_NEXT,
};

static enum flags_outcome script_or_inline(struct program *ret, struct word w)
{
	return set_script(ret, w) ? FLAGS_SCRIPT : FLAGS_INLINE;
}

/* Where the next letter is after one that may have a number: "-0777pe", "-W0e", "-CSDe". */
static size_t skip_number(struct word w, size_t at)
{
	const char *more = "0123456789";
	char next = at + 1 < w.len ? w.p[at + 1] : '\0';
	size_t i = at + 1;

	if (w.p[at] == 'K') /* one letter */
		return at + 2;
	if (w.p[at] == 'W' && next == ':')
		return w.len;
	if (w.p[at] == 'C')
		more = "0123456789IOEioADSLa";
	if (w.p[at] == '0' && next == 'x') {
		more = "0123456789abcdefABCDEF";
		i++;
	}
	while (i < w.len && has(more, w.p[i]))
		i++;
	return i;
}

static enum flags_outcome read_flags(const struct interpreter *in, struct word w,
				     struct program *ret)
{
	for (size_t i = 1, next; i < w.len; i = next) {
		bool last = i + 1 == w.len;

		next = has(in->number_flags, w.p[i]) ? skip_number(w, i) : i + 1;
		if (has(in->inline_flags, w.p[i]))
			return FLAGS_INLINE;
		if (has(in->rest_flags, w.p[i]))
			return FLAGS_GO_ON;
		if (has(in->value_flags, w.p[i]))
			return last ? FLAGS_SKIP_NEXT : FLAGS_GO_ON;
		if (!has(in->script_flags, w.p[i]))
			continue;
		if (w.p[i] == 'm') /* a module */
			ret->place = PROGRAM_PLACE_CWD;
		if (last)
			return FLAGS_SCRIPT_NEXT;
		return script_or_inline(ret, (struct word){w.p + i + 1, w.len - i - 1});
	}
	return FLAGS_GO_ON;
}

/* java has no clusters of letters: "-jar x.jar", "-m module/class", or the main class. */
static void read_java(struct words words, struct program *ret)
{
	struct word w;

	while ((w = next_word(&words)).p) {
		if (is(w, "-jar") || is(w, "-m") || is(w, "--module")) {
			(void)set_script(ret, next_word(&words));
			return;
		}
		if (is_one_of(w, java_values)) {
			(void)next_word(&words);
		} else if (!begins(w, "-") && !begins(w, "@")) {
			(void)set_script(ret, w);
			return;
		}
	}
}

/* "deno run x.ts", "dotnet exec x.dll": a word before the script. */
static bool is_command_word(const struct interpreter *in, struct word w)
{
	if (strcmp(in->names, "deno") == 0 || strcmp(in->names, "bun") == 0)
		return is(w, "run") || is(w, "serve");
	return strncmp(in->names, "dotnet", 6) == 0 && is(w, "exec");
}

/* "npm start", "yarn run dev": what it starts is an application. */
static bool serves(struct words words)
{
	static const char commands[] = "start dev serve preview exec dlx x watch node restart";
	struct word w;

	while ((w = next_word(&words)).p) {
		if (begins(w, "-") || is(w, "run") || is(w, "run-script"))
			continue;
		return is_one_of(w, commands) || begins(w, "start:") || begins(w, "dev:") ||
		       begins(w, "serve:");
	}
	return false;
}

static bool is_package_manager(const char *name)
{
	static const char *const prefixes[] = {"npm", "npx", "yarn", "pnpm"};
	const char *rest = "x";

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			rest = name + strlen(prefixes[i]);
	}
	return !rest[0] || rest[0] == '-' || rest[0] == '.' || strcmp(rest, "pkg") == 0;
}

static bool brings_code(const struct interpreter *in, struct word w)
{
	if (begins_one_of(w, inline_options, ARRAY_SIZE(inline_options)))
		return true;
	return is(w, "-") || is(w, "--args") ||
	       (is(w, "eval") && (strcmp(in->names, "deno") == 0 || strcmp(in->names, "bun") == 0));
}

static enum flags_outcome read_argument(const struct interpreter *in, struct word w,
					struct program *ret)
{
	static const char file[] = "--file=";

	if (brings_code(in, w))
		return FLAGS_INLINE;
	if (is(w, "--"))
		return in->dashes ? FLAGS_SCRIPT_NEXT : FLAGS_INLINE;
	if (begins(w, file))
		return script_or_inline(ret,
					(struct word){w.p + strlen(file), w.len - strlen(file)});
	if (is_one_of(w, in->values))
		return FLAGS_SKIP_NEXT;
	if (begins(w, "--") || (in->shell && begins(w, "+")) || is_command_word(in, w))
		return FLAGS_GO_ON;
	if (begins(w, "-"))
		return read_flags(in, w, ret);
	return in->no_positional ? FLAGS_GO_ON : script_or_inline(ret, w);
}

static void read_arguments(const struct interpreter *in, struct words words, struct program *ret)
{
	enum flags_outcome outcome = FLAGS_GO_ON;
	struct word w;

	ret->kind = PROGRAM_INTERACTIVE;
	while (outcome != FLAGS_INLINE && outcome != FLAGS_SCRIPT && (w = next_word(&words)).p) {
		outcome = read_argument(in, w, ret);
		if (outcome == FLAGS_SKIP_NEXT)
			(void)next_word(&words);
		if (outcome == FLAGS_SCRIPT_NEXT)
			outcome = script_or_inline(ret, next_word(&words));
	}
	if (outcome == FLAGS_INLINE)
		ret->kind = PROGRAM_INLINE;
	if (ret->kind == PROGRAM_SCRIPT && is_package_manager(ret->name))
		ret->serves = serves(words);
}

/* Returns false if the words are those of an ordinary command line of the interpreter. */
static bool read_title(struct words *words, struct program *ret)
{
	struct words title = {words->p, words->len, ' '};
	struct word w;

	while (title.len > 0 && title.p[title.len - 1] == '\0') /* titles are padded */
		title.len--;
	if (memchr(title.p, '\0', title.len))
		return false;
	while (title.len > 0 && (*title.p == '[' || *title.p == ' ')) {
		title.p++;
		title.len--;
	}
	if (!memchr(title.p, ' ', title.len) && !memchr(title.p, ':', title.len))
		return false;
	w = basename_of(next_word(&title));
	if (w.len > 0 && w.p[w.len - 1] == ':')
		w.len--;
	if (find_interpreter(w)) {
		*words = title;
		return false;
	}
	for (size_t i = 0; i < w.len; i++) {
		if (w.p[i] == ':')
			w.len = i;
	}
	if (!set_script(ret, w))
		return false;
	if (is_package_manager(ret->name))
		ret->serves = serves(title);
	return true;
}

/* The boot file of a release: ".../shop/releases/1.2/shop", or "start" there. */
static bool set_release(struct program *ret, struct word boot)
{
	const char *releases = memmem(boot.p, boot.len, "/releases/", strlen("/releases/"));

	if (!begins(basename_of(boot), "start"))
		return set_script(ret, boot);
	if (!releases)
		return false;
	boot.len = (size_t)(releases - boot.p);
	return !is(basename_of(boot), "erlang") && set_script(ret, boot);
}

/* Erlang: a release, what has started it, the first application, or a script. */
static void read_beam(struct words words, struct program *ret)
{
	static const char own[] = "erl elixir iex escript init user no_dot_erlang start_clean";
	static const char *const options[] = {"-boot", "-progname", "-s -run", "-extra"};
	struct word found[ARRAY_SIZE(options)] = {{NULL, 0}}, w, value;

	for (w = next_word(&words); w.p; w = value) {
		value = next_word(&words);
		for (size_t i = 0; value.p && i < ARRAY_SIZE(options); i++) {
			if (is_one_of(w, options[i]) && !found[i].p && !begins(value, "-") &&
			    !is_one_of(basename_of(value), own))
				found[i] = value;
		}
	}
	if (!found[0].p || !set_release(ret, found[0])) {
		for (size_t i = 1; ret->kind != PROGRAM_SCRIPT && i < ARRAY_SIZE(options); i++)
			(void)set_script(ret, found[i]);
	}
	if (ret->kind != PROGRAM_SCRIPT)
		ret->place = PROGRAM_PLACE_CWD;
}

/* The program that a launcher runs. */
static struct word read_launcher(struct words *words)
{
	struct program unused = {.kind = PROGRAM_PLAIN};
	struct word w;

	while (begins(w = next_word(words), "-")) {
		if (is(w, "--"))
			return next_word(words);
		if (is_one_of(w, launcher.values) ||
		    (!begins(w, "--") && read_flags(&launcher, w, &unused) == FLAGS_SKIP_NEXT))
			(void)next_word(words);
	}
	return w;
}

/*
 * Follows launchers and multi-call programs to the program that runs, and words to its arguments.
 * Returns whether path is another one now.
 */
static bool unwrap(struct words *words, struct word *path)
{
	struct word called = next_word(words);
	bool changed = false;

	for (unsigned i = 0; i < UNWRAP_MAX; i++) {
		struct word name = basename_of(*path);

		if (begins(called, "-")) /* a login shell */
			called = (struct word){called.p + 1, called.len - 1};
		if (is_launcher(name))
			called = read_launcher(words);
		else if (!is_multicall(name))
			break;
		else if (is_multicall(basename_of(called)))
			called = next_word(words);
		if (!called.p || begins(called, "-"))
			break;
		*path = called;
		changed = true;
	}
	return changed;
}

/* words are those of the whole command line, or the arguments only. */
static void read_command_line(const struct interpreter *in, struct words words, bool whole,
			      struct program *ret)
{
	if (whole && !in->shell && read_title(&words, ret))
		return;
	if (whole && words.separator == '\0') { /* of a title, the first word has been read */
		struct word zeroth = next_word(&words);

		if (begins(zeroth, "bazel(")) {
			set_path(ret, (struct word){"bazel", 5});
			return;
		}
	}
	if (strcmp(in->names, "java") == 0)
		read_java(words, ret);
	else if (strncmp(in->names, "beam", 4) == 0)
		read_beam(words, ret);
	else
		read_arguments(in, words, ret);
}

void program_parse(const char *exe, const char *fallback, const char *command_line, size_t len,
		   struct program *ret)
{
	struct words words = {command_line, command_line ? len : 0, '\0'}, arguments = words;
	struct word path = exe_path(exe), launched = path;
	const struct interpreter *in;
	bool is_whole;

	if (fallback && (path.len == 0 || (words.len == 0 && is_multicall(basename_of(path)))))
		path = (struct word){fallback, strlen(fallback)};
	if (begins(path, &MEMFD[1])) /* the kernel's name of a process that executed a descriptor */
		path.len = strlen("memfd");
	if (basename_of(path).len == 0)
		path = (struct word){"unknown", strlen("unknown")};
	*ret = (struct program){.kind = PROGRAM_PLAIN};
	is_whole = !unwrap(&arguments, &launched) || !set_script(ret, launched);
	ret->kind = PROGRAM_PLAIN;
	if (is_whole) {
		launched = path;
		set_path(ret, path);
	}
	in = find_interpreter(basename_of(launched));
	ret->shell = in && in->shell;
	if (in && words.len > 0)
		read_command_line(in, is_whole ? words : arguments, is_whole, ret);
}

bool program_gvisor_id(const char *command_line, size_t len, char *ret, size_t size)
{
	struct words words = {command_line, len, '\0'};
	struct word w = basename_of(next_word(&words)), last = {NULL, 0};

	if ((!is(w, "runsc") && !is(w, "runsc-sandbox")) || size < ID_LEN + 1)
		return false;
	while ((w = next_word(&words)).p)
		last = w;
	if (last.len != ID_LEN)
		return false;
	for (size_t i = 0; i < ID_LEN; i++) {
		if (!has("0123456789abcdef", last.p[i]))
			return false;
	}
	memcpy(ret, last.p, ID_LEN);
	ret[ID_LEN] = '\0';
	return true;
}
