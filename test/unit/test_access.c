#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "common/access/access.h"
#include "common/access/access_keys.h"
#include "common/data/buf.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/key_files.h"
#include "test/lib/unit.h"

static struct access *make(const struct access_config *cfg)
{
	struct access *a = NULL;
	struct err err = {""};
	int r = access_new(&a, cfg, &err);

	if (r < 0)
		fail_msg("%s", err.msg);
	return a;
}

static enum access_verdict ask(const struct access *a, enum access_scope scope,
			       const struct access_request *req)
{
	struct err err = {""};
	enum access_verdict v = access_check(a, req, scope, &err);

	/* every refusal says why */
	assert_int_equal(v == ACCESS_GRANTED, err.msg[0] == '\0');
	return v;
}

#define OUR_HOST "127.0.0.1:10301"
#define READS_AT(name, ...) (&(struct access_request){.host = (name), ##__VA_ARGS__})
#define READS(...) READS_AT(OUR_HOST, ##__VA_ARGS__)
#define WRITES_AT(name, ...) \
	(&(struct access_request){.is_write = true, .host = (name), ##__VA_ARGS__})
#define WRITES(...) WRITES_AT(OUR_HOST, ##__VA_ARGS__)

/* ---- keys by scope ---- */

TEST(without_keys_everybody_at_our_name_comes_in)
{
	CLEANUP(access_freep) struct access *a = make(&(struct access_config){0});

	for (enum access_scope s = ACCESS_READ; s <= ACCESS_ANYONE; s++) {
		assert_int_equal(ask(a, s, READS()), ACCESS_GRANTED);
		assert_int_equal(ask(a, s, WRITES()), ACCESS_GRANTED);
		assert_false(access_needs_key(a, s));
		assert_true(access_key_fits(a, s, NULL));
	}
	assert_int_equal(access_check(NULL, READS_AT("evil.example"), ACCESS_READ, NULL),
			 ACCESS_GRANTED);
}

TEST(one_key_opens_both)
{
	CLEANUP(access_freep)
	struct access *a = make(&(struct access_config){.write_key = "k"});

	assert_int_equal(ask(a, ACCESS_READ, READS()), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(a, ACCESS_READ, READS(.api_key = "K")), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(a, ACCESS_READ, READS(.api_key = "k")), ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_READ, READS(.authorization = "Bearer k")), ACCESS_GRANTED);
	/* x:k */
	assert_int_equal(ask(a, ACCESS_READ, READS(.authorization = "Basic eDpr")), ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_READ, READS(.clickhouse_key = "k")), ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES()), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES(.api_key = "k")), ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_NO_KEY, READS()), ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_BEFORE_KEY, READS()), ACCESS_GRANTED);
	assert_true(access_key_fits(a, ACCESS_READ, "k"));
	assert_false(access_key_fits(a, ACCESS_READ, "kk"));
	assert_false(access_key_fits(a, ACCESS_READ, NULL));
}

TEST(two_keys_open_one_thing_each)
{
	CLEANUP(access_freep)
	struct access *a = make(&(struct access_config){.write_key = "w", .read_key = "r"});

	assert_int_equal(ask(a, ACCESS_READ, READS(.api_key = "r")), ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_READ, READS(.api_key = "w")), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES(.api_key = "w")), ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES(.api_key = "r")), ACCESS_REFUSED_KEY);
}

TEST(anonymous_reading_leaves_uploads_closed)
{
	CLEANUP(access_freep)
	struct access *a = make(&(struct access_config){.write_key = "w", .anonymous_read = true});

	assert_int_equal(ask(a, ACCESS_READ, READS()), ACCESS_GRANTED);
	assert_false(access_needs_key(a, ACCESS_READ));
	/* without a key, names are checked */
	assert_int_equal(ask(a, ACCESS_READ, READS_AT("evil.example")), ACCESS_REFUSED_NAME);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES()), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES(.api_key = "w")), ACCESS_GRANTED);
}

TEST(a_read_key_alone_leaves_uploads_open)
{
	CLEANUP(access_freep)
	struct access *a = make(&(struct access_config){.read_key = "r"});

	assert_int_equal(ask(a, ACCESS_READ, READS()), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES()), ACCESS_GRANTED);
}

