// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/session.h"

int jp_session_reach_boundary(struct jp_session *session, const char *boundary,
			      struct jp_error *err)
{
	struct jp_target *target = session->target;

	return target->boundary ? target->boundary(target->context, boundary, err) : 0;
}
