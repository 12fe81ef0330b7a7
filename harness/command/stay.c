// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/stay.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/base/exits.h"
#include "harness/base/message.h"
#include "harness/base/survivor.h"
#include "harness/command/command_line.h"

enum { MOST = 4 }; /* temporary folders of a command */

struct stay_answer {
	int result;
	struct jp_run_dir dir;
	struct jp_error err;
};

/* The child's channel to the process that stays. */
static int channel = -1;

/* Makes temporary folders on request of the child, so that this process knows all of them even if
 * the child is killed; removes them after its end. Returns the exit status. */
static int serve_folders(const char *command, int end)
{
	static struct jp_run_dir dirs[MOST];
	static struct stay_answer answer;
	size_t count = 0;
	int waited, none;
	char request;

	while (jp_message_receive(end, &request, sizeof(request), &none)) {
		answer = (struct stay_answer){.result = -ENOSPC, .err = {"too many folders"}};
		if (count < MOST)
			answer.result = jp_run_dir_make(&answer.dir, NULL, &answer.err);
		if (!answer.result)
			dirs[count++] = answer.dir;
		jp_message_send(end, &answer, sizeof(answer), -1);
	}
	close(end);
	waited = jp_survivor_wait();
	while (count)
		jp_run_dir_remove(dirs[--count].path);
	return jp_survivor_status(command, waited);
}

bool jp_stay_behind(const char *command, int *status)
{
	struct jp_error err;
	int end;
	const pid_t pid = jp_survivor_fork(&end, &err);

	*status = JP_EXIT_BROKEN;
	if (pid < 0)
		jp_command_broken(command, &err);
	else if (pid > 0)
		*status = serve_folders(command, end);
	else
		channel = end;
	return pid;
}

int jp_stay_folder(struct jp_run_dir *dir, const char *path, struct jp_error *err)
{
	static struct stay_answer answer;
	char request = 0;
	int none;

	if (path)
		return jp_run_dir_make(dir, path, err);
	if (!jp_message_send(channel, &request, sizeof(request), -1) ||
	    !jp_message_receive(channel, &answer, sizeof(answer), &none))
		return jp_fail(err, EPIPE, "the process that removes temporary folders has ended");
	if (answer.result)
		return jp_fail(err, -answer.result, "%s", answer.err.text);
	*dir = answer.dir;
	return 0;
}
