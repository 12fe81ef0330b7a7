// SPDX-License-Identifier: GPL-2.0-only
/* Messages between a workload and the processes that it created. */
#include "workloads/emit/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads/emit/workload.h"

int jp_process_read_line(int fd, char *line, size_t size)
{
	size_t length = 0;
	char byte;

	for (;;) {
		ssize_t nr_read = read(fd, &byte, 1);

		if (nr_read < 0 && errno == EINTR)
			continue;
		if (nr_read <= 0)
			return nr_read ? -errno : -EPIPE;
		if (byte == '\n')
			break;
		if (length + 1 < size)
			line[length++] = byte;
	}
	line[length] = '\0';
	return 0;
}

int jp_process_wait_ready(struct jp_child *process)
{
	char line[256];
	int ret = jp_process_read_line(process->message_pipe, line, sizeof(line));

	if (ret)
		return ret;
	if (!strncmp(line, "ready ", 6))
		return 0;
	if (!strncmp(line, "skip ", 5) && jp_handshake_skip_denied())
		exit(EXIT_SUCCESS);
	fprintf(stderr, "jitproof workload: a child sent '%s'; expected 'ready PID'\n", line);
	return -EPROTO;
}

int jp_process_step(struct jp_child *process, const char *command)
{
	char line[256];
	int ret;

	if (dprintf(process->control, "step %s\n", command) < 0)
		return -EPIPE;
	ret = jp_process_read_line(process->message_pipe, line, sizeof(line));
	if (ret)
		return ret;
	if (!strncmp(line, "done ", 5))
		return 0;
	fprintf(stderr, "jitproof workload: step '%s': a child sent '%s'\n", command, line);
	return -EPROTO;
}
