#include "node-agent/workload/program_name.h"
#include "node-agent/workload/program_place.h"
#include "test/lib/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Words are separated by '|', which stands for NUL; "" is a command line that is unknown. */
static const struct {
	const char *exe;
	const char *command_line;
	const char *name;
	bool script;
} cases[] = {
	/* not interpreters */
	{"/usr/sbin/nginx", "nginx: master process /usr/sbin/nginx", "nginx", false},
	{"/tmp/build/app (deleted)", "./app|--password|x", "app", false},
	{"/usr/bin/postgres", "postgres: main: user db 10.0.0.1(4242) idle", "postgres", false},
	{"/usr/bin/uwsgi", "uwsgi|--ini|x.ini", "uwsgi", false},
	{"/usr/sbin/php-fpm8.2", "php-fpm: pool www", "php-fpm8.2", false},
	{"", "", "worker", false},
	{"/memfd:runc_cloned:/proc/self/exe (deleted)", "runc|init", "worker", false},
	/* Python */
	{"/usr/bin/python3.11", "", "python3.11", false},
	{"/usr/bin/python3.11", "python3|app.py", "app.py", true},
	{"/usr/bin/python3.11", "python3|-u|/srv/shop/app.py|--token|s3cret", "app.py", true},
	{"/usr/bin/python3.11", "python3|-m|http.server|8080", "http.server", true},
	{"/usr/bin/python3.11", "python3|-um|http.server", "http.server", true},
	{"/usr/bin/python3.11", "python3|-mhttp.server", "http.server", true},
	{"/usr/bin/python3.11", "python3|-W|ignore|-X|dev|app.py", "app.py", true},
	{"/usr/bin/python3.11", "python3|-Wignore|-Xdev|app.py", "app.py", true},
	{"/usr/bin/python3.11", "python3|-c|password = 'x'", "python3.11", false},
	{"/usr/bin/python3.11", "python3|-", "python3.11", false},
	{"/usr/bin/python3.11", "python3", "python3.11", false},
	{"/usr/bin/python3.11", "/usr/bin/python3|/usr/bin/gunicorn|app:app", "gunicorn", true},
	{"/usr/bin/python3.11", "gunicorn: master [shop.wsgi]", "gunicorn", true},
	{"/usr/bin/python3.11", "gunicorn: worker [shop.wsgi]||||", "gunicorn", true},
	{"/usr/bin/python3.11", "[celeryd: celery@host:MainProcess] -active- (worker)", "celeryd",
	 true},
	{"/opt/pypy/bin/pypy3", "pypy3|/x/y/job.py", "job.py", true},
	/* Node.js and relatives */
	{"/usr/bin/node", "node|server.js", "server.js", true},
	{"/usr/bin/node", "node|--max-old-space-size=4096|-r|dotenv/config|dist/main.js", "main.js",
	 true},
	{"/usr/bin/node", "node|--require|./a.js|--import|b|/srv/c.mjs", "c.mjs", true},
	{"/usr/bin/node", "node|-e|fetch('https://u:p@h')", "node", false},
	{"/usr/bin/node", "node|--eval=1", "node", false},
	{"/usr/bin/node", "node|-pe|1", "node", false},
	{"/usr/bin/node", "node /srv/app/worker.js", "worker.js", true},
	{"/usr/bin/node", "npm run build", "npm", true},
	{"/usr/bin/node", "PM2 v5.3.0: God Daemon (/root/.pm2)", "PM2", true},
	{"/usr/bin/bun", "bun|run|index.ts", "index.ts", true},
	{"/usr/bin/deno", "deno|run|-A|https://u:p@example.org/mod.ts?token=x", "mod.ts", true},
	/* Ruby, Perl, PHP and others */
	{"/usr/bin/ruby3.1", "ruby|-I|lib|bin/rails|server", "rails", true},
	{"/usr/bin/ruby3.1", "puma 6.4.0 (tcp://0.0.0.0:3000) [shop]", "puma", true},
	{"/usr/bin/ruby3.1", "ruby|-rjson|-e|puts 1", "ruby3.1", false},
	{"/usr/bin/perl", "perl|-w|/usr/bin/exim_tidydb", "exim_tidydb", true},
	{"/usr/bin/perl", "perl|-Mstrict|x.pl", "x.pl", true},
	{"/usr/bin/perl", "perl|-lne|print", "perl", false},
	{"/usr/bin/perl", "perl|-wne|print hunter2", "perl", false},
	{"/usr/bin/perl", "perl|-0pe|hunter2", "perl", false},
	{"/usr/bin/perl", "perl|-0pe|s/OLD/hunter2/|f", "perl", false},
	{"/usr/bin/perl", "perl|-0777pe|hunter2", "perl", false},
	{"/usr/bin/perl", "perl|-0xFFpe|hunter2", "perl", false},
	{"/usr/bin/perl", "perl|-l012ne|hunter2", "perl", false},
	{"/usr/bin/perl", "perl|-CSDe|hunter2", "perl", false},
	{"/usr/bin/perl", "perl|-F:|-ane|hunter2", "perl", false},
	{"/usr/bin/perl", "perl|-i.bak|-pe|hunter2", "perl", false},
	{"/usr/bin/perl", "perl|-pie|s/a/hunter2/|f", "perl", false},
	{"/usr/bin/perl", "perl|-C0|x.pl", "x.pl", true},
	{"/usr/bin/perl", "perl|-0777|x.pl", "x.pl", true},
	{"/usr/bin/perl", "perl|--|x.pl|hunter2", "perl", false},
	{"/usr/bin/ruby3.1", "ruby|-ne|hunter2", "ruby3.1", false},
	{"/usr/bin/ruby3.1", "ruby|-W0e|hunter2", "ruby3.1", false},
	{"/usr/bin/ruby3.1", "ruby|-We|hunter2", "ruby3.1", false},
	{"/usr/bin/ruby3.1", "ruby|-0777ne|hunter2", "ruby3.1", false},
	{"/usr/bin/ruby3.1", "ruby|-Kue|hunter2", "ruby3.1", false},
	{"/usr/bin/ruby3.1", "ruby|-W:no-deprecated|a.rb", "a.rb", true},
	{"/usr/bin/ruby3.1", "ruby|-W0|a.rb", "a.rb", true},
	{"/usr/bin/php8.2", "php|--|hunter2", "php8.2", false},
	{"/usr/bin/php8.2", "php|--run|hunter2", "php8.2", false},
	{"/usr/bin/php8.2", "php|--process-code|hunter2", "php8.2", false},
	{"/usr/bin/php8.2", "php|-F|each.php", "each.php", true},
	{"/usr/bin/php8.2", "php|artisan|queue:work", "artisan", true},
	{"/usr/bin/php8.2", "php|-d|memory_limit=1G|-f|cron.php", "cron.php", true},
	{"/usr/bin/php8.2", "php|-S|localhost:8000|router.php", "router.php", true},
	{"/usr/bin/php8.2", "php|-r|echo 1;", "php8.2", false},
	{"/usr/lib/R/bin/exec/R", "R|--no-echo|--file=fit.R|--args|x", "fit.R", true},
	{"/usr/lib/R/bin/exec/R", "R|--no-save|--args|hunter2", "R", false},
	{"/usr/lib/R/bin/exec/R", "R|--no-save|hunter2", "R", false},
	{"/usr/lib/R/bin/exec/R", "R|-e|hunter2", "R", false},
	{"/usr/bin/lua5.4", "lua|-|hunter2", "lua5.4", false},
	{"/usr/bin/expect", "expect|--|hunter2", "expect", false},
	{"/usr/bin/deno", "deno|eval|hunter2", "deno", false},
	{"/usr/bin/node", "node|-p|hunter2", "node", false},
	{"/usr/bin/node", "node|--print|hunter2", "node", false},
	{"/usr/bin/node", "node|--inspect-port|1234|app.js", "app.js", true},
	{"/usr/bin/node", "node|--|app.js|hunter2", "node", false},
	{"/usr/bin/python3", "python3|-Ic|hunter2", "python3", false},
	{"/usr/bin/python3", "python3|-|hunter2", "python3", false},
	{"/usr/bin/python3", "python3|--|x.py|hunter2", "python3", false},
	{"/usr/bin/gawk", "awk|{ print \"hunter2\" }", "gawk", false},
	{"/usr/bin/gawk", "awk|-f|x.awk|hunter2", "gawk", false},
	{"/usr/bin/sed", "sed|-e|s/a/hunter2/", "sed", false},
	{"/usr/bin/dotnet", "dotnet|/srv/Shop.Api.dll|--urls|http://*", "Shop.Api.dll", true},
	{"/usr/bin/dotnet", "dotnet|exec|Shop.dll", "Shop.dll", true},
	/* Java */
	{"/usr/bin/java", "java|-Xmx1g|-Dpassword=x|-jar|/srv/shop.jar|--secret|y", "shop.jar",
	 true},
	{"/usr/bin/java", "java|-cp|/a:/b|-Dx=y|kafka.Kafka|server.properties", "kafka.Kafka",
	 true},
	{"/usr/bin/java", "java|-p|mods|-m|shop/org.acme.Main", "org.acme.Main", true},
	{"/usr/bin/java", "java|--add-opens|a/b=c|@args|org.acme.Main", "org.acme.Main", true},
	{"/usr/bin/java", "java|-version", "java", false},
	{"/home/a/.cache/bazel/java", "bazel(ws)|--add-opens=java", "java", false},
	/* shells */
	{"/usr/bin/bash", "-bash", "bash", false},
	{"/usr/bin/bash", "bash|-i|-l", "bash", false},
	{"/usr/bin/bash", "bash|--rcfile|/x/rc|-i", "bash", false},
	{"/usr/bin/bash", "/bin/bash|/usr/local/bin/backup.sh|--key|x", "backup.sh", true},
	{"/usr/bin/bash", "bash|-euo|pipefail|run.sh", "run.sh", true},
	{"/usr/bin/dash", "sh|-c|curl -u me:pw x", "dash", false},
	{"/usr/bin/dash", "sh|-ec|exit", "dash", false},
	{"/usr/bin/bash", "bash|-s", "bash", false},
	{"/usr/bin/bash", "bash|-s|--|hunter2", "bash", false},
	{"/usr/bin/bash", "bash|-lc|hunter2", "bash", false},
	{"/usr/bin/bash", "bash|-o|pipefail|-c|hunter2", "bash", false},
	{"/usr/bin/dash", "sh|-es|hunter2", "dash", false},
	{"/usr/bin/dash", "sh|-|hunter2", "dash", false},
	{"/usr/bin/fish", "fish|--command|hunter2", "fish", false},
	{"/usr/bin/fish", "fish|-C|hunter2|x.fish", "fish", false},
	{"/usr/bin/bash", "bash|--|x.sh", "bash", false},
	/* programs that run others are called by their own name */
	{"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2|./x|--token|s",
	 "ld-linux-x86-64.so.2", false},
	{"/usr/bin/qemu-aarch64-static", "qemu-aarch64|-E|A=hunter2|./shop", "qemu-aarch64-static",
	 false},
	{"/bin/busybox", "/bin/sh|-c|hunter2", "busybox", false},
	{"/usr/lib/erlang/erts-13.1.5/bin/beam.smp", "beam.smp|--|-setcookie|hunter2", "beam.smp",
	 false},
	/* what cannot be a script is not shown */
	{"/usr/bin/python3", "python3|PASSWORD=x", "python3", false},
	{"/usr/bin/bash", "bash|user@host", "bash", false},
	{"/usr/bin/python3", "python3|echo 'hunter2'", "python3", false},
	{"/usr/bin/python3", "python3|print('a/hunter2", "python3", false},
	{"/usr/bin/python3", "python3|/srv/My App (1)/@x/a=b/job.py", "job.py", true},
	{"/usr/bin/python3", "python3|$hunter2", "python3", false},
	{"/usr/bin/python3", "python3|a;hunter2", "python3", false},
	{"/usr/bin/python3", "python3|me:hunter2", "python3", false},
	{"/usr/bin/python3", "python3|f(hunter2)", "python3", false},
	{"/usr/bin/bash", "bash|/dev/fd/63", "bash", false},
	{"/usr/bin/bash", "bash|/proc/self/fd/3", "bash", false},
	{"/usr/bin/bash", "bash|/", "bash", false},
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

TEST(interpreters_are_called_as_their_scripts)
{
	char line[512];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = with_nuls(cases[i].command_line, line, sizeof(line));
		struct program p;

		program_parse(cases[i].exe, "worker", len > 1 ? line : NULL, len, &p);
		if (strcmp(p.name, cases[i].name) != 0 || p.script != cases[i].script)
			fail_msg("%s \"%s\" is taken for \"%s\" (%d)", cases[i].exe,
				 cases[i].command_line, p.name, p.script);
	}
}

