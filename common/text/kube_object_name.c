#include "common/text/kube_object_name.h"

#define MAX_LABEL_BYTES 63
#define MAX_SUBDOMAIN_BYTES 253

static bool is_label(const char *s, size_t len)
{
	if (len == 0 || len > MAX_SUBDOMAIN_BYTES || s[0] == '-' || s[len - 1] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '-'))
			return false;
	return true;
}

bool kube_name_is_label(const char *s)
{
	size_t len = strlen(s);

	return len <= MAX_LABEL_BYTES && is_label(s, len);
}

bool kube_name_is_subdomain(const char *s)
{
	if (strlen(s) > MAX_SUBDOMAIN_BYTES)
		return false;
	for (;;) {
		size_t len = strcspn(s, ".");

		if (!is_label(s, len))
			return false;
		if (!s[len])
			return true;
		s += len + 1;
	}
}
