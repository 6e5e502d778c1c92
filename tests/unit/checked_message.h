/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A message that was read from JSON and is valid. */

#include <parley/message.h>

struct checked_message {
    struct parley_schema *schema;
    struct parley_message message;
};

/* Fails the test if the text is not a valid message of the protocol. */
void checked_message_make(struct checked_message *checked, const char *protocol, const char *text);
void checked_message_finish(struct checked_message *checked);