TEST(notes_are_written_by_the_key_that_is_nearest)
{
	CLEANUP(access_freep) struct access *none = make(&(struct access_config){0});
	CLEANUP(access_freep)
	struct access *own =
		make(&(struct access_config){.write_key = "w", .read_key = "r", .notes_key = "n"});
	CLEANUP(access_freep)
	struct access *both = make(&(struct access_config){.write_key = "w", .read_key = "r"});
	CLEANUP(access_freep)
	struct access *reading = make(&(struct access_config){.read_key = "r"});
	CLEANUP(access_freep)
	struct access *open = make(&(struct access_config){.notes_key = "n"});

	assert_int_equal(ask(none, ACCESS_NOTES, WRITES()), ACCESS_GRANTED);
	assert_int_equal(ask(own, ACCESS_NOTES, WRITES(.api_key = "n")), ACCESS_GRANTED);
	assert_int_equal(ask(own, ACCESS_NOTES, WRITES(.api_key = "w")), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(own, ACCESS_NOTES, WRITES(.api_key = "r")), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(own, ACCESS_READ, READS(.api_key = "n")), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(own, ACCESS_WRITE, WRITES(.api_key = "n")), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(both, ACCESS_NOTES, WRITES(.api_key = "w")), ACCESS_GRANTED);
	assert_int_equal(ask(both, ACCESS_NOTES, WRITES(.api_key = "r")), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(reading, ACCESS_NOTES, WRITES(.api_key = "r")), ACCESS_GRANTED);
	assert_int_equal(ask(reading, ACCESS_NOTES, WRITES()), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(open, ACCESS_NOTES, WRITES()), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(open, ACCESS_READ, READS()), ACCESS_GRANTED);
}

/* ---- names and origins ---- */

TEST(a_foreign_name_reads_nothing_without_a_key)
{
	CLEANUP(access_freep) struct access *open = make(&(struct access_config){0});
	CLEANUP(access_freep)
	struct access *keyed = make(&(struct access_config){.write_key = "k"});
	struct err err = {""};

	assert_int_equal(ask(open, ACCESS_READ, READS_AT("evil.example:1")), ACCESS_REFUSED_NAME);
	assert_int_equal(ask(open, ACCESS_NO_KEY, READS_AT("evil.example:1")), ACCESS_REFUSED_NAME);
	assert_int_equal(ask(open, ACCESS_BEFORE_KEY, READS_AT("evil.example:1")),
			 ACCESS_REFUSED_NAME);
	assert_int_equal(ask(open, ACCESS_ANYONE, READS_AT("evil.example:1")), ACCESS_GRANTED);
	assert_int_equal(ask(open, ACCESS_READ, READS_AT("not a name")), ACCESS_REFUSED_NAME);
	assert_int_equal(ask(open, ACCESS_READ, READS_AT(NULL)), ACCESS_GRANTED);
	assert_int_equal(access_check(open, READS_AT("Evil.example:1"), ACCESS_READ, &err),
			 ACCESS_REFUSED_NAME);
	assert_string_equal(err.msg, "the name \"evil.example\" is not one of this server: add it "
				     "with --allowed-hosts");

	assert_int_equal(ask(keyed, ACCESS_READ, READS_AT("evil.example:1")), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(keyed, ACCESS_NO_KEY, READS_AT("evil.example:1")),
			 ACCESS_REFUSED_NAME);
	assert_int_equal(ask(keyed, ACCESS_NO_KEY, READS_AT("a.example", .api_key = "k")),
			 ACCESS_GRANTED);
	assert_int_equal(ask(keyed, ACCESS_READ, READS_AT("a.example", .api_key = "k")),
			 ACCESS_GRANTED);
	/* the login must be reachable by the name of an ingress */
	assert_int_equal(ask(keyed, ACCESS_BEFORE_KEY, READS_AT("a.example")), ACCESS_GRANTED);
}

TEST(senders_may_use_any_name_and_browsers_may_not)
{
	CLEANUP(access_freep) struct access *a = make(&(struct access_config){0});

	assert_int_equal(ask(a, ACCESS_WRITE, WRITES_AT("profiles.example")), ACCESS_GRANTED);
	assert_int_equal(
		ask(a, ACCESS_WRITE, WRITES_AT("evil.example", .origin = "http://evil.example")),
		ACCESS_REFUSED_NAME);
}

