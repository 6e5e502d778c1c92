/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Failures of parley itself. A message that breaks a rule is not a failure: it is a finding
 * (findings.h). A broken contract inside the program is an assert. */

#define PARLEY_STATUS_LIST(X)                                                                      \
    X(PARLEY_OK, "ok")                                                                             \
    X(PARLEY_E_MEMORY, "out of memory")                                                            \
    X(PARLEY_E_LIMIT, "a limit of this message was reached")                                       \
    X(PARLEY_E_UNSUPPORTED, "the protocol does not know this encoding")                            \
    X(PARLEY_E_IO, "reading or writing failed")

enum parley_status {
#define X(name, text) name,
    PARLEY_STATUS_LIST(X)
#undef X
};

#define PARLEY_MUST_CHECK __attribute__((warn_unused_result))

/* A short English text, never NULL.  Threads: any. */
const char *parley_status_text(enum parley_status status);

/* Returns a failure to the caller: the only macro of this project that hides a return. */
#define PARLEY_TRY(expression)                                                                     \
    do {                                                                                           \
        enum parley_status parley_try_status = (expression);                                       \
        if (parley_try_status != PARLEY_OK) {                                                      \
            return parley_try_status;                                                              \
        }                                                                                          \
    } while (0)
