#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/scrape/scrape_request.h"
#include "cluster-agent/scrape/scraper.h"
#include "test/lib/unit.h"

/* ---- where ---- */

static void assert_url(const struct scrape_place *place, const char *host, uint64_t seconds,
		       const char *expected)
{
	AUTO_FREE char *url = NULL;

	assert_int_equal(scrape_url_make(&url, place, host, seconds), 0);
	assert_string_equal(url, expected);
}

TEST(a_url_names_the_address_of_the_pod)
{
	static const struct scrape_place v4 = {"10.0.0.1", 8080, false, "/debug/pprof/heap"};
	static const struct scrape_place v6 = {"fd00::1", 443, true, "/p"};
	char address[SCRAPE_ADDRESS_BYTES];

	assert_url(&v4, NULL, 0, "http://10.0.0.1:8080/debug/pprof/heap");
	assert_url(&v4, NULL, 10, "http://10.0.0.1:8080/debug/pprof/heap?seconds=10");
	assert_url(&v6, NULL, 0, "https://[fd00::1]:443/p");
	assert_url(&v6, "pods.example", 5, "https://pods.example:443/p?seconds=5");
	scrape_address(address, &v4);
	assert_string_equal(address, "10.0.0.1:8080");
	scrape_address(address, &v6);
	assert_string_equal(address, "[fd00::1]:443");
}

/* ---- as whom ---- */

struct fixture {
	char file[40];
	struct scraper_auth auth;
	struct scrape_credentials credentials;
	struct err err;
};

static void fill(const struct fixture *f, const char *text)
{
	AUTO_CLOSE int fd = open(f->file, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void setup(struct fixture *f)
{
	AUTO_CLOSE int fd = -1;

	*f = (struct fixture){.file = "/tmp/scrape-secret-XXXXXX"};
	fd = mkstemp(f->file);
	assert_true(fd >= 0);
	scrape_credentials_init(&f->credentials, &f->auth);
}

static void teardown(struct fixture *f)
{
	scrape_credentials_fini(&f->credentials);
	unlink(f->file);
}

static int get(struct fixture *f, bool https, uint64_t now_s, const char **ret)
{
	f->err.msg[0] = '\0';
	return scrape_credentials_get(&f->credentials, https, now_s * NS_PER_S, ret, &f->err);
}

TEST(a_token_is_sent_over_https_only_unless_configured_otherwise)
{
	CLEANUP(teardown) struct fixture f;
	const char *header;

	setup(&f);
	f.auth.token_file = f.file;
	fill(&f, "\n t0ken \r\n");
	assert_int_equal(get(&f, false, 1, &header), 0);
	assert_null(header);
	assert_int_equal(get(&f, true, 1, &header), 0);
	assert_string_equal(header, "Authorization: Bearer t0ken");
	f.auth.over_http = true;
	assert_int_equal(get(&f, false, 1, &header), 0);
	assert_string_equal(header, "Authorization: Bearer t0ken");
}

TEST(a_token_is_read_again_after_a_minute)
{
	CLEANUP(teardown) struct fixture f;
	const char *header;

	setup(&f);
	f.auth.token_file = f.file;
	fill(&f, "one");
	assert_int_equal(get(&f, true, 100, &header), 0);
	fill(&f, "two");
	assert_int_equal(get(&f, true, 159, &header), 0);
	assert_string_equal(header, "Authorization: Bearer one");
	assert_int_equal(get(&f, true, 160, &header), 0);
	assert_string_equal(header, "Authorization: Bearer two");
	/* a missing file is an error, and is tried again each time */
	unlink(f.file);
	assert_int_equal(get(&f, true, 220, &header), -ENOENT);
	assert_null(header);
	assert_int_equal(get(&f, true, 221, &header), -ENOENT);
	assert_non_null(strstr(f.err.msg, f.file));
}

TEST(a_user_and_a_password_become_basic_authentication)
{
	CLEANUP(teardown) struct fixture f;
	const char *header;

	setup(&f);
	f.auth.username = "Aladdin";
	f.auth.password_file = f.file;
	fill(&f, "open sesame\n");
	/* the example of RFC 7617 */
	assert_int_equal(get(&f, true, 1, &header), 0);
	assert_string_equal(header, "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
	f.auth.password_file = NULL;
	assert_int_equal(get(&f, true, 61, &header), 0);
	assert_string_equal(header, "Authorization: Basic QWxhZGRpbjo=");
}

TEST(what_is_not_one_line_is_not_sent)
{
	CLEANUP(teardown) struct fixture f;
	const char *header;

	setup(&f);
	f.auth.token_file = f.file;
	assert_int_equal(get(&f, true, 1, &header), -EBADMSG);
	fill(&f, " \n");
	assert_int_equal(get(&f, true, 1, &header), -EBADMSG);
	fill(&f, "s3cret\r\nX-Other: 1");
	assert_int_equal(get(&f, true, 1, &header), -EBADMSG);
	assert_null(header);
	assert_null(strstr(f.err.msg, "s3cret"));
}

static int get_with_little_memory(void *ctx)
{
	const struct fixture *f = ctx;
	CLEANUP(scrape_credentials_fini) struct scrape_credentials c;
	const char *header;

	scrape_credentials_init(&c, &f->auth);
	return scrape_credentials_get(&c, true, 1, &header, NULL);
}

TEST(no_memory_is_an_error)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	fill(&f, "x");
	f.auth.token_file = f.file;
	check_oom(get_with_little_memory, &f);
	f.auth.token_file = NULL;
	f.auth.username = "u";
	f.auth.password_file = f.file;
	check_oom(get_with_little_memory, &f);
}
