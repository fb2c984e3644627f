/*
 * The rules, first match wins:
 *
 *   build    the process or an ancestor is a build tool: the topmost one
 *   ci       below a runner of CI jobs
 *   cron     below cron or at: the user's
 *   session  below a login, a terminal, or a shell that has a terminal: the user's
 *   shell    code given to a shell, and the small commands of shells: the topmost shell's script
 *   script   an interpreter: its script
 *   process  the executable
 *
 * What was started by hand and then detached (setsid, nohup) has init as its parent and thus no
 * ancestor that is a login: it is named as a daemon. Commands are recognised by a list, because
 * a start script that waits for the server it has started must not lend its name to it.
 */
#include "node-agent/process/unmanaged_name.h"

#define GO_RUN "/go-build"

struct label {
	const char *program;
	const char *label;
};

static const struct label build_tools[] = {
	{"make", "make"},
	{"gmake", "make"},
	{"ninja", "ninja"},
	{"ninja-build", "ninja"},
	{"samu", "ninja"},
	{"cmake", "cmake"},
	{"ctest", "ctest"},
	{"meson", "meson"},
	{"meson.py", "meson"},
	{"scons", "scons"},
	{"waf", "waf"},
	{"bazel", "bazel"},
	{"bazelisk", "bazel"},
	{"buck2", "buck2"},
	{"go", "go"},
	{"cargo", "cargo"},
	{"npm", "npm"},
	{"npm-cli.js", "npm"},
	{"yarn", "yarn"},
	{"yarn.js", "yarn"},
	{"yarnpkg", "yarn"},
	{"pnpm", "pnpm"},
	{"pnpm.cjs", "pnpm"},
	{"mvn", "mvn"},
	{"mvnd", "mvn"},
	{"org.codehaus.plexus.classworlds.launcher.Launcher", "mvn"},
	{"org.apache.maven.wrapper.MavenWrapperMain", "mvn"},
	{"gradle", "gradle"},
	{"gradlew", "gradle"},
	{"gradle-wrapper.jar", "gradle"},
	{"org.gradle.wrapper.GradleWrapperMain", "gradle"},
	{"org.gradle.launcher.daemon.bootstrap.GradleDaemon", "gradle"},
	{"worker.org.gradle.process.internal.worker.GradleWorkerMain", "gradle"},
	{"ant", "ant"},
	{"sbt", "sbt"},
	{"sbt-launch.jar", "sbt"},
	{"pip", "pip"},
	{"pip3", "pip"},
	{"dpkg", "dpkg"},
	{"dpkg-buildpackage", "dpkg-buildpackage"},
	{"debuild", "dpkg-buildpackage"},
	{"sbuild", "sbuild"},
	{"apt", "apt"},
	{"apt-get", "apt"},
	{"aptitude", "apt"},
	{"unattended-upgrade", "apt"},
	{"rpm", "rpm"},
	{"rpmbuild", "rpmbuild"},
	{"dnf", "dnf"},
	{"dnf5", "dnf"},
	{"yum", "yum"},
	{"zypper", "zypper"},
	{"pacman", "pacman"},
	{"makepkg", "makepkg"},
	{"apk", "apk"},
	{"emerge", "emerge"},
	{"nix-build", "nix"},
	{"nix-daemon", "nix"},
	{"guix-daemon", "guix"},
	{"dockerd", "docker"},
	{"buildkitd", "buildkit"},
	{"buildah", "buildah"},
};

static const struct label ci_runners[] = {
	{"Runner.Worker", "github-actions"},
	{"Runner.Listener", "github-actions"},
	{"gitlab-runner", "gitlab-runner"},
	{"buildkite-agent", "buildkite"},
	{"act_runner", "gitea-actions"},
	{"forgejo-runner", "forgejo-actions"},
	{"drone-runner-exec", "drone"},
	{"circleci-agent", "circleci"},
	{"Agent.Worker", "azure-pipelines"},
	{"agent.jar", "jenkins"},
	{"remoting.jar", "jenkins"},
	{"slave.jar", "jenkins"},
	{"jetbrains.buildServer.agent.AgentMain", "teamcity"},
};

static const char *const crons[] = {"cron",    "crond", "CRON",  "fcron",
				    "anacron", "atd",   "dcron", NULL};

/* What stands between a person and their shell. */
static const char *const logins[] = {
	"sshd",           "sshd-session",
	"sshd-auth",      "dropbear",
	"login",          "su",
	"mosh-server",    "tmux",
	"screen",         "SCREEN",
	"zellij",         "xterm",
	"konsole",        "kitty",
	"alacritty",      "foot",
	"ptyxis-agent",   "gnome-terminal-server",
	"xfce4-terminal", "wezterm-gui",
	"ttyd",           NULL,
};

