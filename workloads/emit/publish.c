// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/excuse.h"
#include "workloads/emit/publish.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "harness/base/printable.h"
#include "harness/base/registry.h"
#include "workloads/emit/workload.h"

enum { MOST = 4 };

static struct writer {
	const struct jp_publisher *publisher;
	const char *fault;
} writers[MOST];
static unsigned nr_writers, extras;
static const char *folder, *chosen, *for_children;
/* Held while a record is written, so that records are in the order of their times. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static void lock_writers(void)
{
	pthread_mutex_lock(&writing);
}

static void unlock_writers(void)
{
	pthread_mutex_unlock(&writing);
}

/* Returns the index, starting with 1, of @word (of @length bytes) in @words, a list separated by
 * blanks; 0: not found. */
static unsigned find_word(const char *words, const char *word, size_t length)
{
	for (unsigned place = 1; words && *words; place++) {
		size_t step = strcspn(words, " ");

		if (step == length && !strncmp(words, word, length))
			return place;
		words += step + strspn(words + step, " ");
	}
	return 0;
}

unsigned jp_publish_fault(const char *faults, const char *fault)
{
	return fault ? find_word(faults, fault, strlen(fault)) : 0;
}

static const char *const extra_names[] = {"debug", "debug-short", "unwinding", "unwinding-apart"};

void jp_publish_print_extras(FILE *out)
{
	for (size_t i = 0; i < sizeof(extra_names) / sizeof(extra_names[0]); i++)
		fprintf(out, "%s\n", extra_names[i]);
}

int jp_publish_select_extras(const char *list)
{
	const unsigned count = sizeof(extra_names) / sizeof(extra_names[0]);

	extras = 0;
	do {
		size_t length = strcspn(list, ",");
		unsigned i = 0;

		while (i < count &&
		       (strlen(extra_names[i]) != length || strncmp(extra_names[i], list, length)))
			i++;
		if (i == count) {
			fprintf(stderr,
				"jitproof workload: publish with '%s': expected debug, "
				"debug-short, unwinding, unwinding-apart, with commas\n",
				list);
			return -EINVAL;
		}
		extras |= 1 << i;
		list += length;
	} while (*list++);
	return 0;
}

unsigned jp_publish_extras(void)
{
	return nr_writers ? extras : 0;
}

/* Stores in @parsed the publishers that @publishers names. A publisher gets the fault that
 * @publishers names if it can make this fault. Returns the number of publishers, or -EINVAL. */
static int parse_publishers(const char *publishers, struct writer parsed[MOST])
{
	size_t length = strcspn(publishers, ":");
	const char *fault = publishers[length] ? publishers + length + 1 : NULL;
	const struct jp_publisher *publisher = NULL;
	bool has_both = length == 4 && !strncmp(publishers, "both", 4);
	bool is_none = length == 4 && !strncmp(publishers, "none", 4), is_faulty = false;
	int count = 0;

	while (!is_none && (publisher = jp_registry_next(JP_PUBLISHER, publisher))) {
		bool has_fault = jp_publish_fault(publisher->faults, fault) > 0;

		if (count == MOST || (!has_both && !find_word(publisher->name, publishers, length)))
			continue;
		parsed[count].publisher = publisher;
		parsed[count++].fault = has_fault ? fault : NULL;
		is_faulty |= has_fault;
	}
	return (count || is_none) && (!fault || is_faulty) ? count : -EINVAL;
}

bool jp_publish_is_valid(const char *publishers, char *names, size_t size)
{
	const struct jp_publisher *publisher = NULL;
	struct writer parsed[MOST];
	size_t length = (size_t)snprintf(names, size, "none");

	while (length < size && (publisher = jp_registry_next(JP_PUBLISHER, publisher)))
		length += (size_t)snprintf(names + length, size - length, ", %s", publisher->name);
	if (length < size)
		snprintf(names + length, size - length, " or both");
	return parse_publishers(publishers, parsed) >= 0;
}

