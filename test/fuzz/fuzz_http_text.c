/* Any text as a URL's path, as Accept-Encoding and as a listen address. */
#include "common/http/http_listen.h"
#include "common/http/http_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_decoding(const char *text, size_t size)
{
	AUTO_FREE char *copy = strdup(text);
	size_t len;

	if (!copy)
		return;
	len = http_percent_decode(copy);
	/* never longer, never with a NUL inside, and as it was when there is nothing to decode */
	if (len > size || strlen(copy) != len)
		abort();
	if (!strchr(text, '%') && strcmp(copy, text) != 0)
		abort();
}

static void check_listen(const char *text)
{
	struct sockaddr_storage addr;
	struct err err = {""};
	bool dual_stack;

	if (http_parse_listen(text, &addr, &dual_stack, &err) < 0) {
		if (!err.msg[0])
			abort();
		return;
	}
	if (addr.ss_family != AF_INET && addr.ss_family != AF_INET6)
		abort();
	if (dual_stack != (text[0] == ':'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = strndup((const char *)data, size);
	int64_t date_s = 0;

	if (!text)
		return 0;
	if (http_parse_date(text, &date_s) == 0 && date_s < 0)
		abort();
	check_decoding(text, size);
	check_listen(text);
	/* a client that names gzip by itself takes it, whatever else it takes */
	if (http_accepts(text, "gzip") && !strchr(text, '*') && !strcasestr(text, "gzip"))
		abort();
	return 0;
}
