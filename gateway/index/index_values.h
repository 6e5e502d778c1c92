/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The values of parameters of views. */

#include "index_view.h"

/* Sets the parameter of a question that may be asked later; `value`, which asked->values has, too,
 * is that of any but INDEX_WAIT.  Owns: borrows value.  Returns: whether it can have this value. */
bool index_value_set(struct index_question *asked, enum index_option option, const char *value);
