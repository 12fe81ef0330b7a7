/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "validators/jit_order_state.h"

/* Adds the metrics at the end. @change: the effect of inject on names. */
void jp_jit_order_figures(struct jp_jit_order *order, const struct jp_names_change *change);
