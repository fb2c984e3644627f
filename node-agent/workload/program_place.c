#include "node-agent/workload/program_place.h"

#include <ctype.h>

#define PATH_BYTES 4096
#define FOLDERS 2u
#define RELEASE_DIGITS 8u /* of a date */
#define HASH_DIGITS 12u

/* Without the ending and a number, in lower case. */
static const char common[] =
	"a api app application backend bootstrap bot cli client consumer daemon entrypoint "
	"frontend "
	"handler index job launch launcher main manage producer prog program run runner scheduler "
	"script serve server service site start startup task tasks test web webserver worker wsgi "
	"asgi "
	"__main__";
static const char endings[] = ".py .rb .js .mjs .cjs .ts .pl .php .lua .R .jl";
static const char frameworks[] =
	"gunicorn uvicorn hypercorn daphne celery celeryd flask django-admin streamlit airflow "
	"jupyter "
	"rails puma unicorn sidekiq rake rackup artisan console nodemon ts-node tsx next nuxt "
	"vite "
	"webpack react-scripts ng http-server npm npm-cli npx npx-cli yarn pnpm";
static const char silent[] =
	"usr opt srv home var tmp root mnt media run data workspace local share lib lib64 libexec "
	"bin "
	"sbin src dist build out target debug release releases current latest app venv env "
	"node_modules site-packages";

/* "Worker-2.py" → worker */
static bool is_called(const struct program *p, const char *list)
{
	size_t len = strcspn(p->name, ".");
	char stem[PROGRAM_NAME_BYTES];

	while (len > 0 && strchr("0123456789-_", p->name[len - 1]) && p->name[0] != '_')
		len--;
	for (size_t i = 0; i < len; i++)
		stem[i] = (char)tolower((unsigned char)p->name[i]);
	return program_is_listed(list, stem, len);
}

/* Where it is executed matters, and not where it is installed. */
static bool is_by_cwd(const struct program *p)
{
	return p->place == PROGRAM_PLACE_CWD || strstr(p->dir, PROGRAM_GO_RUN) ||
	       (p->script && is_called(p, frameworks));
}

/* A script is called for what it does; there is a job.rb in many folders. */
static bool is_script_file(const struct program *p)
{
	const char *dot = strrchr(p->name, '.');

	return p->script && dot && program_is_listed(endings, dot, strlen(dot));
}

bool program_needs_place(const struct program *p)
{
	return p->place == PROGRAM_PLACE_DIR || is_by_cwd(p) || is_called(p, common) ||
	       is_script_file(p);
}

static bool is_all_of(const char *text, size_t len, const char *accepted)
{
	return strspn(text, accepted) >= len;
}

/* Of folders that are hidden, or another one after each release, and parts of URLs. */
static bool says_nothing(const char *name, size_t len)
{
	size_t v = name[0] == 'v' && len > 1;

	if (len == 0 || name[0] == '.' || program_is_listed(silent, name, len))
		return true;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)name[i] < 0x80 && !isalnum((unsigned char)name[i]) &&
		    !strchr("._-+~ ()", name[i]))
			return true;
	}
	if (is_all_of(name + v, len - v, "0123456789._-"))
		return len >= RELEASE_DIGITS || memchr(name, '.', len);
	return len >= HASH_DIGITS && is_all_of(name, len, "0123456789abcdef");
}

/* The names of the last folders of the path that say something. */
static void set_folder(struct program *p, const char *path)
{
	const char *names[FOLDERS];
	size_t lens[FOLDERS], n = 0, up = 0, end = strlen(path);

	while (end > 0 && n < FOLDERS) {
		const char *slash = memrchr(path, '/', end);
		size_t start = slash ? (size_t)(slash + 1 - path) : 0, len = end - start;

		if (len == 2 && memcmp(path + start, "..", 2) == 0) {
			up++;
		} else if (len > 0 && !(len == 1 && path[start] == '.') && up > 0) {
			up--;
		} else if (!says_nothing(path + start, len)) {
			names[n] = path + start;
			lens[n++] = len;
		}
		end = start > 0 ? start - 1 : 0;
	}
	p->folder[0] = '\0';
	for (size_t at = 0; n-- > 0 && at < sizeof(p->folder); at = strlen(p->folder))
		snprintf(p->folder + at, sizeof(p->folder) - at, "%s%.*s", at > 0 ? "/" : "",
			 (int)lens[n], names[n]);
}

void program_place(struct program *p, const char *cwd)
{
	const char *deleted = strstr(cwd, " (deleted)");
	int len = (int)(deleted ? (size_t)(deleted - cwd) : strlen(cwd));
	char path[PATH_BYTES];

	if (!program_needs_place(p))
		return;
	if (is_by_cwd(p))
		snprintf(path, sizeof(path), "%.*s", len, cwd);
	else
		snprintf(path, sizeof(path), "%.*s/%s", p->dir[0] == '/' ? 0 : len, cwd, p->dir);
	set_folder(p, path);
}

void program_label(const struct program *p, char *ret, size_t size)
{
	snprintf(ret, size, "%s%s%s", p->folder, p->folder[0] ? "/" : "", p->name);
}
