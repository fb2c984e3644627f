/* Any text as Host, Origin, Cookie, Authorization, list of names and file of keys. */
#include "common/access/access.h"
#include "common/access/access_keys.h"
#include "common/access/credentials.h"
#include "common/access/host_rules.h"
#include "common/access/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_names(const char *text)
{
	struct host_name h, again, origin;
	char url[HOST_NAME_BYTES + 20];

	if (host_name_parse(&h, text) == 0) {
		bool is_ipv6 = strchr(h.text, ':') != NULL;

		/* what was understood means the same when it is parsed again */
		snprintf(url, sizeof(url), is_ipv6 ? "http://[%s]:%u" : "http://%s:%u", h.text,
			 h.port ? h.port : 80);
		check(host_name_parse_origin(&origin, url) == 0);
		check(host_name_parse(&again, url + 7) == 0);
		check(strcmp(h.text, again.text) == 0 && h.is_ip == again.is_ip);
		check(host_name_is_origin(&again, &origin));
	}
	if (host_name_parse_origin(&origin, text) == 0)
		check(origin.port > 0 && origin.text[0]);
}

static void check_rules(const char *text)
{
	struct host_name foreign;
	struct host_rules *r = NULL;
	struct err err = {""};

	check(host_name_parse(&foreign, "evil.example") == 0);
	if (host_rules_new(&r, text, text, &err) < 0) {
		check(err.msg[0]);
		return;
	}
	/* nothing opens a name but itself, what is above it, and a star */
	if (host_rules_allow(r, &foreign))
		check(strchr(text, '*') || strcasestr(text, "evil.example"));
	host_rules_free(r);
}

static int count_key(void *n, const char *key)
{
	check(key[0] && strlen(key) < ACCESS_KEY_BYTES);
	++*(int *)n;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = strndup((const char *)data, size);
	char key[CREDENTIALS_KEY_BYTES], value[SESSION_VALUE_BYTES];
	struct access *a = NULL;
	struct err err = {""};
	int n = 0, r;

	if (!text)
		return 0;
	check_names(text);
	check_rules(text);
	if (credentials_parse(text, key) == 0)
		check(strlen(key) < sizeof(key));
	for (unsigned i = 0; i < SESSION_COOKIES_MAX; i++)
		if (session_find(text, "s", i, value))
			check(strlen(value) < sizeof(value) && !session_fits("key", value, 0));
	r = access_keys_parse((const char *)data, size, count_key, &n, &err);
	check(r == n || (r < 0 && err.msg[0]));

	/* whatever the headers are, they do not open what needs a key */
	if (access_new(&a, &(struct access_config){.write_key = "a key of 128 bits"}, NULL) < 0)
		return 0;
	check(access_check(a,
			   &(struct access_request){false, text, text, text, text, text, text, text,
						    text, text, 0},
			   ACCESS_READ, &err) != ACCESS_GRANTED ||
	      strstr(text, "a key of 128 bits"));
	access_free(a);
	return 0;
}