/* What shells start by the hundred. */
static const char *const commands[] = {
	"[",        "awk",      "base64",     "basename", "bc",       "bzip2",     "cat",
	"chgrp",    "chmod",    "chown",      "cksum",    "clear",    "cmp",       "column",
	"comm",     "cp",       "curl",       "cut",      "date",     "dc",        "dd",
	"df",       "diff",     "dirname",    "du",       "echo",     "ed",        "egrep",
	"env",      "expand",   "expr",       "false",    "fgrep",    "file",      "find",
	"fmt",      "fold",     "gawk",       "getconf",  "getent",   "getopt",    "git",
	"grep",     "groups",   "gunzip",     "gzip",     "head",     "hostname",  "id",
	"install",  "ip",       "jq",         "join",     "kill",     "killall",   "less",
	"ln",       "locale",   "logger",     "logname",  "ls",       "lsblk",     "lsof",
	"m4",       "mawk",     "md5sum",     "mkdir",    "mkfifo",   "mknod",     "mktemp",
	"more",     "mount",    "mountpoint", "mv",       "netstat",  "nice",      "nl",
	"nohup",    "nproc",    "od",         "openssl",  "paste",    "patch",     "pgrep",
	"pidof",    "ping",     "pkill",      "pr",       "printenv", "printf",    "ps",
	"pwd",      "readlink", "realpath",   "rev",      "rg",       "rm",        "rmdir",
	"rsync",    "scp",      "sed",        "seq",      "sha1sum",  "sha256sum", "shred",
	"shuf",     "sleep",    "sort",       "split",    "ss",       "ssh",       "stat",
	"strings",  "stty",     "sudo",       "sync",     "tac",      "tail",      "tar",
	"tee",      "test",     "time",       "timeout",  "top",      "touch",     "tput",
	"tr",       "true",     "truncate",   "tsort",    "tty",      "umount",    "uname",
	"unexpand", "uniq",     "unxz",       "unzip",    "uptime",   "users",     "vmstat",
	"wc",       "wget",     "which",      "who",      "whoami",   "xargs",     "xxd",
	"xz",       "yes",      "zcat",       "zgrep",    "zip",      "zstd",
};

static const char *label_of(const struct label *labels, size_t n, const char *program)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(labels[i].program, program) == 0)
			return labels[i].label;
	}
	return NULL;
}

static bool is_listed(const char *const *list, const char *name)
{
	for (; *list; list++) {
		if (strcmp(*list, name) == 0)
			return true;
	}
	return false;
}

/* The list is sorted. */
static bool is_command(const char *name)
{
	size_t low = 0, high = ARRAY_SIZE(commands);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = strcmp(name, commands[middle]);

		if (r == 0)
			return true;
		if (r < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

void ancestry_add(struct ancestry *a, const struct program *p, bool terminal)
{
	if (!a->build && !p->serves)
		a->build = label_of(build_tools, ARRAY_SIZE(build_tools), p->name);
	if (!a->ci)
		a->ci = label_of(ci_runners, ARRAY_SIZE(ci_runners), p->name);
	if (!a->shell[0] && p->shell)
		memcpy(a->shell, p->name, sizeof(a->shell));
	a->cron |= is_listed(crons, p->name);
	a->login |= is_listed(logins, p->name) || (p->shell && terminal);
}

/* What "go run" and "cargo run" have built is no part of the build any more. */
static bool is_product(const char *exe, const char *tool)
{
	const char *target = strstr(exe, "/target/"), *go = strstr(exe, GO_RUN);

	if (strcmp(tool, "go") == 0)
		return go && strstr(go, "/exe/");
	if (strcmp(tool, "cargo") != 0 || !target)
		return false;
	target += strlen("/target/");
	return (strncmp(target, "debug/", 6) == 0 && !strchr(target + 6, '/')) ||
	       (strncmp(target, "release/", 8) == 0 && !strchr(target + 8, '/'));
}

enum rule {
	RULE_BUILD,
	RULE_CI,
	RULE_CRON,
	RULE_SESSION,
	RULE_SHELL,
	RULE_OWN,
};

/* a is the ancestry with the process itself. */
static enum rule choose(const struct unmanaged_facts *f, struct ancestry *a)
{
	const struct program *p = f->program;
	bool login_itself = is_listed(logins, p->name);

	*a = *f->above;
	ancestry_add(a, p, f->terminal);
	if (a->build && !is_product(f->exe, a->build))
		return RULE_BUILD;
	if (f->above->ci)
		return RULE_CI;
	if (f->above->cron)
		return RULE_CRON;
	if (f->above->login || (a->login && !login_itself) || (f->session && login_itself))
		return RULE_SESSION;
	if (f->session && p->shell && p->kind != PROGRAM_SCRIPT)
		return RULE_SESSION;
	if (p->kind != PROGRAM_SCRIPT && a->shell[0] && (p->shell || is_command(p->name)))
		return RULE_SHELL;
	return RULE_OWN;
}

bool unmanaged_name_needs_user(const struct unmanaged_facts *f)
{
	struct ancestry a;
	enum rule rule = choose(f, &a);

	return rule == RULE_CRON || rule == RULE_SESSION;
}

void unmanaged_name(const struct unmanaged_facts *f, char *ret, size_t size)
{
	const char *folder = "process", *name = f->program->name;
	struct ancestry a;

	switch (choose(f, &a)) {
	case RULE_BUILD:
		folder = "build";
		name = a.build;
		break;
	case RULE_CI:
		folder = "ci";
		name = f->above->ci;
		break;
	case RULE_CRON:
		folder = "cron";
		name = f->user;
		break;
	case RULE_SESSION:
		folder = "session";
		name = f->user;
		break;
	case RULE_SHELL:
		name = a.shell;
		break;
	case RULE_OWN:
		break;
	}
	snprintf(ret, size, "/%s/%s", folder, name);
}