static int open_writers(void)
{
	int ret = 0;

	for (unsigned i = 0; i < nr_writers && !ret; i++)
		ret = writers[i].publisher->open(folder, writers[i].fault);
	return ret;
}

int jp_publish_begin(const char *publishers, const char *dir)
{
	static bool watching_forks;
	int ret = parse_publishers(publishers, writers);

	nr_writers = ret < 0 ? 0 : (unsigned)ret;
	if (ret < 0) {
		fputs("jitproof workload: publish '", stderr);
		jp_printable_put(stderr, publishers);
		fputs("': expected none, both or a publisher that --help lists, with one of its "
		      "faults\n",
		      stderr);
		return ret;
	}
	ret = 0;
	if (nr_writers && !watching_forks) {
		/* Without these handlers, a fork while another thread writes would leave the lock
		 * held in the child, without an owner. */
		ret = -pthread_atfork(lock_writers, unlock_writers, unlock_writers);
		watching_forks = !ret;
	}
	folder = dir;
	chosen = nr_writers ? publishers : NULL;
	return ret ?: open_writers();
}

int jp_publish_forked(void)
{
	return for_children ? jp_publish_begin(for_children, folder) : open_writers();
}

void jp_publish_children(const char *publishers)
{
	for_children = publishers;
}

const char *jp_publish_get_choice(void)
{
	return for_children ? for_children : chosen;
}

const char *jp_publish_dir(void)
{
	return folder;
}

int jp_publish_load(const struct jp_published *code)
{
	int ret = 0;

	if (!nr_writers)
		return 0;
	lock_writers();
	for (unsigned i = 0; i < nr_writers && !ret; i++)
		ret = writers[i].publisher->load(code);
	unlock_writers();
	return ret;
}

int jp_publish_move(const struct jp_published *code, uint64_t old_addr)
{
	int ret = 0;

	if (!nr_writers)
		return 0;
	lock_writers();
	for (unsigned i = 0; i < nr_writers && !ret; i++)
		if (writers[i].publisher->move)
			ret = writers[i].publisher->move(code, old_addr);
	unlock_writers();
	return ret;
}

int jp_publish_end(void)
{
	int ret = 0;

	lock_writers();
	for (unsigned i = 0; i < nr_writers; i++) {
		int closed = writers[i].publisher->close();

		ret = ret ? ret : closed;
	}
	nr_writers = 0;
	unlock_writers();
	return ret;
}

static const struct jp_excuse excuses[] = {
	{"children.inherited", "publish=[mb]*", "load.unnamed names.unnamed",
	 "not-published no-map", "inherited",
	 "a child's own files lack the code that it inherited"},
	{"publish.replaced", "publish=[mjb]*", "load.unnamed names.unnamed", "not-published no-map",
	 "replaced", "a later image of the pid writes its files anew"},
	{"publish.stripped", "publish=[jb]* inject=strip", "load.unnamed names.unnamed",
	 "no-mapping", "replaced", "a dropped record also covered code that is not published"},
	{"publish.shared", "publish=[mjb]*", "load.unnamed names.unnamed",
	 "no-mapping no-map not-published not-injected", "shared",
	 "records and files of memory that two processes share have the pid of one"},
	{"children.jitdump", "publish=jitdump* --publish-children=* !inject=*",
	 "load.unnamed names.unnamed", "not-published", NULL,
	 "a jitdump is of use once it is injected"},
	{"children.exec", "--publish-children=* at=exec*", "jitdump.absent published.absent",
	 "no-record no-line", NULL, "a later image of the pid leaves the files of the first"},
	{"children.map", "publish=[mn]* --publish-children=* inject=*",
	 "load.unnamed names.unnamed order.hidden",
	 "hidden not-injected reprotected coalesced not-published", NULL,
	 "a child without a jitdump keeps the records that hide its parent's code "
	 "(perf.inject-child)"},
};
JP_REGISTER_ROWS(excuse, excuses);
