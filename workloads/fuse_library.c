// SPDX-License-Identifier: GPL-2.0-only
/* A library in a FUSE file system in a mount namespace of its own, like the images of rootless
 * containers. The mount belongs to a user, and the kernel denies access to all other users, even to
 * root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workloads/emit/folder.h"
#include "workloads/emit/object.h"
#include "workloads/emit/process.h"
#include "workloads/emit/program.h"
#include "workloads/emit/thread.h"
#include "workloads/emit/workload.h"

enum { BLOCK = 128 << 10, ROOM = BLOCK + 4096, NODE = 2, OTHER_USER = 65534, TICK_MS = 100 };
static const char name_of_file[] = "library.so";

static struct {
	struct jp_object object;
	char mount[JP_FOLDER_PATH];
	int fd;   /* connection to the kernel, /dev/fuse */
	int file; /* the served library */
	uid_t user;
	atomic_int ended;
} scene = {.fd = -1, .file = -1};

static void send_answer(const struct fuse_in_header *request, int error, const void *data,
			size_t size)
{
	static char out[ROOM];
	struct fuse_out_header header = {
		.len = sizeof(header) + size, .error = error, .unique = request->unique};

	memcpy(out, &header, sizeof(header));
	if (size)
		memcpy(out + sizeof(header), data, size);
	/* ENOENT: the process that sent the request may have given up. */
	if (write(scene.fd, out, header.len) < 0 && errno != ENOENT && errno != ENODEV)
		perror("jitproof workload fuse_library: answer");
}

static struct fuse_attr get_attributes(uint64_t node)
{
	struct fuse_attr attr = {.ino = node,
				 .nlink = 1,
				 .uid = scene.user,
				 .gid = scene.user,
				 .blksize = 4096,
				 .mode = node == NODE ? S_IFREG | 0755 : S_IFDIR | 0755};
	struct stat st;

	if (node == NODE && !fstat(scene.file, &st)) {
		attr.size = st.st_size;
		attr.blocks = (st.st_size + 511) / 512;
	}
	return attr;
}

static void answer_lookup(const struct fuse_in_header *request, const char *name)
{
	const struct fuse_entry_out entry = {.nodeid = NODE,
					     .entry_valid = 3600,
					     .attr_valid = 3600,
					     .attr = get_attributes(NODE)};

	if (request->nodeid == FUSE_ROOT_ID && !strcmp(name, name_of_file))
		send_answer(request, 0, &entry, sizeof(entry));
	else
		send_answer(request, -ENOENT, NULL, 0);
}

static void answer_read(const struct fuse_in_header *request, const struct fuse_read_in *in)
{
	static char block[BLOCK];
	ssize_t nr_read = pread(scene.file, block, in->size < BLOCK ? in->size : BLOCK, in->offset);

	send_answer(request, nr_read < 0 ? -errno : 0, block, nr_read < 0 ? 0 : nr_read);
}

static void answer_request(const struct fuse_in_header *request)
{
	const void *argument = request + 1;
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = FUSE_KERNEL_MINOR_VERSION,
					   .max_readahead = BLOCK,
					   .max_write = 4096,
					   .max_background = 8,
					   .congestion_threshold = 8};
	const struct fuse_attr_out attr = {.attr_valid = 3600,
					   .attr = get_attributes(request->nodeid)};
	const struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};

	switch (request->opcode) {
	case FUSE_INIT:
		send_answer(request, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer_lookup(request, argument);
		break;
	case FUSE_GETATTR:
		send_answer(request, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		send_answer(request, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(request, argument);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		send_answer(request, 0, NULL, 0);
		break;
	case FUSE_FORGET: /* these requests expect no answer */
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		send_answer(request, -ENOSYS, NULL, 0);
	}
}

/* Serves requests until the last mount is gone or run_child() stops it. */
static void *serve_requests(void *context)
{
	static char request[ROOM];

	while (!atomic_load(&scene.ended)) {
		struct pollfd ready = {.fd = scene.fd, .events = POLLIN};
		ssize_t nr_read;

		if (poll(&ready, 1, TICK_MS) <= 0)
			continue;
		nr_read = read(scene.fd, request, sizeof(request));
		if (nr_read >= (ssize_t)sizeof(struct fuse_in_header))
			answer_request((const struct fuse_in_header *)request);
		/* ENOENT: the reader gave up; EPERM: not mounted yet. */
		else if (nr_read < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT &&
			 errno != EPERM)
			break;
	}
	return NULL;
}

/* Becomes @user but keeps root's capabilities: the file system checks the user, and all other
 * checks use capabilities. Returns 0 or -errno. */
static int become_user(uid_t user)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (!user)
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1) || setresgid(user, user, user) ||
	    setresuid(user, user, user) || syscall(SYS_capget, &header, data))
		return -errno;
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int mount_image(void)
{
	char options[128];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", scene.fd,
		 scene.user, scene.user);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("images", scene.mount, "fuse", MS_NOSUID | MS_NODEV, options))
		return -errno;
	return 0;
}

