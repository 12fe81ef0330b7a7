/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/facts/fact.h"

/*
 * A program of one page that is linked with nothing, in a memfd: what its exec leaves in a ring
 * depends on the kernel alone. It has a build id.
 */
/* It ends at once. A descriptor that an exec closes; -1: the answer says what is missing. */
int jp_tiny_make(struct jp_answer *answer);
/* It calls brk(0), and brk() with one, two and three pages more. */
int jp_tiny_make_brk(struct jp_answer *answer);
/* Executes it by its path in /proc, or by the descriptor; exits where that fails. */
typedef void (*jp_tiny_way)(int program);
void jp_tiny_run(int program) __attribute__((noreturn));
void jp_tiny_run_descriptor(int program) __attribute__((noreturn));
/* A child executes it by @way, which does not return. */
void jp_tiny_in_child(struct jp_answer *answer, int program, jp_tiny_way way);
