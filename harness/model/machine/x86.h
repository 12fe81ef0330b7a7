/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/machine/machine.h"

/* Functions of struct jp_machine_frames for instructions that are the same in 64-bit and 32-bit
 * code. */
bool jp_x86_follows_call(const unsigned char *code, uint64_t offset);
bool jp_x86_follows_direct_call(const unsigned char *code, uint64_t offset, int64_t *distance);
bool jp_x86_returns(const unsigned char *code, uint64_t size);
