#include "cluster-agent/push/request_time.h"

#include <errno.h>

#include "common/system/clock.h"
#include "common/text/parse.h"
#include "common/text/rfc3339.h"

#define MAX_BYTES 64u
/* More would be milliseconds: 1973 in those, the year 5138 in seconds. */
#define MAX_SECONDS 1e11

static bool is_digits(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return len > 0;
}

/* "20261128" */
static bool parse_day(const char *s, size_t len, int64_t *ret_ns)
{
	char text[32];

	if (len != 8 || !is_digits(s, len))
		return false;
	snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT00:00:00Z", s, s + 4, s + 6);
	return rfc3339_parse(text, strlen(text), ret_ns) == 0;
}

static int parse_number(const char *s, size_t len, int64_t *ret_ns)
{
	const char *dot = memchr(s, '.', len);
	size_t n_whole = dot ? (size_t)(dot - s) : len;
	uint64_t factor = NS_PER_S, whole;
	double fraction = 0;
	int64_t ns;

	if (parse_u64(s, n_whole, 1, INT64_MAX, &whole) < 0)
		return -EINVAL;
	if (len > n_whole + 1 && parse_real(dot, len - n_whole, &fraction) < 0)
		return -EINVAL;
	for (double max = MAX_SECONDS; (double)whole >= max && factor > 1; max *= 1000)
		factor /= 1000;
	if (fraction >= 1 || __builtin_mul_overflow(whole, factor, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)(fraction * (double)factor), &ns))
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

/* Units are known by their beginning: "h", "hours", "mon", "min", "M". */
static double seconds_of(const char *unit)
{
	static const struct {
		const char *prefix;
		double seconds;
	} units[] = {
		{"ms", 1e-3}, {"s", 1},     {"mon", 30 * 86400.0}, {"M", 30 * 86400.0},  {"m", 60},
		{"h", 3600},  {"d", 86400}, {"w", 7 * 86400.0},    {"y", 365 * 86400.0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strncmp(unit, units[i].prefix, strlen(units[i].prefix)) == 0)
			return units[i].seconds;
	return -1;
}

/* "-1h30m", "+5min" */
static int parse_offset(const char *s, double *ret_seconds)
{
	double sign = *s == '-' ? -1 : 1, sum = 0;

	s++;
	do {
		size_t n_number = strspn(s, "0123456789."), n_unit;
		double number, seconds;

		n_unit = strcspn(s + n_number, "0123456789.+-");
		seconds = seconds_of(s + n_number);
		if (n_unit == 0 || seconds < 0 || parse_real(s, n_number, &number) < 0)
			return -EINVAL;
		sum += number * seconds;
		s += n_number + n_unit;
	} while (*s);
	*ret_seconds = sign * sum;
	return 0;
}

static int parse_relative(const char *s, int64_t now_ns, int64_t *ret_ns)
{
	double seconds = 0, t;

	if (strncmp(s, "now", 3) == 0)
		s += 3;
	if (*s != '\0' && ((*s != '-' && *s != '+') || parse_offset(s, &seconds) < 0))
		return -EINVAL;
	if (seconds == 0) {
		*ret_ns = now_ns;
		return 0;
	}
	t = (double)now_ns + seconds * (double)NS_PER_S;
	if (!(t > 0 && t < 0x1p63))
		return -EINVAL;
	*ret_ns = now_ns + (int64_t)(seconds * (double)NS_PER_S);
	return 0;
}

int request_time_parse(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	char s[MAX_BYTES];
	size_t len = 0;

	for (; *text; text++) {
		if (strchr(" _,\t", *text))
			continue;
		if (len == sizeof(s) - 1)
			return -EINVAL;
		s[len++] = *text;
	}
	s[len] = '\0';
	if (len == 0)
		return -EINVAL;
	if (parse_day(s, len, ret_ns))
		return *ret_ns > 0 ? 0 : -EINVAL;
	if (parse_number(s, len, ret_ns) == 0)
		return 0;
	if (rfc3339_parse(s, len, ret_ns) == 0)
		return *ret_ns > 0 ? 0 : -EINVAL;
	return parse_relative(s, now_ns, ret_ns);
}
