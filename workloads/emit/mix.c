// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/mix.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/emit/folder.h"

enum { ARENA = 64 << 10, TURNS = 700000 };

static const char letters[JP_SHAPES] = {
	[JP_SHAPE_FP] = 'f',       [JP_SHAPE_NO_FP] = 'n',   [JP_SHAPE_LONG] = 'l',
	[JP_SHAPE_LARGE] = 'g',    [JP_SHAPE_REALIGN] = 'r', [JP_SHAPE_LEAF] = 'e',
	[JP_SHAPE_HUGE] = 'h',     [JP_SHAPE_HOLLOW] = 'u',  [JP_SHAPE_CLOCK] = 'c',
	[JP_SHAPE_OTHER_BP] = 'o', [JP_SHAPE_TAIL] = 't',    [JP_SHAPE_STUB] = 'p',
	[JP_SHAPE_MISLED] = 'm',   [JP_SHAPE_SYSCALL] = 's',
};

int jp_mix_open(struct jp_mix *mix)
{
	memset(mix, 0, sizeof(*mix));
	return jp_arena_map(&mix->arena, JP_PROTECT_RWX, ARENA, NULL);
}

int jp_mix_add_library(struct jp_mix *mix, const struct jp_object_kind *kind)
{
	char path[JP_FOLDER_PATH];

	return jp_folder_path(path, "library.so") ?: jp_object_write(&mix->object, path, 0, kind)
		       ?: jp_object_load(&mix->object, path, 0, &mix->library);
}

int jp_mix_open_with_library(struct jp_mix *mix, const struct jp_object_kind *kind)
{
	return jp_mix_open(mix) ?: jp_mix_add_library(mix, kind);
}

int jp_mix_emit(struct jp_mix *mix, enum jp_shape shape, uint64_t word,
		const struct jp_function **function)
{
	struct jp_function *fresh = &mix->functions[mix->nr_functions];
	char name[64];
	int ret;

	if (mix->nr_functions == JP_MIX_FUNCTIONS)
		return -ENOSPC;
	ret = jp_emit_write(&mix->arena, shape, fresh);
	if (!ret && fresh->word_at)
		ret = jp_emit_set_word(&mix->arena, fresh, word);
	snprintf(name, sizeof(name), "mix_%s_%u", jp_shape_text(shape), mix->nr_functions);
	if (!ret)
		ret = jp_emit_load(fresh, name);
	if (!ret) {
		*function = fresh;
		mix->nr_functions++;
	}
	return ret;
}

/* Finds the emitted function with @shape and @word, or emits it. All paths share it. */
static int find_or_emit(struct jp_mix *mix, enum jp_shape shape, uint64_t word,
			const struct jp_function **function)
{
	for (unsigned i = 0; i < mix->nr_functions; i++) {
		const struct jp_function *candidate = &mix->functions[i];

		if (candidate->shape != shape || (candidate->word_at && candidate->word != word))
			continue;
		*function = candidate;
		return 0;
	}
	return jp_mix_emit(mix, shape, word, function);
}

/* Finds function number @nth, modulo the number of such functions, of the library's functions of
 * @shape. */
static int find_library_function(struct jp_mix *mix, enum jp_shape shape, unsigned nth,
				 const struct jp_function **function)
{
	unsigned count = 0;

	for (int i = 0; i < JP_OBJECT_FUNCTIONS && mix->library.handle; i++)
		count += mix->library.functions[i].shape == shape;
	if (!count)
		return -EINVAL;
	nth %= count;
	for (int i = 0; i < JP_OBJECT_FUNCTIONS; i++)
		if (mix->library.functions[i].shape == shape && !nth--)
			*function = &mix->library.functions[i];
	return 0;
}

int jp_mix_path(struct jp_mix *mix, const char *spelling, uint64_t word, uint64_t turns,
		const struct jp_function *innermost)
{
	size_t depth = strlen(spelling);
	const struct jp_function **order = calloc(depth + 1, sizeof(*order));
	unsigned length[JP_SHAPES] = {0};
	int ret = order ? 0 : -ENOMEM;

	if (mix->nr_paths == JP_MIX_PATHS)
		ret = -ENOSPC;
	for (size_t i = 0; i < depth && !ret; i++) {
		const char *letter =
			memchr(letters, tolower((unsigned char)spelling[i]), sizeof(letters));
		int is_lower = islower((unsigned char)spelling[i]) != 0;
		enum jp_shape shape;

		if (!letter) {
			ret = -EINVAL;
			break;
		}
		shape = letter - letters;
		ret = is_lower ? find_or_emit(mix, shape, word, &order[i])
			       : find_library_function(mix, shape, length[shape]++, &order[i]);
	}
	if (!ret && innermost)
		order[depth++] = innermost;
	if (!ret)
		ret = jp_path_make(&mix->paths[mix->nr_paths], order, depth, turns);
	mix->nr_paths += !ret;
	free(order);
	return ret;
}

int jp_mix_paths(struct jp_mix *mix, const char *const *spellings, uint64_t word)
{
	int ret = 0;

	for (; *spellings && !ret; spellings++)
		ret = jp_mix_path(mix, *spellings, word, TURNS, NULL);
	return ret;
}

int jp_mix_run_paths(const char *workload, const struct jp_object_kind *kind,
		     const char *const *spellings)
{
	static struct jp_mix mix;
	int ret = jp_mix_open_with_library(&mix, kind) ?: jp_mix_paths(&mix, spellings, 0);

	return jp_mix_run(workload, &mix, NULL, ret);
}

int jp_mix_run(const char *workload, struct jp_mix *mix, jp_path_next next, int failed)
{
	if (!failed)
		failed = next ? jp_path_run_thread_by(next, NULL)
			      : jp_path_run_thread(mix->paths, mix->nr_paths);
	failed = jp_path_serve_handshake(workload, failed, NULL, NULL);
	for (unsigned i = 0; i < mix->nr_paths; i++)
		jp_path_free(&mix->paths[i]);
	if (mix->library.handle)
		jp_object_unload(&mix->library);
	jp_folder_remove();
	return failed;
}
