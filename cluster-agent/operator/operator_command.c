#include "cluster-agent/operator/operator_command.h"

#include <errno.h>

#include "cluster-agent/operator/operator.h"
#include "cluster-agent/operator/operator_options.h"
#include "cluster-agent/operator/operator_privileges.h"
#include "cluster-agent/operator/render_command.h"
#include "cluster-agent/operator/spec/coroot_crd.h"
#include "common/limits.h"
#include "version.h"

static int serve(const void *opts, struct err *err)
{
	CLEANUP(operator_freep) struct operator_agent *op = NULL;
	const struct operator_options *o = opts;
	int r = operator_options_check(o, err);

	if (r < 0)
		return r;
	r = operator_privileges_drop(o, err);
	if (r < 0)
		return r;
	r = operator_new(&op, o, err);
	if (r < 0)
		return r;
	return operator_run(op);
}

static int print_crd(char **args, struct err *err)
{
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, MIB);
	if (*args)
		return err_set(err, -EINVAL, "unexpected argument: %s", *args);
	r = coroot_crd_write(&out);
	if (r < 0)
		return err_set(err, r, "cannot make the CustomResourceDefinition");
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return err_set(err, -EIO, "cannot write to standard output");
	return 0;
}

static const struct agent_command commands[] = {
	{.name = "crd",
	 .arguments = "",
	 .help = "print the CustomResourceDefinition of Coroot resources, for kubectl apply",
	 .run = print_crd},
	{.name = "render",
	 .arguments = "FILE",
	 .help = "print the objects that the operator would apply for a Coroot resource in YAML or "
		 "JSON; -: standard input",
	 .run = render_command},
	{0},
};

static struct operator_options options;

const struct agent_program operator_program = {
	.name = "coroot-cluster-agent operator",
	.version = VERSION,
	.commands = commands,
	.options = operator_option_defs,
	.opts = &options,
	.log_level = &options.log_level,
	.serve = serve,
};

const struct agent_command operator_command = {
	.name = "operator",
	.arguments = "[OPTION]...",
	.help = "keep what Coroot resources of a Kubernetes cluster ask for applied",
	.program = &operator_program,
};
