#include "cluster-agent/operator/objects/object_answer.h"

#include <errno.h>

#include "test/lib/unit.h"

static enum object_answer answer(int error, int status, const char *body)
{
	const struct kube_result result = {
		.error = error, .status = status, .body = body, .body_len = strlen(body)};

	return object_answer_read(&result);
}

TEST(answers_are_told_apart)
{
	assert_int_equal(answer(0, 200, ""), OBJECT_ANSWER_OK);
	assert_int_equal(answer(0, 201, ""), OBJECT_ANSWER_OK);
	assert_int_equal(answer(0, 400, ""), OBJECT_ANSWER_REFUSED);
	assert_int_equal(answer(0, 401, ""), OBJECT_ANSWER_FORBIDDEN);
	assert_int_equal(answer(0, 403, ""), OBJECT_ANSWER_FORBIDDEN);
	assert_int_equal(answer(0, 404, ""), OBJECT_ANSWER_NONE);
	assert_int_equal(answer(0, 409, ""), OBJECT_ANSWER_CONFLICT);
	assert_int_equal(answer(0, 422, "no JSON"), OBJECT_ANSWER_REFUSED);
	assert_int_equal(answer(0, 429, ""), OBJECT_ANSWER_BUSY);
	assert_int_equal(answer(0, 500, ""), OBJECT_ANSWER_BUSY);
	assert_int_equal(answer(0, 504, ""), OBJECT_ANSWER_BUSY);
	assert_int_equal(answer(0, 301, ""), OBJECT_ANSWER_REFUSED);
	assert_int_equal(answer(-ETIMEDOUT, 0, ""), OBJECT_ANSWER_UNREACHABLE);
	assert_int_equal(answer(-ECONNREFUSED, 0, ""), OBJECT_ANSWER_UNREACHABLE);
	assert_int_equal(answer(-EACCES, 0, ""), OBJECT_ANSWER_FORBIDDEN);
}

#define SELECTOR                                                                               \
	"{\"reason\":\"FieldValueInvalid\",\"field\":\"spec.selector\",\"message\":\"Invalid " \
	"value: {}: field is immutable\"}"
#define STATEFUL_SET                                                                               \
	"{\"reason\":\"FieldValueForbidden\",\"field\":\"spec\",\"message\":\"Forbidden: updates " \
	"to statefulset spec for fields other than 'replicas', 'template' are forbidden\"}"
#define TOLERATION                                                                        \
	"{\"reason\":\"FieldValueInvalid\",\"field\":\"spec.template.spec.tolerations\"," \
	"\"message\":\"Invalid value: \\\"Foo\\\"\"}"
#define INVALID(causes) "{\"kind\":\"Status\",\"details\":{\"causes\":[" causes "]}}"

TEST(only_immutable_fields_lead_to_a_new_object)
{
	assert_int_equal(answer(0, 422, INVALID(SELECTOR)), OBJECT_ANSWER_IMMUTABLE);
	assert_int_equal(answer(0, 422, INVALID(STATEFUL_SET)), OBJECT_ANSWER_IMMUTABLE);
	assert_int_equal(answer(0, 422, INVALID(STATEFUL_SET "," SELECTOR)),
			 OBJECT_ANSWER_IMMUTABLE);
	/* the new one would be refused as well */
	assert_int_equal(answer(0, 422, INVALID(STATEFUL_SET "," TOLERATION)),
			 OBJECT_ANSWER_REFUSED);
	assert_int_equal(answer(0, 422, INVALID(TOLERATION "," SELECTOR)), OBJECT_ANSWER_REFUSED);
	assert_int_equal(answer(0, 422, INVALID("")), OBJECT_ANSWER_REFUSED);
	assert_int_equal(answer(0, 422, INVALID("7")), OBJECT_ANSWER_REFUSED);
}
