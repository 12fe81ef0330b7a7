/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/machine/machine.h"

/* Instructions that 64-bit and 32-bit code share; as in struct jp_machine_frames. */
bool jp_x86_after_call(const unsigned char *code, uint64_t at);
bool jp_x86_after_direct_call(const unsigned char *code, uint64_t at, int64_t *distance);
bool jp_x86_returns(const unsigned char *code, uint64_t size);
