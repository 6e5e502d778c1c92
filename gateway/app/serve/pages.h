/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The files of web/, which the build puts into the program. */

#include <parley/bytes.h>

struct parley_bytes page_index(void);  /* index.html */
struct parley_bytes page_script(void); /* page.js */
struct parley_bytes page_style(void);  /* page.css */
