// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/delegate.h"

#include <errno.h>
#include <string.h>

#include "harness/base/message.h"

static int to_parent = -1;

bool jp_is_confined(void)
{
	return to_parent >= 0;
}

void jp_delegate_begin(int channel)
{
	to_parent = channel;
}

int jp_delegate_ask(enum jp_delegated kind, const char *path, struct jp_error *err)
{
	struct jp_delegate_request request = {.kind = kind};
	struct jp_delegate_answer answer = {0};
	size_t length = strlen(path);
	int fd = -1;

	if (to_parent < 0)
		return -ENOTSUP;
	if (length >= sizeof(request.path))
		return jp_fail(err, ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	memcpy(request.path, path, length + 1);
	if (!jp_message_send(to_parent, &request, sizeof(request), -1) ||
	    !jp_message_receive(to_parent, &answer, sizeof(answer), &fd))
		return jp_fail(err, EPIPE, "%s: the process that opens files has exited", path);
	if (answer.result)
		return jp_fail(err, -answer.result, "%s", answer.err.text);
	return fd < 0 ? 0 : fd;
}
