#include "node-agent/workload/profile_filter.h"

#include <errno.h>
#include <regex.h>

#include "common/data/buf.h"
#include "common/system/fs.h"
#include "node-agent/procfs/procfs.h"

#define VARIABLE "COROOT_EBPF_PROFILING="
#define DISABLED "disabled"
#define MAX_EXPRESSIONS 1000

struct expressions {
	regex_t *of;
	size_t n;
};

struct profile_filter {
	struct expressions allow;
	struct expressions deny;
	bool no_unmanaged;
};

static void expressions_fini(struct expressions *e)
{
	for (size_t i = 0; i < e->n; i++)
		regfree(&e->of[i]);
	free(e->of);
}

static int compile(struct expressions *e, const char *option, const char *text, struct err *err)
{
	regex_t *grown = realloc(e->of, (e->n + 1) * sizeof(*grown));
	char reason[128];
	int r;

	if (!grown)
		return -ENOMEM;
	e->of = grown;
	r = regcomp(&e->of[e->n], text, REG_EXTENDED | REG_NOSUB);
	if (r == 0) {
		e->n++;
		return 0;
	}
	if (r == REG_ESPACE)
		return -ENOMEM;
	regerror(r, &e->of[e->n], reason, sizeof(reason));
	return err_set(err, -EINVAL, "--%s: \"%.100s\" is not a regular expression: %s", option,
		       text, reason);
}

static int compile_line(struct expressions *e, const char *option, const char *line, size_t len,
			struct err *err)
{
	AUTO_FREE char *text = NULL;

	if (e->n == MAX_EXPRESSIONS)
		return err_set(err, -EINVAL, "--%s: more than %d expressions", option,
			       MAX_EXPRESSIONS);
	text = strndup(line, len);
	return text ? compile(e, option, text, err) : -ENOMEM;
}

/* One expression per line. */
static int compile_all(struct expressions *e, const char *option, const char *lines,
		       struct err *err)
{
	int r = 0;

	while (r == 0 && lines && *lines) {
		size_t len = strcspn(lines, "\n");

		if (len > 0)
			r = compile_line(e, option, lines, len, err);
		lines += len + (lines[len] == '\n');
	}
	return r;
}

int profile_filter_new(struct profile_filter **ret, const struct profile_filter_config *cfg,
		       struct err *err)
{
	CLEANUP(profile_filter_freep) struct profile_filter *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->no_unmanaged = cfg->no_unmanaged;
	r = compile_all(&f->allow, "container-allowlist", cfg->allowlist, err);
	if (r == 0)
		r = compile_all(&f->deny, "container-denylist", cfg->denylist, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void profile_filter_free(struct profile_filter *f)
{
	if (!f)
		return;
	expressions_fini(&f->allow);
	expressions_fini(&f->deny);
	free(f);
}

static bool any_matches(const struct expressions *e, const char *container_id)
{
	for (size_t i = 0; i < e->n; i++) {
		if (regexec(&e->of[i], container_id, 0, NULL, 0) == 0)
			return true;
	}
	return false;
}

static bool is_unmanaged(const struct workload *w)
{
	return w->kind == CGROUP_NONE && strcmp(w->container_id, WORKLOAD_KERNEL) != 0;
}

bool profile_filter_excludes(const struct profile_filter *f, const struct workload *w)
{
	if (!f)
		return false;
	return w->profiling_disabled || (f->no_unmanaged && is_unmanaged(w)) ||
	       any_matches(&f->deny, w->container_id) ||
	       (f->allow.n > 0 && !any_matches(&f->allow, w->container_id));
}

bool profile_filter_environ_excludes(const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *nul = memchr(text, '\0', (size_t)(end - text));
		size_t n = nul ? (size_t)(nul - text) : (size_t)(end - text);

		if (n > strlen(VARIABLE) && memcmp(text, VARIABLE, strlen(VARIABLE)) == 0)
			return memmem(text, n, DISABLED, strlen(DISABLED)) != NULL;
		text += n + 1;
	}
	return false;
}

/*
 * Why the environment that was read is empty. Returns 0 if it may be, -ESRCH if the process is
 * exiting and has no memory, or -EAGAIN in the middle of execve(2): the new memory had no
 * environment yet when it was read.
 */
static int check_empty(int proc_fd)
{
	struct proc_stat st;
	struct file_id exe;

	if (procfs_read_exe_id(proc_fd, &exe) == -ENOENT || procfs_read_stat(proc_fd, &st) < 0 ||
	    st.exiting)
		return -ESRCH;
	if (st.environ_end == 0 || st.start_code == 0)
		return -EAGAIN;
	return st.environ_start == st.environ_end ? 0 : -EAGAIN;
}

int profile_filter_read_environ(int proc_fd)
{
	CLEANUP(buf_fini) struct buf text;
	unsigned n_tries = 0;
	int r;

	buf_init(&text, PROFILE_FILTER_ENVIRON_BYTES);
	do {
		r = fs_read_at(proc_fd, "environ", &text);
		if (r < 0 && r != -EFBIG)
			return r == -ENOENT ? -ESRCH : r;
		if (text.len == 0)
			r = check_empty(proc_fd);
		/* execve(2) may have ended between reading and check */
	} while (r == -EAGAIN && ++n_tries < 2);
	if (r < 0 && r != -EFBIG)
		return r;
	return text.data && profile_filter_environ_excludes(text.data, text.len);
}
