/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Adds findings to a message and gives them their places (see parley/findings.h). */

#include <parley/message.h>

/* Fills `at` of all findings that have none from their offsets. */
enum parley_status findings_locate(struct parley_message *message) PARLEY_MUST_CHECK;

/* Adds a finding.  Owns: path, text and hint are borrowed, and live as long as the message.
 * Returns: PARLEY_E_MEMORY; findings beyond the limit are counted, not kept. */
enum parley_status findings_add(struct parley_message *message,
                                struct parley_finding finding) PARLEY_MUST_CHECK;

/* For parley_protocol.inspect: reports that row `rule` of the table is broken. `finding`: path,
 * message, offset or at, body_at; hint NULL: the rule's.  Owns: as findings_add. */
enum parley_status findings_report(struct parley_message *message, unsigned rule,
                                   struct parley_finding finding) PARLEY_MUST_CHECK;

/* For decoders: reading stopped, for the rule `rule`, as `finding` says (path, message, offset;
 * hint NULL: the rule's).  Owns: as findings_add. */
enum parley_status findings_refuse(struct parley_message *message, enum parley_gateway_rule rule,
                                   struct parley_finding finding) PARLEY_MUST_CHECK;

/* Once all are added: puts them into the order of the rule table, and sets has_error. */
void findings_settle(struct parley_message *message);

/* Whether a finding of this severity would be kept: of too many those are kept that make the
 * message invalid. If not, its texts need not be written: findings_add only counts it. */
bool findings_has_room(const struct parley_findings *findings, enum parley_severity severity);

/* A finding whose texts found no memory, or no room in the message's arena: then it is counted. A
 * sender whose keys are very long gets fewer findings, but no failure of parley's.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status findings_do_without(struct parley_message *message,
                                       const struct parley_finding *finding) PARLEY_MUST_CHECK;
