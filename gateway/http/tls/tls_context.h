/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a server needs to speak TLS: its certificate and key, and the authority of its clients'
 * certificates, read from files, and read again while it runs. TLS 1.2 and 1.3, with ciphers that
 * have forward secrecy and authenticate what they encrypt. Only this folder knows libssl. */

#include <stdbool.h>

#include <parley/status.h>

struct tls_context;

/* Paths of PEM files.  Owns: borrowed for as long as the context lives. */
struct tls_files {
    const char *certificate; /* the server's, followed by those of its intermediate authorities */
    const char *key;         /* the certificate's private key, without a passphrase */
    const char *client_ca;   /* the authorities of clients' certificates; NULL: none is asked for */
    bool is_client_optional; /* a client may have none */
};

enum { TLS_ERROR_MAX = 512 };

/* Reads the files.
 * Returns: PARLEY_E_MEMORY, or PARLEY_E_IO with a sentence in `error` that says what to do: a file
 * cannot be read, does not hold what it should, or does not belong to the other. */
enum parley_status tls_context_create(const struct tls_files *files, char error[TLS_ERROR_MAX],
                                      struct tls_context **out) PARLEY_MUST_CHECK;
/* Reads the files again: connections from now on use what they hold, and cannot resume sessions
 * from before. Those that are open go on with what they have.
 * Returns: as tls_context_create; what was there before is then kept.  Threads: any. */
enum parley_status tls_context_reload(struct tls_context *context,
                                      char error[TLS_ERROR_MAX]) PARLEY_MUST_CHECK;
/* After the last tls_server that uses it. */
void tls_context_destroy(struct tls_context *context);
/* The version of OpenSSL.  Owns: static. */
const char *tls_library_version(void);
