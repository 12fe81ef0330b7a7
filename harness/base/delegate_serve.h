/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/delegate_open.h"

/* Serves the requests of the confined process, which come through @channel (delegate.h), until that
 * process ends or a watched signal arrives. */
void jp_delegate_serve(const struct jp_delegate *delegate, int channel);
