#include "node-agent/workload/unmanaged_name.h"
#include "test/lib/unit.h"

#define S true /* its cgroup is that of a login session */

/*
 * Ancestors from the topmost on; "^" before one: it has a terminal; "x.sh!": a shell that runs this
 * script. The last is the process itself, as its executable or script.
 */
static const struct {
	const char *chain;
	const char *name;
	bool session;
} cases[] = {
	/* daemons, whoever has started them */
	{"nginx", "/process/nginx", false},
	{"supervisord worker", "/process/worker", false},
	{"server", "/process/server", S},
	{"app.py", "/process/app.py", S},
	{"sshd", "/process/sshd", false},
	{"tmux", "/session/alice", S},
	/* sessions */
	{"sshd sshd ^bash cut", "/session/alice", S},
	{"sshd sshd bash", "/session/alice", S},
	{"sshd-session", "/session/alice", S},
	{"sshd sh", "/session/alice", false},
	{"login ^bash vim", "/session/alice", false},
	{"su bash grep", "/session/alice", false},
	{"tmux ^zsh ./server", "/session/alice", false},
	{"screen ^bash top", "/session/alice", false},
	{"gnome-terminal-server ^bash app.py", "/session/alice", false},
	{"^bash", "/session/alice", false},
	{"^bash grep", "/session/alice", false},
	{"^bash x.sh! grep", "/session/alice", false},
	{"bash", "/session/alice", S},
	{"mosh-server ^fish htop", "/session/alice", S},
	{"firefox", "/process/firefox", S},
	{"gnome-shell firefox", "/process/firefox", S},
	/* builds, wherever they run */
	{"make", "/build/make", false},
	{"sshd ^bash make sh cc1", "/build/make", S},
	{"^bash gmake cc cc1", "/build/make", false},
	{"ninja sh clang", "/build/ninja", false},
	{"cmake ninja cc1plus", "/build/cmake", false},
	{"go compile", "/build/go", false},
	{"cargo rustc", "/build/cargo", false},
	{"cargo", "/build/cargo", false},
	{"npm node", "/build/npm", false},
	{"npm-cli.js sh tsc", "/build/npm", false},
	{"yarn.js webpack", "/build/yarn", false},
	{"pnpm.cjs vite", "/build/pnpm", false},
	{"org.codehaus.plexus.classworlds.launcher.Launcher", "/build/mvn", false},
	{"org.gradle.launcher.daemon.bootstrap.GradleDaemon", "/build/gradle", false},
	{"bazel gcc", "/build/bazel", false},
	{"apt-get dpkg x.postinst! update-rc.d", "/build/apt", false},
	{"dpkg-buildpackage make cc1", "/build/dpkg-buildpackage", false},
	{"pip ninja cc1", "/build/pip", false},
	{"dockerd runc sh apk", "/build/docker", false},
	{"buildkitd runc cc1", "/build/buildkit", false},
	{"supervisord build.sh! make cc1", "/build/make", false},
	/* CI jobs */
	{"Runner.Listener Runner.Worker run.sh! grep", "/ci/github-actions", false},
	{"gitlab-runner bash python3", "/ci/gitlab-runner", false},
	{"agent.jar sh pytest", "/ci/jenkins", false},
	{"Runner.Worker sh make cc1", "/build/make", false},
	{"gitlab-runner", "/process/gitlab-runner", false},
	/* cron jobs */
	{"cron cron sh backup.sh! gzip", "/cron/alice", false},
	{"crond app.py", "/cron/alice", false},
	{"atd sh x", "/cron/alice", S},
	{"cron", "/process/cron", false},
	/* shells outside sessions */
	{"backup.sh!", "/process/backup.sh", false},
	{"backup.sh! gzip", "/process/backup.sh", false},
	{"backup.sh! sh cut", "/process/backup.sh", false},
	{"supervisord sh", "/process/sh", false},
	{"agentd bash cut", "/process/bash", false},
	{"agentd bash sh grep", "/process/bash", false},
	{"start.sh! shop.jar", "/process/shop.jar", false},
	{"start.sh! postgres", "/process/postgres", false},
	{"outer.sh! inner.sh!", "/process/inner.sh", false},
	/* commands that nobody has started from a shell */
	{"grep", "/process/grep", false},
	{"supervisord rsync", "/process/rsync", false},
};

