/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/delegate_open.h"

/* Does what the confined process asks for through @channel (delegate.h), until that has ended,
 * or a signal came that we watch. */
void jp_delegate_serve(const struct jp_delegate *delegate, int channel);
