/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the holder of a task said of its progress last: the key `<id>.progress`, which is
 * overwritten and decides nothing. Its value is {"stream","seq","percent","message","at"}, and any
 * client that can write to the bucket may have written it. */

#include "roundtable.h"

/* What a valid task.progress of the holder of task `id` leaves.  Returns: PARLEY_E_MEMORY. */
enum parley_status roundtable_progress_note(struct parley_message *message, struct parley_bytes id,
                                            struct parley_decision *out) PARLEY_MUST_CHECK;

/* As parley_task_kind.note_suffix and .write_note. */
#define ROUNDTABLE_PROGRESS_TOKEN "progress"
#define ROUNDTABLE_PROGRESS_SUFFIX "." ROUNDTABLE_PROGRESS_TOKEN
enum parley_status roundtable_progress_write(struct parley_bytes value, struct parley_arena *arena,
                                             struct parley_buffer *out) PARLEY_MUST_CHECK;
