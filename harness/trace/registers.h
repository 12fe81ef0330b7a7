/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/model/machine/machine.h"

/* What single steps need of an architecture; one file for each. */

/* Reads the registers of the stopped thread @tid. Returns false if it is gone, in a system call, or
 * runs code of another machine, such as 32-bit code. */
bool jp_registers_read(pid_t tid, struct jp_regs *regs);
/* Returns whether the @size bytes of @code begin with a system call that may wait, or change
 * mappings or files, for a thread with @regs. */
bool jp_registers_at_system_call(const struct jp_regs *regs, const unsigned char *code,
				 uint64_t size);
