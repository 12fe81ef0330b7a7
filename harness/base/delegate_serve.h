/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/delegate_open.h"

/* Serves the confined process's requests through @channel (delegate.h) until it ends or a watched
 * signal arrives. */
void jp_delegate_serve(const struct jp_delegate *delegate, int channel);
