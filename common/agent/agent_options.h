/* Options that several agents have, as entries of their tables; see option_def.h for OPTIONS. */
#ifndef COMMON_AGENT_AGENT_OPTIONS_H
#define COMMON_AGENT_AGENT_OPTIONS_H

#include "common/options/option_def.h"
#include "common/privilege/syscall_filter.h"
#include "common/telemetry/log.h"

/* tls_cert and tls_key; listeners: what uses them */
#define TLS_OPTIONS(listeners)                                                                    \
	{STRING_OPTION("tls-cert", tls_cert), .value = "FILE",                                    \
	 .help = "PEM file of the certificate, with its chain, of " listeners                     \
		 "; read again when it changes; needs --tls-key; unset: plain HTTP"},             \
	{                                                                                         \
		STRING_OPTION("tls-key", tls_key),                                                \
			.value = "FILE",                                                          \
			.help = "PEM file of the private key of --tls-cert, without a passphrase" \
	}

/* seccomp; refused: the rest of the sentence */
#define SECCOMP_OPTION(refused)                                                                  \
	{                                                                                        \
		ENUM_OPTION("seccomp", seccomp), .def = "on",                                    \
						 .choices = syscall_filter_mode_names,           \
						 .help = "refuse system calls that the " refused \
	}

#define LOG_LEVEL_OPTION                                                                         \
	{                                                                                        \
		ENUM_OPTION("log-level", log_level), .def = "info", .choices = log_level_names,  \
						     .help = "least severe level that is logged" \
	}

#endif /* COMMON_AGENT_AGENT_OPTIONS_H */
