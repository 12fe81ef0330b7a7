// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/delegate_serve.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/delegate.h"
#include "harness/base/interrupt.h"
#include "harness/base/message.h"
#include "harness/base/new_file.h"
#include "harness/base/output_folder.h"

static int handle_request(const struct jp_delegate *delegate, enum jp_delegated kind,
			  const char *path, struct jp_error *err)
{
	switch (kind) {
	case JP_DELEGATED_INPUT:
		return jp_delegate_input(delegate, path, err);
	case JP_DELEGATED_FILE:
		return jp_delegate_file(delegate, path, err);
	case JP_DELEGATED_FOLDER:
		return jp_delegate_folder(delegate, path, err);
	case JP_DELEGATED_ROOT:
		return jp_delegate_root(delegate, path, err);
	case JP_DELEGATED_KEEP:
		return jp_new_file_publish_path(path, err);
	case JP_DELEGATED_CREATE:
		return jp_output_folder_create(path, err);
	case JP_DELEGATED_PUBLISH:
		return jp_output_folder_publish(path, err);
	case JP_DELEGATED_EXISTING:
		return jp_output_folder_existing(path, err);
	}
	return jp_fail(err, EINVAL, "no such request");
}

/* Returns whether a message arrives before a watched signal. */
static bool wait_for_request(int channel)
{
	struct pollfd polled[] = {{.fd = channel, .events = POLLIN},
				  {.fd = jp_interrupt_fd(), .events = POLLIN}};
	int ready;

	do
		ready = poll(polled, 2, -1);
	while (ready < 0 && errno == EINTR);
	return ready > 0 && !polled[1].revents;
}

void jp_delegate_serve(const struct jp_delegate *delegate, int channel)
{
	static struct jp_delegate_request request;
	static struct jp_delegate_answer answer;
	int fd;

	while (wait_for_request(channel) &&
	       jp_message_receive(channel, &request, sizeof(request), &fd)) {
		int ret;

		if (fd >= 0)
			close(fd);
		memset(&answer, 0, sizeof(answer));
		request.path[sizeof(request.path) - 1] = '\0';
		ret = handle_request(delegate, request.kind, request.path, &answer.err);
		answer.result = ret < 0 ? ret : 0;
		fd = ret > 0 ? ret : -1;
		jp_message_send(channel, &answer, sizeof(answer), fd);
		if (fd >= 0)
			close(fd);
	}
}
