/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The TLS setup of a server: its certificate and key, and the authority of its clients'
 * certificates, read from files, and read again while it runs. TLS 1.2 and 1.3, with ciphers that
 * have forward secrecy and authenticate what they encrypt. Only this folder uses libssl. */

#include <stdbool.h>

#include <parley/status.h>

struct tls_context;

/* Paths of PEM files.  Owns: borrowed for as long as the context lives. */
struct tls_files {
    const char *certificate; /* the server's, followed by those of its intermediate authorities */
    const char *key;         /* the certificate's private key, without a passphrase */
    const char *client_ca;   /* the authorities of clients' certificates; NULL: none is requested */
    bool is_client_optional; /* a client may come without one */
};

enum { TLS_ERROR_MAX = 512 };

/* Reads the files.
 * Returns: PARLEY_E_MEMORY, or PARLEY_E_IO with a sentence in `error` that says how to fix it: a
 * file cannot be read, has the wrong content, or does not belong to the other. */
enum parley_status tls_context_create(const struct tls_files *files, char error[TLS_ERROR_MAX],
                                      struct tls_context **out) PARLEY_MUST_CHECK;
/* Reads the files again: connections from now on use the new content, and cannot resume sessions
 * from before. Open connections keep the old content.
 * Returns: as tls_context_create; on failure the previous content is kept.  Threads: any. */
enum parley_status tls_context_reload(struct tls_context *context,
                                      char error[TLS_ERROR_MAX]) PARLEY_MUST_CHECK;
/* After the last tls_server that uses it. */
void tls_context_destroy(struct tls_context *context);
/* The version of OpenSSL.  Owns: static. */
const char *tls_library_version(void);
