#include "node-agent/java/vm/jvm_counters.h"
#include "test/lib/unit.h"

static struct jvm_counters c;

/* The only series of a family with these labels. */
static const struct container_series *find(unsigned family, const char *labels)
{
	const struct container_series *found = NULL;

	for (size_t i = 0; i < c.n; i++) {
		if (c.series[i].family != family || strcmp(c.series[i].labels, labels) != 0)
			continue;
		assert_null(found);
		found = &c.series[i];
	}
	assert_non_null(found);
	return found;
}

/* The clock of performance data may have any frequency. */
TEST(values_have_labels_and_units)
{
	static const struct hsperfdata h = {
		.java_version = "17.0.15",
		.command = "shop.Main",
		.has_heap = true,
		.has_safepoints = true,
		.heap_size_bytes = 300,
		.heap_used_bytes = 200,
		.ticks_per_second = 1000,
		.safepoint_ticks = 1500,
		.safepoint_sync_ticks = 1,
		.collectors = {{"Copy", 2000}, {"MSC", UINT64_C(1) << 40}},
		.n_collectors = 2,
	};

	jvm_counters_make(&c, &h, "java");
	assert_int_equal(c.n, 7);
	assert_true(find(JVM_COUNTER_INFO, "jvm=\"shop.Main\",java_version=\"17.0.15\"")->is_flag);
	assert_int_equal(find(JVM_COUNTER_HEAP_SIZE, "jvm=\"shop.Main\"")->value, 300);
	assert_int_equal(find(JVM_COUNTER_HEAP_USED, "jvm=\"shop.Main\"")->value, 200);
	assert_int_equal(find(JVM_COUNTER_SAFEPOINT_TIME, "jvm=\"shop.Main\"")->value, 1500000000);
	assert_int_equal(find(JVM_COUNTER_SAFEPOINT_SYNC_TIME, "jvm=\"shop.Main\"")->value,
			 1000000);
	assert_int_equal(find(JVM_COUNTER_GC_TIME, "jvm=\"shop.Main\",gc=\"Copy\"")->value,
			 2000000000);
	assert_int_equal(find(JVM_COUNTER_GC_TIME, "jvm=\"shop.Main\",gc=\"MSC\"")->value,
			 (UINT64_C(1) << 40) * 1000000);
}

TEST(what_is_not_published_is_not_reported)
{
	static const struct hsperfdata h = {.ticks_per_second = 1};

	jvm_counters_make(&c, &h, "my \"java\"");
	assert_int_equal(c.n, 1);
	assert_int_equal(find(JVM_COUNTER_INFO, "jvm=\"my \\\"java\\\"\",java_version=\"\"")->value,
			 1);
}

TEST(labels_are_text)
{
	static const struct hsperfdata h = {.ticks_per_second = 1};

	jvm_counters_make(&c, &h, "a\xff\n\xc3\xa9");
	assert_string_equal(c.jvm, "jvm=\"a??\xc3\xa9\"");
}

/* ASan sees a text that does not fit. */
TEST(the_longest_names_fit_when_escaped)
{
	struct hsperfdata h = {.ticks_per_second = 1, .n_collectors = 1};

	memset(h.command, '"', sizeof(h.command) - 1);
	memset(h.java_version, '\\', sizeof(h.java_version) - 1);
	memset(h.collectors[0].name, '"', sizeof(h.collectors[0].name) - 1);
	jvm_counters_make(&c, &h, "");
	assert_int_equal(strlen(c.jvm), strlen("jvm=\"\"") + 2 * (sizeof(h.command) - 1));
	assert_int_equal(strlen(c.info), strlen(c.jvm) + strlen(",java_version=\"\"") +
						 2 * (sizeof(h.java_version) - 1));
	assert_int_equal(strlen(c.gc[0]), strlen(c.jvm) + strlen(",gc=\"\"") +
						  2 * (sizeof(h.collectors[0].name) - 1));
}
