/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parameters of a Content-Type (RFC 9110, section 8.3.1). */

#define MEDIA_TYPE_CHARSET_MAX 41

enum media_type_parameters {
    MEDIA_TYPE_FINE,      /* no charset, or one that is UTF-8 */
    MEDIA_TYPE_CHARSET,   /* another charset: the last one that was read is in `charset` */
    MEDIA_TYPE_MALFORMED, /* not a list of parameters, or with more than one charset */
};

/* Reads the text after the first semicolon of `content_type`.  `charset`: the value without its
 * quotes, cut off at MEDIA_TYPE_CHARSET_MAX - 1 bytes; "" without one. */
enum media_type_parameters media_type_read(const char *content_type,
                                           char charset[MEDIA_TYPE_CHARSET_MAX]);
