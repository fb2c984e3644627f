#include "common/text/rfc3339.h"

#include <errno.h>

#include "common/system/clock.h"

#define SECONDS_PER_DAY 86400

struct cursor {
	const char *at, *end;
};

/* Reads exactly n digits, and then the character then unless it is 0. */
static int read_number(struct cursor *c, int n, char then, int *ret)
{
	int v = 0;

	if (c->end - c->at < n + (then != 0))
		return -EINVAL;
	for (int i = 0; i < n; i++, c->at++) {
		if (*c->at < '0' || *c->at > '9')
			return -EINVAL;
		v = v * 10 + (*c->at - '0');
	}
	if (then && *c->at++ != then)
		return -EINVAL;
	*ret = v;
	return 0;
}

static bool is_leap_year(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_of_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month - 1] + (month == 2 && is_leap_year(year));
}

static int64_t days_since_epoch(int year, int month, int day)
{
	/* whole years since 0001; year 0 was a leap year and is subtracted below */
	int64_t before = year > 0 ? year - 1 : 0;
	int64_t days = before * 365 + before / 4 - before / 100 + before / 400 - 719162;

	if (year == 0)
		days -= 366;
	for (int m = 1; m < month; m++)
		days += days_of_month(year, m);
	return days + day - 1;
}

static int read_date(struct cursor *c, int64_t *ret_days)
{
	int year, month, day;

	if (read_number(c, 4, '-', &year) < 0 || read_number(c, 2, '-', &month) < 0 ||
	    read_number(c, 2, 0, &day) < 0)
		return -EINVAL;
	if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
		return -EINVAL;
	*ret_days = days_since_epoch(year, month, day);
	return 0;
}

static int read_time_of_day(struct cursor *c, int *ret_s)
{
	int hour, minute, second;

	if (read_number(c, 2, ':', &hour) < 0 || read_number(c, 2, ':', &minute) < 0 ||
	    read_number(c, 2, 0, &second) < 0)
		return -EINVAL;
	if (hour > 23 || minute > 59 || second > 60)
		return -EINVAL;
	*ret_s = hour * 3600 + minute * 60 + second;
	return 0;
}

static int read_fraction(struct cursor *c, int *ret_ns)
{
	int unit = (int)NS_PER_S;
	const char *first;

	*ret_ns = 0;
	if (c->at == c->end || *c->at != '.')
		return 0;
	first = ++c->at;
	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		unit /= 10;
		*ret_ns += unit * (*c->at - '0');
	}
	return c->at > first ? 0 : -EINVAL;
}

static int read_offset(struct cursor *c, int *ret_s)
{
	int hours, minutes;
	char sign;

	*ret_s = 0;
	if (c->at == c->end)
		return -EINVAL;
	sign = *c->at++;
	if (sign == 'Z' || sign == 'z')
		return 0;
	if (sign != '+' && sign != '-')
		return -EINVAL;
	if (read_number(c, 2, ':', &hours) < 0 || read_number(c, 2, 0, &minutes) < 0 ||
	    hours > 23 || minutes > 59)
		return -EINVAL;
	*ret_s = (hours * 3600 + minutes * 60) * (sign == '-' ? -1 : 1);
	return 0;
}

int rfc3339_parse(const char *s, size_t len, int64_t *ret_ns)
{
	struct cursor c = {s, s + len};
	int of_day_s, offset_s, fraction_ns;
	int64_t days, ns;

	if (read_date(&c, &days) < 0 || c.at == c.end || (*c.at != 'T' && *c.at != 't'))
		return -EINVAL;
	c.at++;
	if (read_time_of_day(&c, &of_day_s) < 0 || read_fraction(&c, &fraction_ns) < 0 ||
	    read_offset(&c, &offset_s) < 0 || c.at != c.end)
		return -EINVAL;

	if (__builtin_mul_overflow(days * SECONDS_PER_DAY + of_day_s - offset_s, (int64_t)NS_PER_S,
				   &ns) ||
	    __builtin_add_overflow(ns, fraction_ns, &ns))
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

void rfc3339_format_us(int64_t ns, char ret[static 32])
{
	int64_t seconds = ns / (int64_t)NS_PER_S, rest = ns % (int64_t)NS_PER_S;
	int64_t days, of_day;
	int year = 1677, month = 1;

	if (rest < 0) {
		rest += (int64_t)NS_PER_S;
		seconds--;
	}
	days = seconds / SECONDS_PER_DAY;
	of_day = seconds % SECONDS_PER_DAY;
	if (of_day < 0) {
		of_day += SECONDS_PER_DAY;
		days--;
	}
	while (days >= days_since_epoch(year + 1, 1, 1))
		year++;
	days -= days_since_epoch(year, 1, 1);
	for (; days >= days_of_month(year, month); month++)
		days -= days_of_month(year, month);
	/* the remainders change no value; they prove to the compiler that the text fits */
	snprintf(ret, 32, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", (unsigned)year % 10000,
		 (unsigned)month % 100, (unsigned)(days + 1) % 100, (unsigned)(of_day / 3600) % 100,
		 (unsigned)(of_day / 60) % 60, (unsigned)of_day % 60,
		 (unsigned)(rest / 1000) % 1000000);
}

void rfc3339_format_s(int64_t ns, char ret[static 32])
{
	rfc3339_format_us(ns, ret);
	snprintf(strchr(ret, '.'), 2, "Z");
}
