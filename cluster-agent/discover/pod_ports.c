#include "cluster-agent/discover/pod_ports.h"

#include <errno.h>

/* Whether the name of a port (NULL if it has none) matches. */
typedef bool (*name_fits_fn)(const json_t *name, const void *wanted);

struct wanted_name {
	const char *text;
	size_t len;
};

int port_list_add(struct port_list *l, uint16_t port)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->ports[i] == port)
			return 0;
	if (l->n == ARRAY_SIZE(l->ports))
		return -ENOSPC;
	l->ports[l->n++] = port;
	return 0;
}

static bool text_is(const json_t *v, const char *text)
{
	const char *s = json_string_value(v);

	return s && strcmp(s, text) == 0;
}

/* Returns its number if it is a TCP port, else 0. */
static uint16_t tcp_port(const json_t *port)
{
	const json_t *protocol = json_object_get(port, "protocol");
	json_int_t n = json_integer_value(json_object_get(port, "containerPort"));

	if ((protocol && !text_is(protocol, "TCP")) || n < 1 || n > UINT16_MAX)
		return 0;
	return (uint16_t)n;
}

/*
 * Returns the next container of the pod: first all regular ones, then the sidecars, then NULL.
 * *i is the position, 0 at first.
 */
static const json_t *next_container(const json_t *pod, size_t *i)
{
	const json_t *spec = json_object_get(pod, "spec");
	const json_t *regular = json_object_get(spec, "containers");
	const json_t *init = json_object_get(spec, "initContainers");
	size_t n_regular = json_array_size(regular);
	const json_t *c;

	if (*i < n_regular)
		return json_array_get(regular, (*i)++);
	while ((c = json_array_get(init, *i - n_regular))) {
		(*i)++;
		if (text_is(json_object_get(c, "restartPolicy"), "Always"))
			return c;
	}
	return NULL;
}

static int find_ports(const json_t *pod, name_fits_fn fits, const void *wanted, struct port_list *l)
{
	const json_t *container, *port;
	size_t at = 0, i;
	int n = 0;

	while ((container = next_container(pod, &at))) {
		json_array_foreach (json_object_get(container, "ports"), i, port) {
			uint16_t number = tcp_port(port);

			if (number == 0 || !fits(json_object_get(port, "name"), wanted))
				continue;
			if (port_list_add(l, number) < 0)
				return -ENOSPC;
			n++;
		}
	}
	return n;
}

static bool is_wanted_name(const json_t *name, const void *wanted)
{
	const struct wanted_name *w = wanted;

	return json_string_length(name) == w->len && w->len > 0 &&
	       memcmp(json_string_value(name), w->text, w->len) == 0;
}

int pod_ports_find(const json_t *pod, const char *name, size_t len, struct port_list *l)
{
	return find_ports(pod, is_wanted_name, &(struct wanted_name){name, len}, l);
}

static bool ends_in(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && strcmp(s + len - n, end) == 0;
}

static bool is_usual_name(const json_t *name, const void *wanted)
{
	const char *s = json_string_value(name);

	(void)wanted;
	return s && (strcmp(s, "http2") == 0 || ends_in(s, "-metrics") || ends_in(s, "-profiles"));
}

int pod_ports_find_usual(const json_t *pod, struct port_list *l)
{
	return find_ports(pod, is_usual_name, NULL, l);
}

static bool declares(const json_t *container, uint16_t number)
{
	const json_t *port;
	size_t i;

	json_array_foreach (json_object_get(container, "ports"), i, port) {
		if (tcp_port(port) == number)
			return true;
	}
	return false;
}

static const char *default_container(const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *annotations = json_object_get(metadata, "annotations");

	return json_string_value(
		json_object_get(annotations, "kubectl.kubernetes.io/default-container"));
}

const char *pod_ports_container(const json_t *pod, uint16_t port)
{
	const char *wanted = default_container(pod);
	const json_t *container, *found = NULL;
	size_t at = 0;

	while ((container = next_container(pod, &at))) {
		const json_t *name = json_object_get(container, "name");

		if (declares(container, port))
			return json_string_value(name);
		if (!found || (wanted && text_is(name, wanted)))
			found = container;
	}
	return json_string_value(json_object_get(found, "name"));
}
