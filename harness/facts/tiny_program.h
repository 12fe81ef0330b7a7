/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/fact.h"

/*
 * Makes programs of one page without libraries, in a memfd. So the records of their exec depend on
 * the kernel alone. The programs have a build id.
 */
/* Makes a program that exits at once. Returns a close-on-exec descriptor, or -1 and notes in
 * @answer what is missing. */
int jp_tiny_make(struct jp_answer *answer);
/* Makes a program that calls brk(0), and brk() with one, two and three pages more. Returns as
 * jp_tiny_make(). */
int jp_tiny_make_brk_caller(struct jp_answer *answer);
/* Ways to execute the program of descriptor @program: jp_tiny_run() by its path in /proc,
 * jp_tiny_run_descriptor() by execveat(). If that fails, they exit. */
typedef void (*jp_tiny_way)(int program);
void jp_tiny_run(int program) __attribute__((noreturn));
void jp_tiny_run_descriptor(int program) __attribute__((noreturn));
/* Forks a child that executes @program by @way, and waits for its end. */
void jp_tiny_run_in_child(struct jp_answer *answer, int program, jp_tiny_way way);
