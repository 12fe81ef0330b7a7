// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/trusted_path.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/maps.h"
#include "workloads/emit/process.h"

static struct {
	int ctl, ack; /* @ctl 0: not open */
} gate;

static int report_failure(const char *operation, const char *reason)
{
	fprintf(stderr, "jitproof workload: gate: %s: %s\n", operation, reason);
	return -EPROTO;
}

/* Opens the FIFO @path. Follows no symbolic link: a link that another user made could lead us to
 * write to our own files, or to trust that user's text. */
static int open_fifo(const char *path, int flags)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	jp_cleanup_close int folder = jp_open_named_folder(path, (size_t)(name - path)), fd = -1;
	struct stat st;

	if (folder < 0)
		return report_failure(path, strerror(-folder));
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return report_failure(path, strerror(errno));
	if (S_ISFIFO(st.st_mode)) {
		fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st))
			return report_failure(path, strerror(errno));
	}
	/* Check again after the open: the file may have been replaced. */
	return S_ISFIFO(st.st_mode) ? jp_steal_fd(&fd) : report_failure(path, "expected a FIFO");
}

int jp_gate_open(const char *place_text)
{
	char ctl[PATH_MAX], ack[PATH_MAX];

	if (!place_text)
		place_text = getenv("JITPROOF_GATE");
	if (!place_text || !*place_text)
		return 0;
	snprintf(ctl, sizeof(ctl), "%s.ctl", place_text);
	snprintf(ack, sizeof(ack), "%s.ack", place_text);
	/* open() waits until the other end is open. A gatekeeper keeps both FIFOs open. */
	gate.ctl = open_fifo(ctl, O_WRONLY);
	if (gate.ctl < 0)
		return gate.ctl;
	gate.ack = open_fifo(ack, O_RDONLY);
	return gate.ack < 0 ? gate.ack : 0;
}

static int send_request(const char *mark, const char *request)
{
	uint64_t before = jp_clock_now();
	char answer[256];
	int ret;

	if (!gate.ctl)
		return 0;
	/* A pipe accepts a line of this length in one piece. */
	if (dprintf(gate.ctl, "%s\n", request) < 0)
		return report_failure(request, strerror(errno));
	ret = jp_process_read_line(gate.ack, answer, sizeof(answer));
	if (ret)
		return report_failure("no answer",
				      ret == -EPIPE ? "the gatekeeper is gone" : strerror(-ret));
	if (strcmp(answer, "ok"))
		return report_failure(request, answer);
	jp_truth_mark(before, jp_clock_now(), mark, 0);
	return 0;
}

int jp_gate_announce(void)
{
	char request[32];

	snprintf(request, sizeof(request), "announce %d", getpid());
	return send_request("gate.announce", request);
}

int jp_gate_start(void)
{
	int ret = send_request("gate.start", "start");

	jp_maps_record_all();
	return ret;
}

int jp_gate_stop(void)
{
	jp_maps_record_all();
	return send_request("gate.stop", "stop");
}
