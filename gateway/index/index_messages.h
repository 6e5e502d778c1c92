/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The views of the index, for its table. Each appends its whole list. */

#include "index_asking.h"

extern const char *const index_messages_statements[];
enum index_answered index_messages_write(struct index_asking *asking);
/* Whether the parameters other than `q` hold for a message. */
bool index_messages_match(struct index_asking *asking, const struct index_message *message);

extern const char *const index_threads_statements[], *const index_senders_statements[];
enum index_answered index_threads_write(struct index_asking *asking);
enum index_answered index_senders_write(struct index_asking *asking);

extern const char *const index_neighbours_statements[];
enum index_answered index_neighbours_write(struct index_asking *asking);

extern const char *const index_trace_statements[];
enum index_answered index_trace_write(struct index_asking *asking);

extern const char *const index_sessions_statements[];
enum index_answered index_sessions_write(struct index_asking *asking);

extern const char *const index_contexts_statements[];
enum index_answered index_contexts_write(struct index_asking *asking);
/* As index_view.add. */
enum parley_status index_contexts_add(struct parley_message *message, struct parley_buffer *out);

extern const char *const index_evolutions_statements[];
enum index_answered index_evolutions_write(struct index_asking *asking);

extern const char *const index_chain_statements[];
enum index_answered index_chain_write(struct index_asking *asking);

/* The statements of these are index_duties_statements. */
enum index_answered index_items_write(struct index_asking *asking);
enum index_answered index_acks_write(struct index_asking *asking);
enum index_answered index_inbox_write(struct index_asking *asking);