TEST(pages_of_other_origins_write_nothing)
{
	static const char *const foreign[] = {
		"http://evil.example", "null",    "http://localhost:80",
		"https://127.0.0.1",   "file://", ""};
	CLEANUP(access_freep)
	struct access *a = make(&(struct access_config){.allowed_hosts = "grafana.example,*"});

	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		for (enum access_scope s = ACCESS_READ; s < ACCESS_ANYONE; s++)
			assert_int_equal(ask(a, s, WRITES(.origin = foreign[i])),
					 ACCESS_REFUSED_ORIGIN);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES(.sec_fetch_site = "cross-site")),
			 ACCESS_REFUSED_ORIGIN);
	assert_int_equal(
		ask(a, ACCESS_WRITE,
		    WRITES(.origin = "http://127.0.0.1:10301", .sec_fetch_site = "same-origin")),
		ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES(.origin = "https://grafana.example")),
			 ACCESS_GRANTED);
}

TEST(a_right_key_does_not_excuse_a_foreign_origin)
{
	CLEANUP(access_freep)
	struct access *a = make(&(struct access_config){.write_key = "k"});

	assert_int_equal(ask(a, ACCESS_WRITE,
			     WRITES(.origin = "http://evil.example", .authorization = "Bearer k")),
			 ACCESS_REFUSED_ORIGIN);
}

TEST(pages_of_other_sites_load_nothing_but_may_link)
{
	CLEANUP(access_freep) struct access *a = make(&(struct access_config){0});

	assert_int_equal(ask(a, ACCESS_READ, READS(.sec_fetch_site = "cross-site")),
			 ACCESS_REFUSED_ORIGIN);
	assert_int_equal(ask(a, ACCESS_READ, READS(.sec_fetch_site = "same-site")),
			 ACCESS_REFUSED_ORIGIN);
	assert_int_equal(ask(a, ACCESS_READ,
			     READS(.sec_fetch_site = "cross-site", .sec_fetch_mode = "navigate")),
			 ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_READ,
			     READS(.sec_fetch_site = "cross-site", .sec_fetch_mode = "navigate",
				   .sec_fetch_dest = "document")),
			 ACCESS_GRANTED);
	/* a frame loads us without anybody's wish, and SQL takes its query from the URL */
	assert_int_equal(ask(a, ACCESS_READ,
			     READS(.sec_fetch_site = "cross-site", .sec_fetch_mode = "navigate",
				   .sec_fetch_dest = "iframe")),
			 ACCESS_REFUSED_ORIGIN);
	assert_int_equal(ask(a, ACCESS_READ, READS(.sec_fetch_site = "same-origin")),
			 ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_READ, READS(.sec_fetch_site = "none")), ACCESS_GRANTED);
}

/* ---- sessions ---- */

/* Logs in; the Cookie header that a browser sends from then on is in ret. */
static void log_in(struct access *a, const char *key, char ret[static ACCESS_COOKIE_BYTES])
{
	assert_int_equal(access_login(a, READS(), key, ret), ACCESS_LOGIN_RIGHT);
	assert_non_null(strstr(ret, "; Path=/; HttpOnly; SameSite=Strict"));
	ret[strcspn(ret, ";")] = '\0';
}

TEST(a_session_opens_reading_and_nothing_else)
{
	CLEANUP(access_freep)
	struct access *a = make(&(struct access_config){.write_key = "w", .read_key = "r"});
	char cookie[ACCESS_COOKIE_BYTES];

	assert_int_equal(access_login(a, READS(), "w", cookie), ACCESS_LOGIN_WRONG);
	log_in(a, "r", cookie);
	assert_true(access_has_session(a, READS(.cookie = cookie)));
	assert_int_equal(ask(a, ACCESS_READ, READS(.cookie = cookie)), ACCESS_GRANTED);
	assert_int_equal(ask(a, ACCESS_READ, READS_AT("127.0.0.1:9", .cookie = cookie)),
			 ACCESS_REFUSED_KEY);
	assert_int_equal(ask(a, ACCESS_WRITE, WRITES(.cookie = cookie)), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(a, ACCESS_READ, WRITES(.cookie = cookie, .origin = "http://e.com")),
			 ACCESS_REFUSED_ORIGIN);
	assert_int_equal(ask(a, ACCESS_READ, READS(.cookie = "coroot_session_10301=1.2")),
			 ACCESS_REFUSED_KEY);

	access_logout(READS(), cookie);
	assert_non_null(strstr(cookie, "coroot_session_10301=; Max-Age=0;"));
}

