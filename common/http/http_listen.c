#include "common/http/http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "common/data/hash.h"
#include "common/text/parse.h"

#define BACKLOG 512

int http_parse_listen(const char *text, struct sockaddr_storage *ret, bool *ret_dual_stack,
		      struct err *err)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN] = "";
	size_t len;
	uint64_t port;

	if (!colon || parse_u64(colon + 1, strlen(colon + 1), 0, UINT16_MAX, &port) < 0)
		return err_set(err, -EINVAL, "no port from 0 to 65535 at the end of \"%s\"", text);

	*ret_dual_stack = colon == text;
	*ret = (struct sockaddr_storage){0};
	v6.sin6_port = v4.sin_port = htons((uint16_t)port);
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[' && colon[-1] == ']' && len - 2 < sizeof(host)) {
		memcpy(host, text + 1, len - 2);
		if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
			memcpy(ret, &v6, sizeof(v6));
			return 0;
		}
	} else if (len == 0) {
		v6.sin6_addr = in6addr_any;
		memcpy(ret, &v6, sizeof(v6));
		return 0;
	} else if (len < sizeof(host)) {
		memcpy(host, text, len);
		if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
			memcpy(ret, &v4, sizeof(v4));
			return 0;
		}
	}
	return err_set(err, -EINVAL, "no IP address in front of the port in \"%s\"", text);
}

bool http_listen_is_loopback(const char *text)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} addr;
	bool dual_stack;

	if (http_parse_listen(text, &addr.any, &dual_stack, NULL) < 0)
		return false;
	if (addr.any.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&addr.v6.sin6_addr);
	return ntohl(addr.v4.sin_addr.s_addr) >> 24 == 127;
}

/* Returns a listening socket for the address, or -errno. */
static int open_socket(const struct sockaddr_storage *addr, bool dual_stack)
{
	AUTO_CLOSE int fd = -1;
	int on = 1, v6_only = !dual_stack;

	fd = socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (addr->ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only)) < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)addr,
		 addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					     : sizeof(struct sockaddr_in)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static unsigned port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} addr = {.v6 = {0}};
	socklen_t len = sizeof(addr);

	if (getsockname(fd, &addr.any, &len) < 0)
		return 0;
	return ntohs(addr.any.sa_family == AF_INET6 ? addr.v6.sin6_port : addr.v4.sin_port);
}

int http_listen(const char *text, unsigned *ret_port, struct err *err)
{
	struct sockaddr_storage addr = {0};
	bool dual_stack = false;
	int fd, r;

	r = http_parse_listen(text, &addr, &dual_stack, err);
	if (r < 0)
		return r;
	fd = open_socket(&addr, dual_stack);
	if (dual_stack && (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)) {
		/* the host has no IPv6 */
		struct sockaddr_in v4 = {
			.sin_family = AF_INET,
			.sin_port = ((const struct sockaddr_in6 *)&addr)->sin6_port,
		};

		memcpy(&addr, &v4, sizeof(v4));
		fd = open_socket(&addr, false);
	}
	if (fd < 0)
		return err_set(err, fd, "listen on %s: %s%s", text, strerror(-fd),
			       fd == -EACCES ? "; ports below 1024 need CAP_NET_BIND_SERVICE" : "");
	*ret_port = port_of(fd);
	return fd;
}

uint64_t http_client_number(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	if (addr && addr->sa_family == AF_INET)
		return fnv1a64(FNV1A64_INIT, &in->sin_addr, sizeof(in->sin_addr));
	if (!addr || addr->sa_family != AF_INET6)
		return 0;
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return fnv1a64(FNV1A64_INIT, &in6->sin6_addr.s6_addr[12], 4);
	return fnv1a64(FNV1A64_INIT, &in6->sin6_addr, 8);
}