TEST(common_names_have_their_folder)
{
	static const struct {
		const char *exe;
		const char *command_line;
		const char *cwd;
		const char *label;
	} programs[] = {
		{"/usr/bin/node", "node|server.js", "/srv/shop", "shop/server.js"},
		{"/usr/bin/node", "node|/srv/shop/server.js", "/", "shop/server.js"},
		{"/usr/bin/node", "node|../blog/index.js", "/srv/shop", "blog/index.js"},
		{"/usr/bin/node", "node|./dist/src/main.js", "/home/eve/shop/current",
		 "eve/shop/main.js"},
		{"/usr/bin/node", "node|.", "/srv/shop", "shop/node"},
		{"/usr/bin/node", "node|./", "/srv/blog (deleted)", "blog/node"},
		{"/usr/bin/node", "node|/srv/api/shop/server.js", "/", "api/shop/server.js"},
		{"/usr/bin/node", "node|/x/srv/shop/api/server.js", "/", "shop/api/server.js"},
		{"/usr/bin/node", "node|/srv/shop/node_modules/.bin/next|start", "/srv/shop",
		 "shop/next"},
		{"/usr/bin/node", "node|etl.js", "/srv/shop", "shop/etl.js"},
		{"/usr/bin/python3.11", "python3|etl.py", "/srv/blog", "blog/etl.py"},
		{"/usr/bin/ruby3.1", "ruby|/srv/shop/lib/job.rb", "/", "shop/job.rb"},
		{"/usr/bin/bash", "bash|/srv/shop/nightly.sh", "/", "nightly.sh"},
		{"/usr/bin/python3.11", "python3|/usr/bin/salt-minion", "/", "salt-minion"},
		{"/usr/bin/node", "npm start", "/srv/shop", "shop/npm"},
		{"/usr/bin/deno", "deno|run|https://eve:hunter2@h.example/main.ts", "/", "main.ts"},
		{"/usr/bin/node", "node|/srv/My App (2)/a=hunter2/main.js", "/",
		 "My App (2)/main.js"},
		{"/usr/bin/python3.11", "python3|app.py", "/srv/shop", "shop/app.py"},
		{"/usr/bin/python3.11", "python3|/srv/app.py", "/home/eve", "app.py"},
		{"/usr/bin/python3.11", "python3|/srv/shop/releases/20261128093000/main.py", "/",
		 "shop/main.py"},
		{"/usr/bin/python3.11", "python3|/srv/shop/v1.2.0/Worker-2.py", "/",
		 "shop/Worker-2.py"},
		{"/usr/bin/python3.11", "python3|/srv/shop/3f1c9b7d2a6e4f5b/manage.py|x", "/",
		 "shop/manage.py"},
		{"/usr/bin/python3.11", "python3|-m|pkg", "/srv/shop", "shop/pkg"},
		{"/usr/bin/python3.11", "python3|-m|http.server", "/", "http.server"},
		{"/usr/bin/python3.11", "python3|/usr/bin/gunicorn|app:app", "/srv/shop",
		 "shop/gunicorn"},
		{"/usr/bin/python3.11", "gunicorn: worker [app]", "/srv/blog", "blog/gunicorn"},
		{"/usr/bin/ruby3.1", "ruby|bin/rails|server", "/srv/shop", "shop/rails"},
		{"/usr/bin/php8.2", "php|artisan|queue:work", "/srv/shop", "shop/artisan"},
		{"/usr/bin/java", "java|-jar|/srv/shop/server.jar", "/", "shop/server.jar"},
		{"/usr/bin/java", "java|-cp|x.jar|Main", "/srv/shop", "shop/Main"},
		{"/usr/bin/java", "java|-cp|x.jar|kafka.Kafka", "/srv/shop", "kafka.Kafka"},
		{"/srv/shop/bin/server", "", "", "shop/server"},
		{"/srv/shop/bin/server (deleted)", "", "/", "shop/server"},
		{"/usr/local/bin/server", "", "/srv/shop", "server"},
		{"/usr/sbin/nginx", "", "/srv/shop", "nginx"},
		{"/tmp/go-build12/b001/exe/main", "", "/srv/shop", "shop/main"},
		{"/usr/bin/bash", "bash|/srv/shop/run.sh", "/", "shop/run.sh"},
	};
	char line[512], label[PROGRAM_LABEL_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		size_t len = with_nuls(programs[i].command_line, line, sizeof(line));
		struct program p;

		program_parse(programs[i].exe, "x", len > 1 ? line : NULL, len, &p);
		program_place(&p, programs[i].cwd);
		program_label(&p, label, sizeof(label));
		if (strcmp(label, programs[i].label) != 0)
			fail_msg("%s \"%s\" in %s is called %s", programs[i].exe,
				 programs[i].command_line, programs[i].cwd, label);
	}
}

