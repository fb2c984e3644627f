#include <errno.h>

#include "node-agent/sample/known_kernels.h"
#include "test/lib/unit.h"

static void check(const char *release, const char *version, const char *signature, unsigned patch,
		  bool bad)
{
	struct kernel_version v;

	assert_int_equal(kernel_version_parse(release, version, signature, &v), 0);
	assert_int_equal(v.patch, patch);
	assert_int_equal(kernel_is_known_bad(&v), bad);
}

TEST(versions_that_can_freeze_are_known)
{
	check("5.18.19", "", "", 19, false);
	check("5.19.0", "", "", 0, true);
	check("5.19.17-051917-generic", "", "", 17, true);
	check("6.0.19", "", "", 19, true);
	check("6.1.35", "", "", 35, true);
	check("6.1.36", "", "", 36, false);
	check("6.2.16", "", "", 16, true);
	check("6.3.9", "", "", 9, true);
	check("6.3.10", "", "", 10, false);
	check("6.4.0", "", "", 0, false);
	check("6.10.3", "", "", 3, false);
	check("4.19.0", "", "", 0, false);
	check("5.10.0", "", "", 0, false);
	check("7.1", "", "", 0, false);
}

TEST(distributions_have_the_version_elsewhere)
{
	check("6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", "", 27, true);
	check("6.1.0-50-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1 (2025-05-22)", "",
	      140, false);
	check("6.2.0-26-generic",
	      "#26~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Jul 13 16:27:29 UTC 2",
	      "Ubuntu 6.2.0-26.26~22.04.1-generic 6.2.13\n", 13, true);
	check("6.5.0-14-generic", "#14-Ubuntu", "Ubuntu 6.5.0-14.14-generic 6.5.3\n", 3, false);
	/* a version that is not of this kernel */
	check("6.1.0", "Debian 5.10.1", "Ubuntu 6.1.0 4.4.1", 0, true);
}

TEST(what_is_no_version_is_refused)
{
	static const char *const bad[] = {"", "6", "6.", "x6.1", "6.1.", "6.x", "99999.1"};
	struct kernel_version v;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(kernel_version_parse(bad[i], "", "", &v), -EBADMSG);
}

TEST(this_kernel_is_good)
{
	struct err err = {0};

	assert_int_equal(known_kernels_check(&err), 0);
}
