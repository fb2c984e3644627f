#include "common/http/http_bad_length.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <sys/socket.h>

static __thread struct MHD_Connection *reading;

void http_bad_length_begin(struct MHD_Connection *conn)
{
	reading = conn;
}

void http_bad_length_end(struct MHD_Connection *conn)
{
	if (reading == conn)
		reading = NULL;
}

static bool is_too_large(const char *digits)
{
	errno = 0;
	(void)strtoull(digits, NULL, 10);
	return errno == ERANGE;
}

static void send_answer(struct MHD_Connection *conn, const char *status, const char *text)
{
	const union MHD_ConnectionInfo *info;
	char answer[400];
	int fd, len;

	len = snprintf(answer, sizeof(answer),
		       "HTTP/1.1 %s\r\n"
		       "Content-Type: text/plain; charset=utf-8\r\n"
		       "X-Content-Type-Options: nosniff\r\n"
		       "Cache-Control: no-store\r\n"
		       "Connection: close\r\n"
		       "Content-Length: %zu\r\n\r\n%s",
		       status, strlen(text), text);
	info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
	fd = info->connect_fd;
	/* an answer fits into the socket's buffer, as the one before was sent */
	info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	if (info && info->tls_session)
		(void)!gnutls_record_send(info->tls_session, answer, (size_t)len);
	else
		(void)!send(fd, answer, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(fd, SHUT_WR);
}

bool http_bad_length_on_log(const char *fmt)
{
	struct MHD_Connection *conn = reading;
	const char *length;

	if (!conn || !strstr(fmt, "Content-Length' header"))
		return false;
	length = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	if (!length)
		return false;
	if (!length[0] || length[strspn(length, "0123456789")])
		send_answer(conn, "400 Bad Request", "the header Content-Length is not a number\n");
	else if (is_too_large(length))
		send_answer(conn, "413 Content Too Large",
			    "the header Content-Length is more than 64 bits\n");
	else
		return false;
	return true;
}
