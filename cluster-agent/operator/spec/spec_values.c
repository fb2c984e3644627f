#include "cluster-agent/operator/spec/spec_values.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/store/clickhouse_address.h"
#include "common/text/parse.h"

#define DAY_S UINT64_C(86400)
#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

#define TEXT_MAX 2048    /* what people write on a line, and more */
#define KEY_MAX 511      /* see credentials.h */
#define DNS_NAME_MAX 253 /* RFC 1123, also what Kubernetes allows for keys of Secrets */

/* 1 to max characters from first to last, none of which is in except. */
static bool is_text(const char *s, size_t max, char first, char last, const char *except)
{
	size_t len = strnlen(s, max + 1);

	if (len == 0 || len > max)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < first || s[i] > last || strchr(except, s[i]))
			return false;
	}
	return true;
}

static bool is_printable(const char *s)
{
	size_t len = strnlen(s, TEXT_MAX + 1);

	/* UTF-8 may be there: it comes out of JSON, which has been checked */
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] < ' ' || s[i] == '\x7f')
			return false;
	}
	return len > 0 && len <= TEXT_MAX;
}

static bool is_word(const char *s)
{
	return is_text(s, TEXT_MAX, '!', '~', "");
}

/* A number and one of the units. */
static bool is_number_of(const char *s, const char *units)
{
	size_t digits = strspn(s, DIGITS);

	return digits > 0 && s[digits] && strchr(units, s[digits]) && !s[digits + 1];
}

static bool is_interval(const char *s)
{
	return is_number_of(s, "sm");
}

static bool is_ttl(const char *s)
{
	return is_number_of(s, "mhdwy");
}

static bool is_url(const char *s)
{
	const char *rest;

	if (strncmp(s, "http://", 7) == 0)
		rest = s + 7;
	else if (strncmp(s, "https://", 8) == 0)
		rest = s + 8;
	else
		return false;
	return is_text(rest, TEXT_MAX, '!', '~', "\"\\<>") && *rest != '/';
}

static bool is_url_path(const char *s)
{
	return is_text(s, TEXT_MAX, '!', '~', "?#%\"\\<>") && !strstr(s, "//");
}

static bool is_fraction(const char *s)
{
	size_t whole = strspn(s, DIGITS);
	double v;

	if (whole == 0 || strlen(s) > 20 || spec_quantity(s, &v) < 0)
		return false;
	return s[strspn(s, DIGITS ".")] == '\0' && v <= 1;
}

static bool is_key(const char *s)
{
	size_t len = strnlen(s, KEY_MAX + 1);

	return is_text(s, KEY_MAX, ' ', '~', "") && s[0] != ' ' && s[len - 1] != ' ';
}

static bool is_image(const char *s)
{
	return is_text(s, TEXT_MAX, '!', '~', "\"'\\<>|&;$`(){}*?!");
}

static bool is_dns_name(const char *s)
{
	size_t len = strnlen(s, DNS_NAME_MAX + 1);
	char before = '.';

	if (len == 0 || len > DNS_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; before = s[i++]) {
		bool inner = s[i] == '-' || s[i] == '.';

		if (!inner && !(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= '0' && s[i] <= '9'))
			return false;
		/* labels neither begin nor end with '-', and none is empty */
		if ((inner && before == '.') || (s[i] == '.' && before == '-'))
			return false;
	}
	return before != '-' && before != '.';
}

static bool is_secret_key(const char *s)
{
	size_t len = strnlen(s, DNS_NAME_MAX + 1);

	return len > 0 && len <= DNS_NAME_MAX && strspn(s, DIGITS LETTERS "-._") == len &&
	       strcmp(s, ".") != 0 && strncmp(s, "..", 2) != 0;
}

static bool is_env_name(const char *s)
{
	return is_secret_key(s) && !strchr(DIGITS, s[0]);
}

static bool is_addresses(const char *s)
{
	struct clickhouse_address list[CLICKHOUSE_MAX_ADDRESSES];
	struct err err = {""};

	return clickhouse_addresses_parse(s, false, list, &err) > 0;
}

