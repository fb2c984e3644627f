/*
 * Any bytes as a receiver's answer, or as what the spool has of it: refused, or wishes that are
 * answered in the same words.
 */
#include "common/upload/receiver_wishes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct receiver_wishes w, again;
	const char *json;

	if (receiver_wishes_parse(&w, (const char *)data, size) < 0)
		return 0;
	json = receiver_wishes_json(&w);
	if (receiver_wishes_parse(&again, json, strlen(json)) < 0 || again.naming != w.naming ||
	    again.extra_labels != w.extra_labels)
		abort();
	return 0;
}