static struct program program_of(const char *name)
{
	static const char *const shells[] = {"bash", "sh", "zsh", "fish"};
	struct program p = {.kind = PROGRAM_PLAIN};
	size_t len = strlen(name);

	if (name[len - 1] == '!') {
		p.kind = PROGRAM_SCRIPT;
		p.shell = true;
		len--;
	} else if (strchr(name, '.') && name[0] != '.') {
		p.kind = PROGRAM_SCRIPT;
	}
	snprintf(p.name, sizeof(p.name), "%.*s", (int)len, name);
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		p.shell |= strcmp(p.name, shells[i]) == 0;
	return p;
}

TEST(each_process_has_the_name_of_what_it_belongs_to)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ancestry above = {0};
		char chain[256], *rest = chain, *word, name[128];

		snprintf(chain, sizeof(chain), "%s", cases[i].chain);
		while ((word = strsep(&rest, " "))) {
			bool terminal = word[0] == '^';
			struct program p = program_of(word + terminal);
			const struct unmanaged_facts facts = {
				.exe = "/usr/bin/x",
				.program = &p,
				.above = &above,
				.user = "alice",
				.terminal = terminal,
				.session = cases[i].session,
			};

			unmanaged_name(&facts, name, sizeof(name));
			assert_true(unmanaged_name_needs_user(&facts) ==
				    (strstr(name, "alice") != NULL));
			ancestry_add(&above, &p, terminal);
		}
		if (strcmp(name, cases[i].name) != 0)
			fail_msg("%s is called %s", cases[i].chain, name);
	}
}

static void check_product(const char *tool, const char *exe, const char *want)
{
	struct program builder = program_of(tool), p;
	struct ancestry above = {0};
	const struct unmanaged_facts facts = {.exe = exe, .program = &p, .above = &above};
	char name[128];

	program_parse(exe, NULL, NULL, 0, &p);
	ancestry_add(&above, &builder, false);
	unmanaged_name(&facts, name, sizeof(name));
	assert_string_equal(name, want);
}

TEST(what_a_build_tool_has_built_and_runs_is_no_build)
{
	check_product("go", "/tmp/go-build123/b001/exe/server", "/process/server");
	check_product("go", "/tmp/go-build123/b001/shop.test", "/build/go");
	check_product("go", "/usr/lib/go/pkg/tool/linux_amd64/link", "/build/go");
	check_product("cargo", "/src/target/debug/shop", "/process/shop");
	check_product("cargo", "/src/target/release/shop", "/process/shop");
	check_product("cargo", "/src/target/debug/build/x/build-script-build", "/build/cargo");
	check_product("make", "/src/target/debug/shop", "/build/make");
}

TEST(package_managers_are_no_builds_while_they_serve)
{
	struct program npm = program_of("npm"), p = program_of("server.js");
	struct ancestry above = {0};
	const struct unmanaged_facts facts = {.exe = "", .program = &p, .above = &above};
	char name[128];

	npm.serves = true;
	ancestry_add(&above, &npm, false);
	unmanaged_name(&facts, name, sizeof(name));
	assert_string_equal(name, "/process/server.js");
}

TEST(a_name_is_cut_to_size)
{
	struct program p = program_of("0123456789");
	const struct ancestry above = {0};
	const struct unmanaged_facts facts = {.exe = "", .program = &p, .above = &above};
	char name[12];

	unmanaged_name(&facts, name, sizeof(name));
	assert_string_equal(name, "/process/01");
}
