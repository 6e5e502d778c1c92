/* SPDX-License-Identifier: Apache-2.0 */

/* The form of a pointer, which a stored checkpoint has in the place of its data:
 * {"$object":"ada/<UUID>","size":123,"digest":"SHA-256=<base64url>"} (docs/adr/0031). Whether there
 * is such an object is not asked. */

#include <math.h>

#include "supervisor.h"
#include "text.h"

bool supervisor_is_pointer(const struct parley_captures *captures) {
    return captures->values[SUPERVISOR_OBJECT].kind != PARLEY_ABSENT;
}

/* <agent>/<UUID>, or _/<UUID> where the agent is not known. */
static bool is_name(struct parley_bytes text) {
    enum { ID_LENGTH = 36 };
    if (text.length < ID_LENGTH + 2) {
        return false;
    }
    const size_t slash = text.length - ID_LENGTH - 1;
    const struct parley_bytes agent = {text.data, slash};
    const struct parley_bytes id = {text.data + slash + 1, ID_LENGTH};
    return text.data[slash] == '/' && text_is_uuid(id, false) &&
           (text_is_agent(agent) || parley_bytes_equal(agent, PARLEY_BYTES("_")));
}

bool supervisor_pointer_lacks_name(const struct parley_captures *captures) {
    return supervisor_is_pointer(captures) &&
           !is_name(parley_value_text(&captures->values[SUPERVISOR_OBJECT]));
}

bool supervisor_pointer_lacks_size(const struct parley_captures *captures) {
    const struct parley_value *size = &captures->values[SUPERVISOR_OBJECT_SIZE];
    const bool is_size =
        size->kind == PARLEY_NUMBER && size->number >= 1 && size->number == floor(size->number);
    return supervisor_is_pointer(captures) && !is_size;
}

static bool is_base64url(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* As object stores of NATS have it. */
static bool is_digest(struct parley_bytes text) {
    static const struct parley_bytes algorithm = {"SHA-256=", 8};
    enum { DIGITS = 43 }; /* of 32 bytes */
    if (text.length != algorithm.length + DIGITS + 1 ||
        memcmp(text.data, algorithm.data, algorithm.length) != 0) {
        return false;
    }
    size_t at = algorithm.length;
    while (at < text.length && is_base64url(text.data[at])) {
        at++;
    }
    return at == text.length - 1 && text.data[at] == '=';
}

bool supervisor_pointer_lacks_digest(const struct parley_captures *captures) {
    return supervisor_is_pointer(captures) &&
           !is_digest(parley_value_text(&captures->values[SUPERVISOR_OBJECT_DIGEST]));
}

bool supervisor_pointer_has_more(const struct parley_captures *captures) {
    size_t count = 0;
    for (unsigned field = SUPERVISOR_OBJECT; field <= SUPERVISOR_OBJECT_DIGEST; field++) {
        count += captures->values[field].kind != PARLEY_ABSENT;
    }
    return supervisor_is_pointer(captures) && captures->values[SUPERVISOR_DATA].count > count;
}
