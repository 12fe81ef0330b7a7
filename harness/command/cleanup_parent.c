// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/cleanup_parent.h"

#include <errno.h>
#include <unistd.h>

#include "harness/base/exits.h"
#include "harness/base/delegate.h"
#include "harness/base/survivor.h"
#include "harness/command/command_line.h"

/* Most temporary folders of a command: the messages about them must fit into the socket's buffer.
 */
enum { MOST = 4 };

/* The child's socket for messages to the parent. */
static int channel = -1;

/* Waits until the child ends, even by SIGKILL, and removes the temporary folders whose names the
 * child sent. Returns the exit status. */
static int remove_folders(const char *command, int end)
{
	static struct jp_run_dir dir;
	const int waited = jp_survivor_wait();
	int no_fd;

	while (jp_message_receive(end, &dir, sizeof(dir), &no_fd))
		jp_run_dir_remove(dir.path);
	close(end);
	return jp_survivor_status(command, waited);
}

bool jp_fork_and_clean_up(const char *command, int *status)
{
	struct jp_error err;
	int end;
	const pid_t pid = jp_survivor_fork(&end, &err);

	*status = JP_EXIT_BROKEN;
	if (pid < 0)
		jp_command_fail(command, &err);
	else if (pid > 0)
		*status = remove_folders(command, end);
	else
		channel = end;
	return pid;
}

/* Runs in the child, which can remove the folder even if SIGKILL ends the parent. */
int jp_make_removable_folder(struct jp_run_dir *dir, const char *path, struct jp_error *err)
{
	static int nr_made;
	int ret = !path && nr_made == MOST ? jp_fail(err, ENOSPC, "too many folders")
					   : jp_run_dir_make(dir, path, err);

	if (ret || path)
		return ret;
	nr_made++;
	if (jp_message_send(channel, dir, sizeof(*dir), -1))
		return 0;
	jp_run_dir_remove(dir->path);
	return jp_fail(err, EPIPE, "the process that removes temporary folders was killed");
}
