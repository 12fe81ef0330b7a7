// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "harness/capture/session.h"

/*
 * A process that runs already, or everything that runs. Sideband first, then the list of threads,
 * then the snapshot, then sampling: nothing falls in between.
 */
static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	bool snapshot_first = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--order=snapshot-first") == 0)
			snapshot_first = true;
		else if (strcmp(argv[i], "--order=enable-first") == 0)
			snapshot_first = false;
		else
			return jp_fail(err, EINVAL,
				       "attach: unknown option '%s' (--order=enable-first or "
				       "--order=snapshot-first was expected)",
				       argv[i]);
	}
	return jp_session_attach(session, snapshot_first, true, err);
}

static const struct jp_capture attach = {
	.name = "attach",
	.help = "a process that runs already: [--order=enable-first|snapshot-first]",
	.boundaries = jp_attach_boundaries,
	.begin = begin,
};
JP_REGISTER(capture, attach);
