#include "node-agent/process/program_name.h"
#include "test/lib/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Words are separated by '|', which stands for NUL; "" is a command line that is unknown. */
static const struct {
	const char *exe;
	const char *command_line;
	const char *name;
	enum program_kind kind;
} cases[] = {
	/* not interpreters */
	{"/usr/sbin/nginx", "nginx: master process /usr/sbin/nginx", "nginx", PROGRAM_PLAIN},
	{"/tmp/build/app (deleted)", "./app|--password|x", "app", PROGRAM_PLAIN},
	{"/usr/bin/postgres", "postgres: main: user db 10.0.0.1(4242) idle", "postgres",
	 PROGRAM_PLAIN},
	{"/usr/bin/uwsgi", "uwsgi|--ini|x.ini", "uwsgi", PROGRAM_PLAIN},
	{"/usr/sbin/php-fpm8.2", "php-fpm: pool www", "php-fpm8.2", PROGRAM_PLAIN},
	{"", "", "worker", PROGRAM_PLAIN},
	{"/memfd:runc_cloned:/proc/self/exe (deleted)", "runc|init", "worker", PROGRAM_PLAIN},
	/* Python */
	{"/usr/bin/python3.11", "", "python3.11", PROGRAM_PLAIN},
	{"/usr/bin/python3.11", "python3|app.py", "app.py", PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "python3|-u|/srv/shop/app.py|--token|s3cret", "app.py",
	 PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "python3|-m|http.server|8080", "http.server", PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "python3|-um|http.server", "http.server", PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "python3|-mhttp.server", "http.server", PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "python3|-W|ignore|-X|dev|app.py", "app.py", PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "python3|-Wignore|-Xdev|app.py", "app.py", PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "python3|-c|password = 'x'", "python3.11", PROGRAM_INLINE},
	{"/usr/bin/python3.11", "python3|-", "python3.11", PROGRAM_INLINE},
	{"/usr/bin/python3.11", "python3", "python3.11", PROGRAM_INTERACTIVE},
	{"/usr/bin/python3.11", "/usr/bin/python3|/usr/bin/gunicorn|app:app", "gunicorn",
	 PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "gunicorn: master [shop.wsgi]", "gunicorn", PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "gunicorn: worker [shop.wsgi]||||", "gunicorn", PROGRAM_SCRIPT},
	{"/usr/bin/python3.11", "[celeryd: celery@host:MainProcess] -active- (worker)", "celeryd",
	 PROGRAM_SCRIPT},
	{"/opt/pypy/bin/pypy3", "pypy3|/x/y/job.py", "job.py", PROGRAM_SCRIPT},
	/* Node.js and relatives */
	{"/usr/bin/node", "node|server.js", "server.js", PROGRAM_SCRIPT},
	{"/usr/bin/node", "node|--max-old-space-size=4096|-r|dotenv/config|dist/main.js", "main.js",
	 PROGRAM_SCRIPT},
	{"/usr/bin/node", "node|--require|./a.js|--import|b|/srv/c.mjs", "c.mjs", PROGRAM_SCRIPT},
	{"/usr/bin/node", "node|-e|fetch('https://u:p@h')", "node", PROGRAM_INLINE},
	{"/usr/bin/node", "node|--eval=1", "node", PROGRAM_INLINE},
	{"/usr/bin/node", "node|-pe|1", "node", PROGRAM_INLINE},
	{"/usr/bin/node", "node /srv/app/worker.js", "worker.js", PROGRAM_SCRIPT},
	{"/usr/bin/node", "npm run build", "npm", PROGRAM_SCRIPT},
	{"/usr/bin/node", "PM2 v5.3.0: God Daemon (/root/.pm2)", "PM2", PROGRAM_SCRIPT},
	{"/usr/bin/bun", "bun|run|index.ts", "index.ts", PROGRAM_SCRIPT},
	{"/usr/bin/deno", "deno|run|-A|https://u:p@example.org/mod.ts?token=x", "mod.ts",
	 PROGRAM_SCRIPT},
	/* Ruby, Perl, PHP and others */
	{"/usr/bin/ruby3.1", "ruby|-I|lib|bin/rails|server", "rails", PROGRAM_SCRIPT},
	{"/usr/bin/ruby3.1", "puma 6.4.0 (tcp://0.0.0.0:3000) [shop]", "puma", PROGRAM_SCRIPT},
	{"/usr/bin/ruby3.1", "ruby|-rjson|-e|puts 1", "ruby3.1", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-w|/usr/bin/exim_tidydb", "exim_tidydb", PROGRAM_SCRIPT},
	{"/usr/bin/perl", "perl|-Mstrict|x.pl", "x.pl", PROGRAM_SCRIPT},
	{"/usr/bin/perl", "perl|-lne|print", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-wne|print hunter2", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-0pe|hunter2", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-0pe|s/OLD/hunter2/|f", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-0777pe|hunter2", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-0xFFpe|hunter2", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-l012ne|hunter2", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-CSDe|hunter2", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-F:|-ane|hunter2", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-i.bak|-pe|hunter2", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-pie|s/a/hunter2/|f", "perl", PROGRAM_INLINE},
	{"/usr/bin/perl", "perl|-C0|x.pl", "x.pl", PROGRAM_SCRIPT},
	{"/usr/bin/perl", "perl|-0777|x.pl", "x.pl", PROGRAM_SCRIPT},
	{"/usr/bin/perl", "perl|--|x.pl|hunter2", "x.pl", PROGRAM_SCRIPT},
	{"/usr/bin/ruby3.1", "ruby|-ne|hunter2", "ruby3.1", PROGRAM_INLINE},
	{"/usr/bin/ruby3.1", "ruby|-W0e|hunter2", "ruby3.1", PROGRAM_INLINE},
	{"/usr/bin/ruby3.1", "ruby|-We|hunter2", "ruby3.1", PROGRAM_INLINE},
	{"/usr/bin/ruby3.1", "ruby|-0777ne|hunter2", "ruby3.1", PROGRAM_INLINE},
	{"/usr/bin/ruby3.1", "ruby|-Kue|hunter2", "ruby3.1", PROGRAM_INLINE},
	{"/usr/bin/ruby3.1", "ruby|-W:no-deprecated|a.rb", "a.rb", PROGRAM_SCRIPT},
	{"/usr/bin/ruby3.1", "ruby|-W0|a.rb", "a.rb", PROGRAM_SCRIPT},
	{"/usr/bin/php8.2", "php|--|hunter2", "php8.2", PROGRAM_INLINE},
	{"/usr/bin/php8.2", "php|--run|hunter2", "php8.2", PROGRAM_INLINE},
	{"/usr/bin/php8.2", "php|--process-code|hunter2", "php8.2", PROGRAM_INLINE},
	{"/usr/bin/php8.2", "php|-F|each.php", "each.php", PROGRAM_SCRIPT},
	{"/usr/bin/php8.2", "php|artisan|queue:work", "artisan", PROGRAM_SCRIPT},
	{"/usr/bin/php8.2", "php|-d|memory_limit=1G|-f|cron.php", "cron.php", PROGRAM_SCRIPT},
	{"/usr/bin/php8.2", "php|-S|localhost:8000|router.php", "router.php", PROGRAM_SCRIPT},
	{"/usr/bin/php8.2", "php|-r|echo 1;", "php8.2", PROGRAM_INLINE},
	{"/usr/lib/R/bin/exec/R", "R|--no-echo|--file=fit.R|--args|x", "fit.R", PROGRAM_SCRIPT},
	{"/usr/lib/R/bin/exec/R", "R|--no-save|--args|hunter2", "R", PROGRAM_INLINE},
	{"/usr/lib/R/bin/exec/R", "R|--no-save|hunter2", "R", PROGRAM_INTERACTIVE},
	{"/usr/lib/R/bin/exec/R", "R|-e|hunter2", "R", PROGRAM_INLINE},
	{"/usr/bin/lua5.4", "lua|-|hunter2", "lua5.4", PROGRAM_INLINE},
	{"/usr/bin/expect", "expect|--|hunter2", "expect", PROGRAM_INLINE},
	{"/usr/bin/deno", "deno|eval|hunter2", "deno", PROGRAM_INLINE},
	{"/usr/bin/node", "node|-p|hunter2", "node", PROGRAM_INLINE},
	{"/usr/bin/node", "node|--print|hunter2", "node", PROGRAM_INLINE},
	{"/usr/bin/node", "node|--inspect-port|1234|app.js", "app.js", PROGRAM_SCRIPT},
	{"/usr/bin/node", "node|--|app.js|hunter2", "app.js", PROGRAM_SCRIPT},
	{"/usr/bin/python3", "python3|-Ic|hunter2", "python3", PROGRAM_INLINE},
	{"/usr/bin/python3", "python3|-|hunter2", "python3", PROGRAM_INLINE},
	{"/usr/bin/python3", "python3|--|x.py|hunter2", "x.py", PROGRAM_SCRIPT},
	{"/usr/bin/gawk", "awk|{ print \"hunter2\" }", "gawk", PROGRAM_PLAIN},
	{"/usr/bin/gawk", "awk|-f|x.awk|hunter2", "gawk", PROGRAM_PLAIN},
	{"/usr/bin/sed", "sed|-e|s/a/hunter2/", "sed", PROGRAM_PLAIN},
	{"/usr/bin/dotnet", "dotnet|/srv/Shop.Api.dll|--urls|http://*", "Shop.Api.dll",
	 PROGRAM_SCRIPT},
	{"/usr/bin/dotnet", "dotnet|exec|Shop.dll", "Shop.dll", PROGRAM_SCRIPT},
	/* Java */
	{"/usr/bin/java", "java|-Xmx1g|-Dpassword=x|-jar|/srv/shop.jar|--secret|y", "shop.jar",
	 PROGRAM_SCRIPT},
	{"/usr/bin/java", "java|-cp|/a:/b|-Dx=y|kafka.Kafka|server.properties", "kafka.Kafka",
	 PROGRAM_SCRIPT},
	{"/usr/bin/java", "java|-p|mods|-m|shop/org.acme.Main", "org.acme.Main", PROGRAM_SCRIPT},
	{"/usr/bin/java", "java|--add-opens|a/b=c|@args|org.acme.Main", "org.acme.Main",
	 PROGRAM_SCRIPT},
	{"/usr/bin/java", "java|-version", "java", PROGRAM_PLAIN},
	{"/home/a/.cache/bazel/java", "bazel(ws)|--add-opens=java", "bazel", PROGRAM_PLAIN},
	/* shells */
	{"/usr/bin/bash", "-bash", "bash", PROGRAM_INTERACTIVE},
	{"/usr/bin/bash", "bash|-i|-l", "bash", PROGRAM_INTERACTIVE},
	{"/usr/bin/bash", "bash|--rcfile|/x/rc|-i", "bash", PROGRAM_INTERACTIVE},
	{"/usr/bin/bash", "/bin/bash|/usr/local/bin/backup.sh|--key|x", "backup.sh",
	 PROGRAM_SCRIPT},
	{"/usr/bin/bash", "bash|-euo|pipefail|run.sh", "run.sh", PROGRAM_SCRIPT},
	{"/usr/bin/dash", "sh|-c|curl -u me:pw x", "dash", PROGRAM_INLINE},
	{"/usr/bin/dash", "sh|-ec|exit", "dash", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|-s", "bash", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|-s|--|hunter2", "bash", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|-lc|hunter2", "bash", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|-o|pipefail|-c|hunter2", "bash", PROGRAM_INLINE},
	{"/usr/bin/dash", "sh|-es|hunter2", "dash", PROGRAM_INLINE},
	{"/usr/bin/dash", "sh|-|hunter2", "dash", PROGRAM_INLINE},
	{"/usr/bin/fish", "fish|--command|hunter2", "fish", PROGRAM_INLINE},
	{"/usr/bin/fish", "fish|-C|hunter2|x.fish", "fish", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|--|x.sh", "x.sh", PROGRAM_SCRIPT},
	/* what cannot be a script is not shown */
	{"/usr/bin/python3", "python3|PASSWORD=x", "python3", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|user@host", "bash", PROGRAM_INLINE},
	{"/usr/bin/python3", "python3|echo 'hunter2'", "python3", PROGRAM_INLINE},
	{"/usr/bin/python3", "python3|print('a/hunter2", "python3", PROGRAM_INLINE},
	{"/usr/bin/python3", "python3|/srv/My App (1)/@x/a=b/job.py", "job.py", PROGRAM_SCRIPT},
	{"/usr/bin/python3", "python3|$hunter2", "python3", PROGRAM_INLINE},
	{"/usr/bin/python3", "python3|a;hunter2", "python3", PROGRAM_INLINE},
	{"/usr/bin/python3", "python3|me:hunter2", "python3", PROGRAM_INLINE},
	{"/usr/bin/python3", "python3|f(hunter2)", "python3", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|/dev/fd/63", "bash", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|/proc/self/fd/3", "bash", PROGRAM_INLINE},
	{"/usr/bin/bash", "bash|/", "bash", PROGRAM_INLINE},
};

static size_t with_nuls(const char *text, char *ret, size_t size)
{
	size_t len = strlen(text);

	assert_true(len < size);
	for (size_t i = 0; i < len; i++)
		ret[i] = text[i] == '|' ? '\0' : text[i];
	ret[len] = '\0';
	return len + 1;
}

static void interpreters_are_called_as_their_scripts(void **state)
{
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = with_nuls(cases[i].command_line, line, sizeof(line));
		struct program p;

		program_parse(cases[i].exe, "worker", len > 1 ? line : NULL, len, &p);
		if (strcmp(p.name, cases[i].name) != 0 || p.kind != cases[i].kind)
			fail_msg("%s \"%s\" is taken for \"%s\" (kind %d)", cases[i].exe,
				 cases[i].command_line, p.name, p.kind);
	}
}

static void only_shells_are_shells(void **state)
{
	struct program p;

	(void)state;
	program_parse("/bin/bash", NULL, NULL, 0, &p);
	assert_true(p.shell);
	program_parse("/usr/bin/python3", NULL, NULL, 0, &p);
	assert_false(p.shell);
	program_parse("/memfd:sealed-91173221a7ea (deleted)", "memfd:sealed-91", NULL, 0, &p);
	assert_string_equal(p.name, "memfd");
	program_parse("", NULL, NULL, 0, &p);
	assert_string_equal(p.name, "unknown");
	assert_true(program_is_interpreter("/usr/bin/ruby3.1 (deleted)"));
	assert_false(program_is_interpreter("/usr/bin/cut"));
	assert_false(program_is_interpreter(""));
}

static void package_managers_that_run_an_application_build_nothing(void **state)
{
	static const struct {
		const char *command_line;
		bool serves;
	} lines[] = {
		{"npm start", true},
		{"npm run dev", true},
		{"npm run build", false},
		{"npm install left-pad", false},
		{"node|/usr/bin/yarn|start:prod", true},
		{"node|/usr/bin/yarn.js|build", false},
		{"node|/usr/lib/pnpm.cjs|exec|x", true},
		{"node|npx-cli.js|serve", true},
		{"node|app.js|start", false},
	};
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		size_t len = with_nuls(lines[i].command_line, line, sizeof(line));
		struct program p;

		program_parse("/usr/bin/node", NULL, line, len, &p);
		if (p.serves != lines[i].serves)
			fail_msg("%s: %d", lines[i].command_line, p.serves);
	}
}

static void a_sandbox_of_gvisor_has_the_id_of_its_container(void **state)
{
	char line[512], id[256] = "pod1";
	size_t len = with_nuls("/usr/bin/runsc-sandbox|--root=/run/runsc|boot|--x=1|" ID, line,
			       sizeof(line));

	(void)state;
	assert_true(program_gvisor_id(line, len, id, sizeof(id)));
	assert_string_equal(id, ID);
	len = with_nuls("runsc-gofer|" ID, line, sizeof(line));
	assert_false(program_gvisor_id(line, len, id, sizeof(id)));
	len = with_nuls("runsc-sandbox|boot|" ID "0", line, sizeof(line));
	assert_false(program_gvisor_id(line, len, id, sizeof(id)));
	assert_false(program_gvisor_id("", 0, id, sizeof(id)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interpreters_are_called_as_their_scripts),
		cmocka_unit_test(only_shells_are_shells),
		cmocka_unit_test(package_managers_that_run_an_application_build_nothing),
		cmocka_unit_test(a_sandbox_of_gvisor_has_the_id_of_its_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
