/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/model/machine/machine.h"

/* Access to registers for single-stepping; each architecture implements it in its own file. */

/* Reads the registers of the stopped thread @tid. Returns false if the thread is gone, is in a
 * system call, or runs code of another machine, such as 32-bit code. */
bool jp_registers_read(pid_t tid, struct jp_regs *regs);
/* Returns whether the code @code, of @size bytes, begins with an instruction that must not be
 * stepped: a system call that may block, or change mappings or files, given the arguments in @regs;
 * or one that stores or loads the flag by which the CPU steps. */
bool jp_registers_ends_burst(const struct jp_regs *regs, const unsigned char *code, uint64_t size);
