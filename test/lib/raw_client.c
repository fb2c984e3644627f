#include "test/lib/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/data/buf.h"
#include "test/lib/unit.h"

#define PATIENCE_MS 300000
#define MAX_ANSWER_BYTES ((size_t)64 << 20)

int raw_client_connect_from(const char *address, unsigned port)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

int raw_client_connect(unsigned port)
{
	return raw_client_connect_from("127.0.0.1", port);
}

bool raw_client_try_send(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

void raw_client_send(int fd, const char *text)
{
	assert_true(raw_client_try_send(fd, text));
}

char *raw_client_read(int fd, const char *wanted)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct buf in;
	size_t len;

	buf_init(&in, MAX_ANSWER_BYTES);
	while (!wanted || !in.data || !strstr(in.data, wanted)) {
		char part[4096];
		ssize_t n;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		n = recv(fd, part, sizeof(part), 0);
		if (n <= 0)
			break;
		assert_int_equal(buf_add(&in, part, (size_t)n), 0);
	}
	assert_int_equal(buf_add(&in, "", 0), 0);
	return buf_take(&in, &len);
}

void raw_client_reset(int fd)
{
	struct linger reset = {.l_onoff = 1};

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	close(fd);
}