const struct text_rule text_interval = {
	"a number followed by s or m, such as \"15s\"",
	"^[0-9]+[sm]$",
	is_interval,
};
const struct text_rule text_ttl = {
	"a number followed by m, h, d, w or y, such as \"7d\"",
	"^[0-9]+[mhdwy]$",
	is_ttl,
};
const struct text_rule text_http_url = {
	"a URL that begins with http:// or https://",
	"^https?://.+$",
	is_url,
};
const struct text_rule text_s3_url = {
	"a URL that begins with http:// or https://",
	NULL,
	is_url,
};
const struct text_rule text_url_path = {
	"a path such as \"/profiles\", without blanks, '?', '#' and '%'",
	NULL,
	is_url_path,
};
const struct text_rule text_fraction = {"a number from 0 to 1, such as \"0.1\"", NULL, is_fraction};
const struct text_rule text_key = {
	"at most 511 printable ASCII characters, without a blank at either end",
	NULL,
	is_key,
};
const struct text_rule text_printable = {
	"one line of at most 2048 bytes, without control characters",
	NULL,
	is_printable,
};
const struct text_rule text_image = {
	"an image's reference, such as \"registry.example.com/agent:1.0\"",
	NULL,
	is_image,
};
const struct text_rule text_word = {"a name of printable ASCII, without blanks", NULL, is_word};
const struct text_rule text_dns_name = {
	"a name of lower-case letters, digits, '-' and '.'",
	NULL,
	is_dns_name,
};
const struct text_rule text_secret_key = {
	"a key of a Secret: letters, digits, '-', '_' and '.'",
	NULL,
	is_secret_key,
};
const struct text_rule text_env_name = {
	"a variable's name: letters, digits, '-', '_' and '.', not beginning with a digit",
	NULL,
	is_env_name,
};
const struct text_rule text_addresses = {
	"\"host:port\" or a URL, or several separated by commas",
	NULL,
	is_addresses,
};

int spec_ttl_seconds(const char *s, uint64_t *ret_s)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = {{'m', 60}, {'h', 3600}, {'d', DAY_S}, {'w', 7 * DAY_S}, {'y', 365 * DAY_S}};
	size_t digits = strspn(s, DIGITS);
	uint64_t n;
	int r;

	if (!is_ttl(s))
		return -EINVAL;
	r = parse_u64(s, digits, 0, UINT32_MAX, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (s[digits] == units[i].unit)
			*ret_s = n * units[i].seconds;
	}
	return 0;
}

/* The factor of a quantity's suffix, or 0. */
static double suffix_factor(const char *s)
{
	static const struct {
		const char *suffix;
		double factor;
	} known[] = {
		{"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},
		{"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
		{"P", 1e15},    {"E", 1e18},    {"Ki", 0x1p10}, {"Mi", 0x1p20},
		{"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60},
	};
	size_t digits;
	uint64_t exponent;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(s, known[i].suffix) == 0)
			return known[i].factor;
	}
	if (*s != 'e' && *s != 'E')
		return 0;
	s++;
	digits = strspn(s + (*s == '-' || *s == '+'), DIGITS);
	if (parse_u64(s + (*s == '-' || *s == '+'), digits, 0, 300, &exponent) < 0 ||
	    s[digits + (*s == '-' || *s == '+')])
		return 0;
	return pow(10, *s == '-' ? -(double)exponent : (double)exponent);
}

int spec_quantity(const char *s, double *ret)
{
	double v = 0, place = 1, factor;
	size_t digits = 0;
	bool fraction = false;

	s += *s == '+';
	for (; (*s >= '0' && *s <= '9') || (*s == '.' && !fraction); s++) {
		if (*s == '.') {
			fraction = true;
			continue;
		}
		digits++;
		v = v * 10 + (*s - '0');
		place = fraction ? place * 10 : place;
	}
	factor = suffix_factor(s);
	v = v / place * factor;
	if (digits == 0 || digits > 40 || factor == 0 || !isfinite(v))
		return -EINVAL;
	*ret = v;
	return 0;
}
