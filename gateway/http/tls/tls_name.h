/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The name by which a client's certificate is known. */

#include <parley/status.h>

enum { TLS_NAME_MAX = 256 };

struct x509_st;

/* The first URI of the certificate's alternative names as "uri:…", else its first DNS name as
 * "dns:…", else its first address of mail as "email:…"; where it has no alternative names, its
 * subject's one common name as "cn:…". The kind is part of the name, so that one kind cannot pass
 * for another. "" where there is no name, or where it is longer than TLS_NAME_MAX or has anything
 * but visible ASCII: such a certificate is verified, but has no name. */
void tls_name_read(const struct x509_st *certificate, char out[TLS_NAME_MAX]);
