/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a client does with the fixes of a verdict, on jansson's trees. */

#include <jansson.h>

#include <parley/bytes.h>

/* Applies a JSON Patch: what RFC 6902 says of the three operations that fixes have. */
void json_patch_apply(json_t *tree, const json_t *patch);

/* Applies the `edit` of a fix to a text.  Owns: returns a new one, which ends with a NUL. */
char *json_patch_edit(struct parley_bytes text, const json_t *edit);

/* The same for the text that is the value at `path` of `tree`. */
void json_patch_edit_member(json_t *tree, const char *path, const json_t *edit);

/* The value at a JSON Pointer, borrowed; NULL: there is none. */
json_t *json_patch_at(json_t *tree, const char *pointer);
