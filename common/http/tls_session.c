/*
 * MHD makes a TLS session for each connection, with one certificate for the life of the server. Its
 * callback for another certificate has no context, so a server could not find its own. But MHD
 * lends us the session before the handshake begins, and there everything can be set: the
 * certificate of this moment, and the function that receives, by which a client that speaks plain
 * HTTP is noticed and gets an answer that it understands.
 */
#include "common/http/tls_session.h"

#include <errno.h>
#include <sys/socket.h>

/* Of a plain request, so much is read: bytes left unread would reset our answer. */
#define MAX_PLAIN_BYTES 65536
#define PLAIN_TEXT "This port speaks HTTPS: use https:// instead of http://.\n"

struct tls_session {
	struct server_tls *tls;
	struct tls_certificate *cert;
	int fd;
	gnutls_transport_ptr_t socket; /* the same for GnuTLS's own functions */
	bool has_received;
	bool is_plain;
	bool is_complete; /* the handshake */
};

/* Not 400: node agents drop a profile that is answered so, and keep it for all that is like 404. */
static void answer_plain(struct tls_session *s)
{
	static const char answer[] = "HTTP/1.1 426 Upgrade Required\r\n"
				     "Upgrade: TLS/1.2, HTTP/1.1\r\n"
				     "Content-Type: text/plain; charset=utf-8\r\n"
				     "Connection: close\r\n\r\n" PLAIN_TEXT;
	char rest[4096];
	size_t n_read = 0;
	ssize_t n;

	do {
		n = recv(s->fd, rest, sizeof(rest), MSG_DONTWAIT);
		n_read += n > 0 ? (size_t)n : 0;
	} while (n > 0 && n_read < MAX_PLAIN_BYTES);
	(void)send(s->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(s->fd, SHUT_WR);
	s->is_plain = true;
	server_tls_count_plain(s->tls);
}

/* A TLS connection begins with a byte of 22; methods of HTTP are capital letters. */
static ssize_t receive(gnutls_transport_ptr_t ctx, void *data, size_t len)
{
	struct tls_session *s = ctx;
	ssize_t n = recv(s->fd, data, len, 0);
	const char *bytes = data;

	if (n <= 0 || s->has_received)
		return n;
	s->has_received = true;
	if (bytes[0] < 'A' || bytes[0] > 'Z')
		return n;
	answer_plain(s);
	errno = ECONNRESET;
	return -1;
}

/* GnuTLS wants both functions, though it calls this one for sockets that block only. */
static int wait_for_data(gnutls_transport_ptr_t ctx, unsigned ms)
{
	const struct tls_session *s = ctx;

	return gnutls_system_recv_timeout(s->socket, ms);
}

static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
		       const gnutls_datum_t *message)
{
	struct tls_session *s = gnutls_transport_get_ptr(session);

	(void)type;
	(void)when;
	(void)message;
	if (incoming)
		s->is_complete = true;
	return 0;
}

struct tls_session *tls_session_begin(struct server_tls *t, struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *info;
	gnutls_transport_ptr_t receiver;
	struct tls_session *s;
	gnutls_session_t session;

	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->tls = t;
	s->cert = server_tls_certificate(t);
	s->fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	session = info->tls_session;
	/* if this fails, tls_session_without_certificate() will be called */
	(void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, s->cert->credentials);
	gnutls_transport_get_ptr2(session, &receiver, &s->socket);
	gnutls_transport_set_ptr2(session, s, s->socket);
	gnutls_transport_set_pull_function(session, receive);
	gnutls_transport_set_pull_timeout_function(session, wait_for_data);
	gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST,
					   on_finished);
	return s;
}

void tls_session_end(struct tls_session *s)
{
	if (!s)
		return;
	if (!s->is_complete && !s->is_plain)
		server_tls_count_failed(s->tls);
	tls_certificate_unref(s->cert);
	free(s);
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are GnuTLS's */
int tls_session_without_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
				    int n_authorities, const gnutls_pk_algorithm_t *algorithms,
				    int n_algorithms, gnutls_pcert_st **certs, unsigned *n_certs,
				    gnutls_privkey_t *key)
{
	(void)session;
	(void)authorities;
	(void)n_authorities;
	(void)algorithms;
	(void)n_algorithms;
	(void)certs;
	(void)n_certs;
	(void)key;
	return -1;
}