TEST(a_changed_key_ends_sessions_and_a_restart_does_not)
{
	CLEANUP(access_freep) struct access *a = make(&(struct access_config){.write_key = "k"});
	CLEANUP(access_freep) struct access *b = make(&(struct access_config){.read_key = "k"});
	CLEANUP(access_freep) struct access *c = make(&(struct access_config){.read_key = "l"});
	CLEANUP(access_freep) struct access *open = make(&(struct access_config){0});
	char cookie[ACCESS_COOKIE_BYTES];

	log_in(a, "k", cookie);
	assert_true(access_has_session(b, READS(.cookie = cookie)));
	assert_false(access_has_session(c, READS(.cookie = cookie)));
	assert_false(access_has_session(open, READS(.cookie = cookie)));
}

TEST(a_cookie_belongs_to_the_path_of_its_page)
{
	CLEANUP(access_freep) struct access *a = make(&(struct access_config){.read_key = "k"});
	char cookie[ACCESS_COOKIE_BYTES], longest[129];

	assert_int_equal(access_login(a, READS(), "k", cookie), ACCESS_LOGIN_RIGHT);
	assert_non_null(strstr(cookie, "; Path=/; "));
	assert_int_equal(access_login(a, READS(.base_path = "/x"), "k", cookie),
			 ACCESS_LOGIN_RIGHT);
	assert_non_null(strstr(cookie, "; Path=/x; "));
	access_logout(READS(.base_path = "/x"), cookie);
	assert_non_null(strstr(cookie, "; Path=/x; "));
	memset(longest, 'a', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(
		access_login(a,
			     READS_AT("[1234:1234:1234:1234:1234:1234:1234:1234]:65535",
				      .base_path = longest, .origin = "https://127.0.0.1:10301"),
			     "k", cookie),
		ACCESS_LOGIN_RIGHT);
	assert_non_null(strstr(cookie, "; SameSite=Strict; Secure"));
}

TEST(a_cookie_of_a_page_over_tls_is_sent_over_tls_only)
{
	CLEANUP(access_freep) struct access *a = make(&(struct access_config){.write_key = "k"});
	char cookie[ACCESS_COOKIE_BYTES];

	assert_int_equal(access_login(a, WRITES(.origin = "https://127.0.0.1:10301"), "k", cookie),
			 ACCESS_LOGIN_RIGHT);
	assert_non_null(strstr(cookie, "; Secure"));
	assert_int_equal(access_login(a, WRITES(.origin = "http://127.0.0.1:10301"), "k", cookie),
			 ACCESS_LOGIN_RIGHT);
	assert_null(strstr(cookie, "Secure"));
}

TEST(a_session_writes_notes_where_its_key_would)
{
	CLEANUP(access_freep) struct access *one = make(&(struct access_config){.write_key = "k"});
	CLEANUP(access_freep)
	struct access *two = make(&(struct access_config){.write_key = "w", .read_key = "k"});
	CLEANUP(access_freep)
	struct access *own = make(&(struct access_config){.read_key = "k", .notes_key = "n"});
	char cookie[ACCESS_COOKIE_BYTES];

	assert_int_equal(access_login(one, WRITES(), "k", cookie), ACCESS_LOGIN_RIGHT);
	assert_int_equal(ask(one, ACCESS_NOTES, WRITES(.cookie = cookie)), ACCESS_GRANTED);
	assert_int_equal(ask(one, ACCESS_WRITE, WRITES(.cookie = cookie)), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(two, ACCESS_READ, READS(.cookie = cookie)), ACCESS_GRANTED);
	assert_int_equal(ask(two, ACCESS_NOTES, WRITES(.cookie = cookie)), ACCESS_REFUSED_KEY);
	assert_int_equal(ask(own, ACCESS_NOTES, WRITES(.cookie = cookie)), ACCESS_REFUSED_KEY);
	/* of another site */
	assert_int_equal(
		ask(one, ACCESS_NOTES, WRITES(.cookie = cookie, .origin = "https://evil.example")),
		ACCESS_REFUSED_ORIGIN);
}

TEST(guessing_is_slowed_down)
{
	CLEANUP(access_freep) struct access *a = make(&(struct access_config){.write_key = "k"});
	uint64_t start_ns = clock_monotonic_ns(), seconds;
	char cookie[ACCESS_COOKIE_BYTES];
	unsigned n_wrong = 0;

	for (int i = 0; i < 1000; i++)
		n_wrong += access_login(a, READS(), "wrong", cookie) == ACCESS_LOGIN_WRONG;
	seconds = (clock_monotonic_ns() - start_ns) / NS_PER_S;
	assert_true(n_wrong >= 10);
	assert_true(n_wrong <= 10 + 5 * (seconds + 1));
	/* the right one works again soon, and keys in headers all the time */
	assert_int_equal(ask(a, ACCESS_READ, READS(.api_key = "k")), ACCESS_GRANTED);
	while (access_login(a, READS(), "k", cookie) != ACCESS_LOGIN_RIGHT)
		assert_true(clock_monotonic_ns() - start_ns < 300 * NS_PER_S);
}

TEST(who_guesses_locks_nobody_else_out)
{
	CLEANUP(access_freep) struct access *a = make(&(struct access_config){.write_key = "k"});
	uint64_t start_ns = clock_monotonic_ns();
	char cookie[ACCESS_COOKIE_BYTES];
	bool too_many = false;

	while (!too_many) {
		too_many = access_login(a, READS(.client = 1), "wrong", cookie) ==
			   ACCESS_LOGIN_TOO_MANY;
		assert_true(clock_monotonic_ns() - start_ns < 300 * NS_PER_S);
	}
	assert_int_equal(access_login(a, READS(.client = 2), "k", cookie), ACCESS_LOGIN_RIGHT);
}

/* ---- files of keys ---- */

TEST(every_line_of_a_file_is_a_key)
{
	CLEANUP(access_freep) struct access *a = NULL;

	key_file_write(key_file, "  new key \r\n\n old\n");
	a = make(&(struct access_config){.write_key_file = key_file});
	assert_true(access_key_fits(a, ACCESS_WRITE, "new key"));
	assert_true(access_key_fits(a, ACCESS_WRITE, "old"));
	assert_false(access_key_fits(a, ACCESS_WRITE, ""));
	assert_false(access_key_fits(a, ACCESS_WRITE, "new"));
}

/* Polls, because the file is looked at once a second. */
static void wait_until(const struct access *a, const char *key, bool fits)
{
	eventually(access_key_fits(a, ACCESS_READ, key) == fits);
}

static unsigned count_lines(int log, const char *text)
{
	CLEANUP(buf_fini) struct buf in;
	unsigned n = 0;
	ssize_t len;

	buf_init(&in, 1 << 20);
	assert_int_equal(buf_reserve(&in, 65536), 0);
	len = pread(log, in.data, 65536, 0);
	assert_true(len >= 0);
	in.data[len] = '\0';
	for (const char *at = in.data; (at = strstr(at, text)); at++)
		n++;
	return n;
}

/* Until the file has been found unusable for the nth time. key stays valid all the time. */
static void wait_until_refused(const struct access *a, const char *key, int log, unsigned n)
{
	eventually_by(assert_true(access_key_fits(a, ACCESS_READ, key)),
		      count_lines(log, "cannot read keys again") >= n);
	assert_true(access_key_fits(a, ACCESS_READ, key));
}

TEST(a_changed_file_is_read_again)
{
	CLEANUP(access_freep) struct access *a = NULL;
	AUTO_CLOSE int log = memfd_create("log", MFD_CLOEXEC);

	assert_true(log >= 0);
	key_file_write(key_file, "one\n");
	a = make(&(struct access_config){.read_key_file = key_file});
	assert_true(access_key_fits(a, ACCESS_READ, "one"));
	/* as Kubernetes does it */
	key_file_write(other_key_file, "two\nthree\n");
	assert_int_equal(rename(other_key_file, key_file), 0);
	wait_until(a, "two", true);
	assert_true(access_key_fits(a, ACCESS_READ, "three"));
	assert_false(access_key_fits(a, ACCESS_READ, "one"));

	/* without a usable file, the keys stay */
	log_set_fd(log);
	key_file_write(other_key_file, "");
	assert_int_equal(rename(other_key_file, key_file), 0);
	wait_until_refused(a, "two", log, 1);
	key_file_write(other_key_file, "bad\x01");
	assert_int_equal(rename(other_key_file, key_file), 0);
	wait_until_refused(a, "two", log, 2);
	assert_int_equal(unlink(key_file), 0);
	wait_until_refused(a, "two", log, 3);
	log_set_fd(STDERR_FILENO);
	assert_true(access_needs_key(a, ACCESS_READ));
	key_file_write(key_file, "four");
	wait_until(a, "four", true);
	assert_false(access_key_fits(a, ACCESS_READ, "two"));
}

TEST(unusable_files_are_refused_at_the_start)
{
	static const char *const texts[] = {"", "\n \n", "a\x07z", "schl\xc3\xbcssel"};
	char big[ACCESS_KEY_BYTES + 2], many[3 * ACCESS_KEYS_MAX + 3] = "";
	struct access *a = NULL;
	struct err err = {""};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		key_file_write(key_file, texts[i]);
		assert_int_equal(
			access_new(&a, &(struct access_config){.read_key_file = key_file}, &err),
			-EINVAL);
		assert_non_null(strstr(err.msg, "--read-api-key-file: "));
		assert_non_null(strstr(err.msg, key_file));
	}
	memset(big, 'k', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	key_file_write(key_file, big);
	assert_int_equal(access_new(&a, &(struct access_config){.write_key_file = key_file}, &err),
			 -EINVAL);
	for (size_t i = 0; i <= ACCESS_KEYS_MAX; i++)
		memcpy(many + 2 * i, "k\n", 3);
	key_file_write(key_file, many);
	assert_int_equal(access_new(&a, &(struct access_config){.write_key_file = key_file}, &err),
			 -E2BIG);
	assert_int_equal(unlink(key_file), 0);
	assert_int_equal(access_new(&a, &(struct access_config){.write_key_file = key_file}, &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "--api-key-file: "));
}

TEST(keys_that_are_options_are_trimmed)
{
	static const char *const unusable[] = {"\n", " ", "a\nb", "a\x7f"};
	CLEANUP(access_freep)
	struct access *a = make(&(struct access_config){.write_key = " a b\r\n"});
	CLEANUP(access_freep)
	struct access *b = make(&(struct access_config){.read_key = "schl\xc3\xbcssel\n"});

	assert_true(access_key_fits(a, ACCESS_WRITE, "a b"));
	assert_false(access_key_fits(a, ACCESS_WRITE, "a b\n"));
	assert_true(access_key_fits(b, ACCESS_READ, "schl\xc3\xbcssel"));
	for (size_t i = 0; i < ARRAY_SIZE(unusable); i++) {
		struct access_config write = {.write_key = unusable[i]};
		struct access_config read = {.read_key = unusable[i]};
		struct access *none = NULL;
		struct err err = {""};

		assert_int_equal(access_new(&none, &write, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "--api-key: "));
		assert_int_equal(access_new(&none, &read, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "--read-api-key: "));
	}
}

static void *ask_often(void *access)
{
	for (int i = 0; i < 20000; i++)
		assert_true(access_key_fits(access, ACCESS_READ, "same"));
	return NULL;
}

TEST(threads_ask_while_the_file_changes)
{
	CLEANUP(access_freep) struct access *a = NULL;
	pthread_t threads[3];

	key_file_write(key_file, "same\n");
	a = make(&(struct access_config){.read_key_file = key_file});
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, a), 0);
	key_file_write(other_key_file, "same\nmore\n");
	assert_int_equal(rename(other_key_file, key_file), 0);
	wait_until(a, "more", true);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static int make_all(void *arg)
{
	struct access *a = NULL;
	int r = access_new(&a,
			   &(struct access_config){.write_key = "w",
						   .read_key_file = key_file,
						   .allowed_hosts = "a.com"},
			   NULL);

	(void)arg;
	access_free(a);
	return r;
}

TEST(lack_of_memory_is_reported)
{
	key_file_write(key_file, "one\ntwo\n");
	check_oom(make_all, NULL);
}

GROUP_FIXTURE(key_files_set_up, NULL)
