#include "node-agent/java/vm/jvm_counters.h"

#include <errno.h>

#include "common/text/utf8.h"

#define NANOSECONDS UINT64_C(1000000000)
/* Of a label's value, all of whose bytes are escaped. */
#define VALUE_BYTES (2 * sizeof(((struct hsperfdata *)NULL)->command) + 1)

_Static_assert(VALUE_BYTES + sizeof("jvm=\"\"") <= JVM_COUNTERS_LABEL_BYTES, "holds any command");

/* Appends `name="value"`, escaped; "" if there is no memory. */
static void add_label(char *to, size_t cap, const char *name, const char *value)
{
	size_t len = strlen(to);
	struct buf b;

	buf_init(&b, VALUE_BYTES);
	if (metrics_add_label_value(&b, value) == 0)
		(void)snprintf(to + len, cap - len, "%s%s=\"%.*s\"", len ? "," : "", name,
			       (int)b.len, b.len ? b.data : "");
	buf_fini(&b);
}

void jvm_counters_label(char to[JVM_COUNTERS_LABEL_BYTES], const struct hsperfdata *h,
			const char *name)
{
	const char *from = h->command[0] != '\0' ? h->command : name;
	char text[sizeof(h->command)];
	size_t len = strnlen(from, sizeof(text) - 1);

	memcpy(text, from, len);
	text[utf8_make_printable(text, len)] = '\0'; /* the name of a process may be any bytes */
	*to = '\0';
	add_label(to, JVM_COUNTERS_LABEL_BYTES, "jvm", text);
}

static uint64_t nanoseconds(const struct hsperfdata *h, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * NANOSECONDS / h->ticks_per_second);
}

static void add(struct jvm_counters *c, unsigned family, const char *labels, uint64_t value)
{
	c->series[c->n++] = (struct container_series){
		.family = family,
		.is_flag = family == JVM_COUNTER_INFO,
		.labels = labels,
		.value = value,
	};
}

static void copy_label(char *to, size_t cap, const struct jvm_counters *c, const char *name,
		       const char *value)
{
	memcpy(to, c->jvm, sizeof(c->jvm));
	add_label(to, cap, name, value);
}

void jvm_counters_make(struct jvm_counters *ret, const struct hsperfdata *h, const char *name)
{
	struct jvm_counters *c = ret;

	c->n = 0;
	jvm_counters_label(c->jvm, h, name);
	copy_label(c->info, sizeof(c->info), c, "java_version", h->java_version);
	add(c, JVM_COUNTER_INFO, c->info, 1);
	if (h->has_heap) {
		add(c, JVM_COUNTER_HEAP_SIZE, c->jvm, h->heap_size_bytes);
		add(c, JVM_COUNTER_HEAP_USED, c->jvm, h->heap_used_bytes);
	}
	if (h->has_safepoints) {
		add(c, JVM_COUNTER_SAFEPOINT_TIME, c->jvm, nanoseconds(h, h->safepoint_ticks));
		add(c, JVM_COUNTER_SAFEPOINT_SYNC_TIME, c->jvm,
		    nanoseconds(h, h->safepoint_sync_ticks));
	}
	for (size_t i = 0; i < h->n_collectors; i++) {
		copy_label(c->gc[i], sizeof(c->gc[i]), c, "gc", h->collectors[i].name);
		add(c, JVM_COUNTER_GC_TIME, c->gc[i], nanoseconds(h, h->collectors[i].time_ticks));
	}
}

int jvm_counters_report(struct runtime_turn *t, const struct hsperfdata *h, const char *name)
{
	AUTO_FREE struct jvm_counters *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	jvm_counters_make(c, h, name);
	return runtime_turn_series(t, (UINT32_C(1) << JVM_COUNTERS) - 1, c->series, c->n);
}