TEST(a_program_always_has_a_name)
{
	struct program p;

	program_parse("/memfd:sealed-91173221a7ea (deleted)", "memfd:sealed-91", NULL, 0, &p);
	assert_string_equal(p.name, "memfd");
	program_parse("", NULL, NULL, 0, &p);
	assert_string_equal(p.name, "unknown");
	assert_true(program_is_interpreter("/usr/bin/ruby3.1 (deleted)"));
	assert_false(program_is_interpreter("/bin/busybox"));
	assert_false(program_is_interpreter("/usr/bin/cut"));
	assert_false(program_is_interpreter(""));
}

TEST(a_sandbox_of_gvisor_has_the_id_of_its_container)
{
	char line[512], id[256] = "pod1";
	size_t len = with_nuls("/usr/bin/runsc-sandbox|--root=/run/runsc|boot|--x=1|" ID, line,
			       sizeof(line));

	assert_true(program_gvisor_id(line, len, id, sizeof(id)));
	assert_string_equal(id, ID);
	len = with_nuls("runsc-gofer|" ID, line, sizeof(line));
	assert_false(program_gvisor_id(line, len, id, sizeof(id)));
	len = with_nuls("runsc-sandbox|boot|" ID "0", line, sizeof(line));
	assert_false(program_gvisor_id(line, len, id, sizeof(id)));
	assert_false(program_gvisor_id("", 0, id, sizeof(id)));
}
