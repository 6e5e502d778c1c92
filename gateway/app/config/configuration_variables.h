/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options in the environment.  Within gateway/config. */

#include "loading.h"

/* Takes the variables of options that no flag has given. */
void configuration_read_variables(struct loading *loading);

/* Reports variables PARLEY_… that belong to no option: one that resembles an option's is a fault,
 * of others, such as PARLEY_PORT=9000, there is a warning on standard error. */
void configuration_judge_variables(struct loading *loading);
