/*
 * Times of profiles are those of this host's wall clock. What is sent has those of the receiver's,
 * as far as the two differ by seconds (receiver_clock.h).
 *
 * A profile remembers how the wall clock stood when it was made, and what the correction was if
 * that had been measured, so it may wait on disk while the clock is set, and while the host
 * restarts. Nothing can be said about a profile that was made in an earlier boot before its
 * receiver had ever answered: it is sent as it is, and the receiver decides.
 *
 * While nothing is measured, one profile is sent at a time: its answer is the measurement for the
 * others.
 */
#include <errno.h>
#include <fcntl.h>

#include "common/data/hash.h"
#include "common/http/http_text.h"
#include "common/pprof/pprof_time.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/upload/uploader_state.h"

#define LOG_EVERY_NS (3600 * NS_PER_S)

uint64_t uploader_read_boot(void)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

	if (fd >= 0)
		close(fd);
	return n > 0 ? fnv1a64(FNV1A64_INIT, text, (size_t)n) : 0;
}

/* What our wall clock showed at boot, as far as it is right. */
static int64_t own_ns(void)
{
	return (int64_t)clock_realtime_ns() - (int64_t)clock_boottime_ns();
}

void uploader_stamp(const struct uploader *u, struct upload_clock *ret)
{
	int64_t own = own_ns();
	bool is_measured = receiver_clock_is_usable(&u->clock, own);

	*ret = (struct upload_clock){
		.own_ns = own,
		.boot = u->boot,
		.is_measured = is_measured,
		.correction_ns = is_measured ? receiver_clock_correction(&u->clock, own) : 0,
	};
}

bool uploader_must_measure(const struct uploader *u)
{
	return !u->has_no_clock && !receiver_clock_is_usable(&u->clock, own_ns());
}

/* By how much the wall clock is ahead of the receiver's now; 0: it is right, or unknown. */
static int64_t skew_ns(const struct uploader *u)
{
	int64_t own = own_ns();

	return receiver_clock_is_usable(&u->clock, own) ? -receiver_clock_correction(&u->clock, own)
							: 0;
}

/* Rounded, as a measurement is half a second wrong. */
static int64_t to_seconds(int64_t ns)
{
	const int64_t half = (int64_t)NS_PER_S / 2;

	return (ns < 0 ? ns - half : ns + half) / (int64_t)NS_PER_S;
}

static void report(struct uploader *u)
{
	int64_t skew = skew_ns(u), before = atomic_exchange(&u->skew_ns, skew);
	uint64_t now_ns = clock_monotonic_ns();

	if (skew == 0 && before != 0)
		log_info("the clock of this host agrees with the receiver's again",
			 "was_ahead_seconds=%lld", (long long)to_seconds(before));
	if (skew == 0 || (before != 0 && now_ns - u->skew_logged_ns < LOG_EVERY_NS))
		return;
	u->skew_logged_ns = now_ns;
	log_warn("the clock of this host differs from the receiver's; correcting the times of "
		 "profiles",
		 "ahead_seconds=%lld", (long long)to_seconds(skew));
}

static void end_hold(struct uploader *u)
{
	if (u->hold_until_ns == 0)
		return;
	u->hold_until_ns = 0;
	if (!u->waiting)
		loop_set_timer(u->retry_timer, 0);
}

void uploader_note_answer(struct uploader *u, const struct http_result *res, uint64_t sent_ns)
{
	bool is_receiver =
		!res->error && res->status >= 200 && res->status < 500 && res->status / 100 != 3;
	const char *text = is_receiver ? http_result_header(res, "Date") : NULL;
	const char *age = text ? http_result_header(res, "Age") : NULL;
	int64_t date_s;

	end_hold(u);
	if (!is_receiver)
		return;
	/* without a "Date", or with that of a cache, there is nothing to wait for */
	u->has_no_clock = !text || http_parse_date(text, &date_s) < 0 || (age && age[0] != '0');
	if (u->has_no_clock)
		return;
	receiver_clock_note(&u->clock, date_s, sent_ns, clock_boottime_ns(), own_ns());
	report(u);
}

static int64_t correction_of(const struct uploader *u, const struct upload_clock *c)
{
	if (c->is_measured)
		return c->correction_ns;
	if (c->boot == 0 || c->boot != u->boot || !receiver_clock_is_usable(&u->clock, own_ns()))
		return 0;
	return receiver_clock_correction(&u->clock, c->own_ns);
}

int uploader_correct(const struct uploader *u, const struct upload_item *item, struct buf *out)
{
	int64_t correction_ns = correction_of(u, &item->clock), max_ns = INT64_MAX;
	int r;

	if (correction_ns == 0)
		return 0;
	/* one that was made while the clock was being set */
	if (receiver_clock_is_usable(&u->clock, own_ns()))
		max_ns = receiver_clock_now(&u->clock, clock_boottime_ns());
	r = pprof_time_shift(item->body, item->body_len, correction_ns, max_ns, out);
	if (r == -ENOMEM)
		return r;
	/* what is no pprof is the receiver's business */
	return r == 0;
}

void uploader_clock_header(const struct uploader *u, char ret[static UPLOADER_CLOCK_HEADER_BYTES])
{
	int64_t seconds = to_seconds(skew_ns(u));

	ret[0] = '\0';
	if (seconds != 0)
		snprintf(ret, UPLOADER_CLOCK_HEADER_BYTES, RECEIVER_CLOCK_HEADER ": %lld",
			 (long long)seconds);
}

void uploader_hold(struct uploader *u, uint64_t ns)
{
	u->hold_until_ns = clock_monotonic_ns() + ns;
}
