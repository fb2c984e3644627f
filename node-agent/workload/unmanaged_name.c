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
#include "node-agent/workload/unmanaged_name.h"

#include "node-agent/workload/program_place.h"

/* What they are called together, then the programs. */
static const char *const build_tools[] = {
	"make make gmake",
	"ninja ninja ninja-build samu",
	"cmake cmake",
	"ctest ctest",
	"meson meson meson.py",
	"scons scons",
	"waf waf",
	"bazel bazel bazelisk",
	"buck2 buck2",
	"go go",
	"cargo cargo",
	"npm npm npm-cli.js",
	"yarn yarn yarn.js yarnpkg",
	"pnpm pnpm pnpm.cjs",
	"mvn mvn mvnd org.codehaus.plexus.classworlds.launcher.Launcher",
	"mvn org.apache.maven.wrapper.MavenWrapperMain",
	"gradle gradle gradlew gradle-wrapper.jar org.gradle.wrapper.GradleWrapperMain",
	"gradle org.gradle.launcher.daemon.bootstrap.GradleDaemon",
	"gradle worker.org.gradle.process.internal.worker.GradleWorkerMain",
	"ant ant",
	"sbt sbt sbt-launch.jar",
	"pip pip pip3",
	"dpkg dpkg",
	"dpkg-buildpackage dpkg-buildpackage debuild",
	"sbuild sbuild",
	"apt apt apt-get aptitude unattended-upgrade",
	"rpm rpm",
	"rpmbuild rpmbuild",
	"dnf dnf dnf5",
	"yum yum",
	"zypper zypper",
	"pacman pacman",
	"makepkg makepkg",
	"apk apk",
	"emerge emerge",
	"nix nix-build nix-daemon",
	"guix guix-daemon",
	"docker dockerd",
	"buildkit buildkitd",
	"buildah buildah",
};
static const char *const ci_runners[] = {
	"github-actions Runner.Worker Runner.Listener",
	"gitlab-runner gitlab-runner",
	"buildkite buildkite-agent",
	"gitea-actions act_runner",
	"forgejo-actions forgejo-runner",
	"drone drone-runner-exec",
	"circleci circleci-agent",
	"azure-pipelines Agent.Worker",
	"jenkins agent.jar remoting.jar slave.jar",
	"teamcity jetbrains.buildServer.agent.AgentMain",
};

static const char crons[] = "cron crond CRON fcron anacron atd dcron";

/* What stands between a person and their shell. */
static const char logins[] =
	"sshd sshd-session sshd-auth dropbear login su mosh-server tmux screen SCREEN "
	"zellij xterm konsole kitty alacritty foot ptyxis-agent gnome-terminal-server "
	"xfce4-terminal wezterm-gui ttyd";

/* What shells start by the hundred. */
static const char commands[] =
	"[ awk base64 basename bc bzip2 cat chgrp chmod chown cksum clear cmp column "
	"comm cp curl cut date dc dd df diff dirname du echo ed egrep env expand expr "
	"false fgrep file find fmt fold gawk getconf getent getopt git grep groups "
	"gunzip gzip head hostname id install ip jq join kill killall less ln locale "
	"logger logname ls lsblk lsof m4 mawk md5sum mkdir mkfifo mknod mktemp more "
	"mount mountpoint mv netstat nice nl nohup nproc od openssl paste patch pgrep "
	"pidof ping pkill pr printenv printf ps pwd readlink realpath rev rg rm rmdir "
	"rsync scp sed seq sha1sum sha256sum shred shuf sleep sort split ss ssh stat "
	"strings stty sudo sync tac tail tar tee test time timeout top touch tput tr "
	"true truncate tsort tty umount uname unexpand uniq unxz unzip uptime users "
	"vmstat wc wget which who whoami xargs xxd xz yes zcat zgrep zip zstd";

static bool is_listed(const char *list, const char *name)
{
	return program_is_listed(list, name, strlen(name));
}

static void find_label(const char *const *labels, size_t n, const char *program,
		       char ret[static ANCESTRY_LABEL_BYTES])
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(labels[i], " ");

		if (is_listed(labels[i] + len + 1, program))
			snprintf(ret, ANCESTRY_LABEL_BYTES, "%.*s", (int)len, labels[i]);
	}
}

void ancestry_add(struct ancestry *a, const struct program *p, bool terminal)
{
	if (!a->build[0] && !p->serves)
		find_label(build_tools, ARRAY_SIZE(build_tools), p->name, a->build);
	if (!a->ci[0])
		find_label(ci_runners, ARRAY_SIZE(ci_runners), p->name, a->ci);
	if (!a->shell[0] && p->shell)
		program_label(p, a->shell, sizeof(a->shell));
	a->cron |= is_listed(crons, p->name);
	a->login |= is_listed(logins, p->name) || (p->shell && terminal);
}

/* What "go run" and "cargo run" have built is no part of the build any more. */
static bool is_product(const char *exe, const char *tool)
{
	const char *target = strstr(exe, "/target/"), *go = strstr(exe, PROGRAM_GO_RUN);

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
	if (a->build[0] && !is_product(f->exe, a->build))
		return RULE_BUILD;
	if (f->above->ci[0])
		return RULE_CI;
	if (f->above->cron)
		return RULE_CRON;
	if (f->above->login || (a->login && !login_itself) || (f->session && login_itself))
		return RULE_SESSION;
	if (f->session && p->shell && p->kind != PROGRAM_SCRIPT)
		return RULE_SESSION;
	if (p->kind != PROGRAM_SCRIPT && a->shell[0] && (p->shell || is_listed(commands, p->name)))
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
	const char *folder = "process", *name = "";
	char label[PROGRAM_LABEL_BYTES];
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
		program_label(f->program, label, sizeof(label));
		name = label;
		break;
	}
	snprintf(ret, size, "/%s/%s", folder, name);
}
