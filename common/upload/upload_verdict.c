#include "common/upload/upload_verdict.h"

#include <errno.h>

enum upload_verdict upload_verdict(int error, int status)
{
	if (error)
		return UPLOAD_BUSY;
	if (status >= 200 && status < 300)
		return UPLOAD_ACCEPTED;
	if (status == 400 || status == 413 || status == 415 || status == 422)
		return UPLOAD_REFUSED;
	return status == 429 || status >= 500 ? UPLOAD_BUSY : UPLOAD_BLOCKED;
}

bool upload_verdict_may_differ(int error, int status)
{
	if (error)
		return error == -ECONNRESET || error == -ETIMEDOUT || error == -EFBIG ||
		       error == -EIO;
	switch (status) {
	case 401:
	case 403:
	case 429:
	case 502:
	case 503:
		return false;
	default:
		return true;
	}
}

bool upload_verdict_is_in_doubt(int error, int status)
{
	switch (error) {
	case 0:
		return status >= 500 && status != 503;
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EKEYREJECTED:
	case -EMFILE:
	case -ENOMEM:
		return false; /* nothing was sent */
	default:
		return true;
	}
}

static const char *text_of(int error, int status)
{
	if (error)
		return "the receiver does not answer";
	switch (status) {
	case 401:
		return "the API key is refused";
	case 403:
		return "access is forbidden";
	case 404:
		return "the receiver does not know the address";
	case 405:
		return "the receiver takes no uploads at this address";
	case 407:
		return "a proxy wants authentication";
	case 408:
		return "the receiver waited too long for the upload";
	case 410:
		return "the address is gone";
	case 426:
		return "the receiver wants another protocol, as a rule https";
	case 429:
		return "the receiver asks to send less";
	default:
		break;
	}
	if (status >= 300 && status < 400)
		return "the receiver redirects to another address";
	return status >= 500 ? "the receiver fails" : "the receiver does not take uploads";
}

void upload_verdict_reason(int error, int status, char ret[static UPLOAD_REASON_BYTES])
{
	if (error)
		snprintf(ret, UPLOAD_REASON_BYTES, "%s", text_of(error, status));
	else
		snprintf(ret, UPLOAD_REASON_BYTES, "%s (%d)", text_of(error, status), status);
}
