/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "validators/jit_order_state.h"

/* Adds contradictions between the jitdumps and the truth. Returns 0 or -ENOMEM. */
int jp_jit_order_dumps(struct jp_jit_order *order);
