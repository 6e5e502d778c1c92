/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The files of web/ that the build puts into the documents for machines. */

#include <parley/bytes.h>

struct parley_bytes contract_schemas(void);      /* schemas.json */
struct parley_bytes contract_components(void);   /* components.json */
struct parley_bytes contract_nats_schemas(void); /* nats_schemas.json */
struct parley_bytes contract_guide(void);        /* llms.txt */
/* rule_examples.tsv, which tests/conformance/rule_examples.mjs writes: rule, protocol, query,
 * message, corrected message; a line each. */
struct parley_bytes contract_rule_examples(void);
