// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/delegate.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

bool jp_message_send(int channel, const void *bytes, size_t size, int fd)
{
	union control control = {0};
	struct iovec iov = {(void *)bytes, size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t size_or_error;

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(int));
	}
	do
		size_or_error = sendmsg(channel, &message, MSG_NOSIGNAL);
	while (size_or_error < 0 && errno == EINTR);
	return size_or_error == (ssize_t)size;
}

bool jp_message_receive(int channel, void *bytes, size_t size, int *fd)
{
	union control control = {0};
	struct iovec iov = {bytes, size};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head;
	ssize_t size_or_error;

	*fd = -1;
	do
		size_or_error = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
	while (size_or_error < 0 && errno == EINTR);
	head = size_or_error > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(head), sizeof(int));
	if (size_or_error == (ssize_t)size && !(message.msg_flags & MSG_TRUNC))
		return true;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return false;
}

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
