#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cluster-agent/receive/upload_answer.h"
#include "common/telemetry/log.h"
#include "test/lib/unit.h"

/* Notes a stored upload; returns how many lines that were logged at this level have the text. */
static unsigned note(struct upload_counters *c, enum log_level level, const char *service,
		     const char *left_out)
{
	AUTO_CLOSE int log = memfd_create("log", MFD_CLOEXEC);
	char text[4096] = "";
	unsigned n = 0;

	assert_true(log >= 0);
	log_set_fd(log);
	log_set_level(level);
	upload_result_note(c, NULL, UPLOAD_STORED, service, left_out);
	log_set_level(LOG_LEVEL_INFO);
	log_set_fd(STDERR_FILENO);
	assert_true(pread(log, text, sizeof(text) - 1, 0) >= 0);
	for (const char *at = text; (at = strstr(at, "storing an upload without")); at++)
		n++;
	return n;
}

TEST(what_an_application_always_sends_is_logged_once_an_hour)
{
	struct upload_counters c = {0};
	const char *parks = "12 events left out: jdk.ThreadPark (12)";

	assert_int_equal(note(&c, LOG_LEVEL_DEBUG, "shop", parks), 1);
	assert_int_equal(note(&c, LOG_LEVEL_INFO, "shop", parks), 0);
	assert_int_equal(note(&c, LOG_LEVEL_INFO, "shop", "7 events left out: jdk.ThreadPark (7)"),
			 0);
	assert_int_equal(note(&c, LOG_LEVEL_DEBUG, "shop", parks), 1);
	assert_int_equal(note(&c, LOG_LEVEL_INFO, "shop", ""), 0);
	/* the line of a call site is limited, too, so others are seen at that level only */
	assert_true(upload_counters_must_log(&c, "cart", parks, 1));
	assert_false(upload_counters_must_log(&c, "cart", parks, 2));
	assert_true(upload_counters_must_log(&c, "shop", "1 stack cut", 1));
	assert_true(upload_counters_must_log(&c, "cart", parks, 1 + 3600 * UINT64_C(1000000000)));
}
