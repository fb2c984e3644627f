#include "common/http/grpc_transport.h"

#include <errno.h>
#include <sys/socket.h>

#include "common/http/tls_session.h"

static int begin_tls(struct grpc_transport *t)
{
	static unsigned char name[] = {'h', '2'};
	static const gnutls_datum_t h2 = {name, sizeof(name)};
	int r;

	t->cert = server_tls_certificate(t->tls);
	if (gnutls_init(&t->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return -ENOMEM;
	r = gnutls_priority_set_direct(t->session, TLS_SESSION_PRIORITIES, NULL);
	if (r == 0)
		r = gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE,
					   t->cert->credentials);
	if (r == 0)
		r = gnutls_alpn_set_protocols(t->session, &h2, 1, 0);
	if (r < 0)
		return -EIO;
	gnutls_transport_set_int(t->session, t->fd);
	return 0;
}

int grpc_transport_init(struct grpc_transport *t, int fd, struct server_tls *tls)
{
	int r;

	*t = (struct grpc_transport){.fd = fd, .tls = tls, .ready = tls == NULL};
	r = tls ? begin_tls(t) : 0;
	if (r < 0) {
		t->fd = -1;
		t->ready = true;
		grpc_transport_fini(t);
	}
	return r;
}

void grpc_transport_fini(struct grpc_transport *t)
{
	if (t->tls && !t->ready)
		server_tls_count_failed(t->tls);
	if (t->session && t->ready && t->fd >= 0)
		(void)gnutls_bye(t->session, GNUTLS_SHUT_WR);
	if (t->session)
		gnutls_deinit(t->session);
	tls_certificate_unref(t->cert);
	if (t->fd >= 0)
		close(t->fd);
	*t = (struct grpc_transport){.fd = -1};
}

/* What GnuTLS says → what we say. Alerts that are only warnings change nothing. */
static ssize_t result_of(struct grpc_transport *t, ssize_t n)
{
	t->wants_write = false;
	if (n >= 0)
		return n;
	if (n != GNUTLS_E_AGAIN && n != GNUTLS_E_INTERRUPTED && gnutls_error_is_fatal((int)n))
		return -ECONNRESET;
	t->wants_write = gnutls_record_get_direction(t->session) == 1;
	return -EAGAIN;
}

static int shake_hands(struct grpc_transport *t)
{
	ssize_t n = result_of(t, gnutls_handshake(t->session));

	if (n < 0)
		return (int)n;
	t->ready = true;
	return 0;
}

ssize_t grpc_transport_read(struct grpc_transport *t, void *data, size_t len)
{
	ssize_t n;

	if (!t->session) {
		n = recv(t->fd, data, len, 0);
		return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
	}
	n = t->ready ? 0 : shake_hands(t);
	return n < 0 ? n : result_of(t, gnutls_record_recv(t->session, data, len));
}

ssize_t grpc_transport_write(struct grpc_transport *t, const void *data, size_t len)
{
	ssize_t n;

	if (!t->session) {
		n = send(t->fd, data, len, MSG_NOSIGNAL);
		return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
	}
	n = t->ready ? 0 : shake_hands(t);
	return n < 0 ? n : result_of(t, gnutls_record_send(t->session, data, len));
}
