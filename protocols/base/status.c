/* SPDX-License-Identifier: Apache-2.0 */

/* The texts of status.h, from its list. */

#include <parley/status.h>

const char *parley_status_text(enum parley_status status) {
    switch (status) {
#define X(name, text)                                                                              \
    case name:                                                                                     \
        return text;
        PARLEY_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}
