/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

/* The runtimes that `jitproof trial NAME` can try. Each is a shell script of
 * harness/trace/runtimes/, which the Makefile puts into the binary. */

/* Returns the text of the script @name with the prelude before it, which the caller frees, or NULL
 * if there is no such runtime. */
char *jp_runtime_script(const char *name);
/* Prints the names of all runtimes to @out, one per line. */
void jp_runtimes_print(FILE *out);
