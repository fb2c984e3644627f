#include "common/text/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <strings.h>

#include "common/system/clock.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the digits at s[*pos] and advances *pos beyond them. */
static int read_digits(const char *s, size_t len, size_t *pos, uint64_t *ret)
{
	bool overflow = false;
	size_t i = *pos;
	uint64_t v = 0;

	for (; i < len && is_digit(s[i]); i++) {
		overflow |= __builtin_mul_overflow(v, 10, &v);
		overflow |= __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v);
	}
	if (i == *pos)
		return -EINVAL;
	*pos = i;
	*ret = v;
	return overflow ? -ERANGE : 0;
}

int parse_u64(const char *s, size_t len, uint64_t min, uint64_t max, uint64_t *ret)
{
	size_t pos = 0;
	uint64_t v;
	int r;

	r = read_digits(s, len, &pos, &v);
	if (r == -EINVAL || pos != len)
		return -EINVAL;
	if (r < 0 || v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

/* Whether the text is a decimal number. strtod() takes "inf", "nan" and "0x1p3" as well. */
static bool is_decimal(const char *s, size_t len)
{
	size_t i = 0, n_digits = 0;

	i += len > 0 && (s[0] == '+' || s[0] == '-');
	for (; i < len && is_digit(s[i]); i++)
		n_digits++;
	i += i < len && s[i] == '.';
	for (; i < len && is_digit(s[i]); i++)
		n_digits++;
	if (n_digits == 0)
		return false;
	if (i < len && (s[i] == 'e' || s[i] == 'E')) {
		i++;
		i += i < len && (s[i] == '+' || s[i] == '-');
		n_digits = 0;
		for (; i < len && is_digit(s[i]); i++)
			n_digits++;
	}
	return i == len && n_digits > 0;
}

int parse_real(const char *s, size_t len, double *ret)
{
	char copy[128];
	double v;

	if (len >= sizeof(copy) || !is_decimal(s, len))
		return -EINVAL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	v = strtod(copy, NULL);
	if (!isfinite(v))
		return -ERANGE;
	*ret = v;
	return 0;
}

static int read_unit(const char *s, size_t len, size_t *pos, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", NS_PER_MS},
		{"s", NS_PER_S},
		{"m", 60 * NS_PER_S},
		{"h", 3600 * NS_PER_S},
		{"d", 86400 * NS_PER_S},
	};
	size_t end = *pos;

	while (end < len && !is_digit(s[end]))
		end++;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i].name);

		if (n == end - *pos && memcmp(units[i].name, s + *pos, n) == 0) {
			*pos = end;
			*ret_ns = units[i].ns;
			return 0;
		}
	}
	return -EINVAL;
}

/* Reads ".5" as numerator and denominator; digits beyond the 17th are dropped. */
static int read_fraction(const char *s, size_t len, size_t *pos, uint64_t *num, uint64_t *den)
{
	size_t i = *pos;

	*num = 0;
	*den = 1;
	if (i == len || s[i] != '.')
		return 0;
	for (i++; i < len && is_digit(s[i]); i++) {
		if (*den >= UINT64_C(100000000000000000))
			continue;
		*num = *num * 10 + (uint64_t)(s[i] - '0');
		*den *= 10;
	}
	if (i == *pos + 1)
		return -EINVAL;
	*pos = i;
	return 0;
}

int parse_duration(const char *s, size_t len, uint64_t *ret_ns)
{
	unsigned __int128 total = 0;
	bool too_large = false;
	size_t pos = 0;

	if (len == 0)
		return -EINVAL;
	if (len == 1 && s[0] == '0') {
		*ret_ns = 0;
		return 0;
	}

	while (pos < len) {
		uint64_t whole, num, den, unit_ns;
		int r = read_digits(s, len, &pos, &whole);

		if (r == -ERANGE)
			too_large = true;
		else if (r < 0)
			return r;
		if (read_fraction(s, len, &pos, &num, &den) < 0 ||
		    read_unit(s, len, &pos, &unit_ns) < 0)
			return -EINVAL;
		total +=
			(unsigned __int128)whole * unit_ns + (unsigned __int128)num * unit_ns / den;
		if (total > UINT64_MAX)
			too_large = true;
		/* from here on only syntax matters; keep the sum from wrapping */
		if (too_large)
			total = 0;
	}
	if (too_large)
		return -ERANGE;
	*ret_ns = (uint64_t)total;
	return 0;
}

int parse_bool(const char *s, size_t len, bool *ret)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{"true", true}, {"false", false}, {"1", true},  {"0", false},
		{"yes", true},  {"no", false},    {"on", true}, {"off", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) == len && strncasecmp(words[i].word, s, len) == 0) {
			*ret = words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

/* "" or "B", "k", "kB", "KiB" …: stores the factor. */
static int parse_size_unit(const char *s, size_t len, uint64_t *ret)
{
	static const char prefixes[] = {'k', 'm', 'g', 't'};
	const char *prefix = NULL;
	uint64_t base = 1000;

	if (len > 0)
		prefix = memchr(prefixes, tolower((unsigned char)*s), sizeof(prefixes));
	*ret = 1;
	if (!prefix)
		return len == 0 || (len == 1 && tolower((unsigned char)*s) == 'b') ? 0 : -EINVAL;
	if (len == 3 && tolower((unsigned char)s[1]) == 'i')
		base = 1024;
	else if (len > 2)
		return -EINVAL;
	if (len > 1 && tolower((unsigned char)s[len - 1]) != 'b')
		return -EINVAL;
	for (const char *p = prefixes; p <= prefix; p++)
		*ret *= base;
	return 0;
}

int parse_size(const char *s, size_t len, uint64_t *ret_bytes)
{
	uint64_t number, factor = 1;
	size_t n_digits = 0;
	int r;

	while (n_digits < len && isdigit((unsigned char)s[n_digits]))
		n_digits++;
	r = parse_u64(s, n_digits, 0, UINT64_MAX, &number);
	if (r == 0)
		r = parse_size_unit(s + n_digits, len - n_digits, &factor);
	if (r < 0)
		return r;
	if (__builtin_mul_overflow(number, factor, &number))
		return -ERANGE;
	*ret_bytes = number;
	return 0;
}