/* Runs the process that mounts and uses the library. */
static int use_library(void *context)
{
	struct jp_plan plan = JP_PLAN(.protect = JP_PROTECT_FLIP);
	struct jp_program program;
	struct jp_loaded loaded;
	char path[4200];
	int ret = mount_image();

	snprintf(path, sizeof(path), "%s/%s", scene.mount, name_of_file);
	if (!ret)
		ret = become_user(scene.user)
			      ?: jp_object_load(&scene.object, path, 0, &loaded)
			      ?: jp_program_make(&program, &plan)
			      ?: jp_path_run_thread(loaded.paths, JP_OBJECT_PATHS)
			      ?: jp_path_run_thread(program.paths, program.nr_paths);
	return jp_path_serve_handshake("fuse_library: inside", ret, NULL, NULL);
}

/* Tries to mount a FUSE file system, in a process of its own. Returns errno as exit status. */
static int try_mount(void *context)
{
	return -mount_image();
}

static int prepare(void)
{
	char path[JP_FOLDER_PATH];
	int ret = jp_folder_path(path, "served")
			  ?: jp_folder_path(scene.mount, "image")
			  ?: jp_object_write(&scene.object, path, 0, NULL);

	if (ret)
		return ret;
	scene.file = open(path, O_RDONLY | O_CLOEXEC);
	if (scene.file < 0 || mkdir(scene.mount, 0755))
		return -errno;
	return 0;
}

/* Returns the feature that the machine lacks, or NULL. Opens scene.fd. */
static const char *find_missing_feature(void)
{
	struct jp_fork fork = {.namespaces = CLONE_NEWNS};
	struct jp_child process;
	static char reason[128];
	int ret;

	scene.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	ret = scene.fd < 0 ? errno : -jp_process_fork(&process, &fork, try_mount, NULL);
	if (!ret)
		ret = jp_process_reap(&process);
	if (scene.fd >= 0)
		close(scene.fd);
	/* The end of the tried mount also ended its connection. */
	scene.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (!ret)
		return NULL;
	snprintf(reason, sizeof(reason), "/dev/fuse, or a FUSE mount in a mount namespace: %s",
		 strerror(ret));
	return reason;
}

static int run_child(void)
{
	struct jp_fork fork = {.namespaces = CLONE_NEWNS};
	struct jp_child process = {0};
	pthread_t server;
	int ret = jp_process_fork(&process, &fork, use_library, NULL)
			  ?: jp_thread_make(&server, serve_requests, NULL);

	if (ret)
		return ret;
	ret = jp_process_wait_ready(&process);
	if (!ret)
		jp_handshake(NULL, NULL);
	ret = jp_process_stop(&process) ?: ret;
	atomic_store(&scene.ended, 1);
	jp_thread_join(server, NULL);
	return ret;
}

static bool by_other_user;

static int run(int argc, char **argv)
{
	const char *reason;
	int ret;

	if (by_other_user)
		scene.user = OTHER_USER;
	ret = prepare();
	reason = ret ? NULL : find_missing_feature();
	if (!ret && !reason)
		ret = run_child();
	jp_folder_remove();
	if (reason)
		return jp_handshake_skip(reason);
	return jp_handshake_status(argv[0], ret);
}

static const struct jp_option options[] = {
	{"--user", .set = &by_other_user, .words = (const char *const[]){"other", NULL},
	 .help = "the mount belongs to another user, which excludes root"},
	{0}};

JP_DEFINE(workload, fuse_library) = {
	.name = "fuse_library",
	.help = "a library in a FUSE file system that only its process sees",
	.options = options,
	.run = run,
};
