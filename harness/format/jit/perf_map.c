// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/file.h"

/* perf keeps the lines in a red-black tree ordered by start, and looks up an address as if lines
 * did not overlap. If they do, the result depends on the shape of the tree, so this file builds the
 * same tree, line by line in file order. */

/* Largest size of a perf map: far more than any runtime writes. Bounds the memory that a hostile
 * file can use. */
#define MOST (UINT64_C(256) << 20)

enum { NONE, LEFT = 0, RIGHT = 1 };

struct node {
	uint64_t start, end;
	uint64_t max_end; /* greatest end in this subtree, valid after all lines were inserted */
	const char *name;
	uint32_t child[2]; /* indices of the left and the right child, or NONE */
	uint32_t parent;
	bool red;
};

struct jp_perf_map {
	char *text;
	struct node *nodes; /* nodes[NONE] is a black node without parent */
	size_t count, capacity;
	uint32_t root;
	uint64_t bad_lines;
};

static int get_side(const struct node *nodes, uint32_t node)
{
	return nodes[nodes[node].parent].child[RIGHT] == node;
}

/* Rotates @node down to @child_side; its child on the other side takes its place. */
static void rotate_node(struct jp_perf_map *map, uint32_t node, int child_side)
{
	struct node *nodes = map->nodes;
	uint32_t raised_node = nodes[node].child[!child_side],
		 across = nodes[raised_node].child[child_side];

	nodes[raised_node].parent = nodes[node].parent;
	if (nodes[node].parent == NONE)
		map->root = raised_node;
	else
		nodes[nodes[node].parent].child[get_side(nodes, node)] = raised_node;
	nodes[node].child[!child_side] = across;
	if (across != NONE)
		nodes[across].parent = node;
	nodes[raised_node].child[child_side] = node;
	nodes[node].parent = raised_node;
}

/* Restores the tree's rules after inserting the red @node, whose parent may be red too. */
static void rebalance(struct jp_perf_map *map, uint32_t node)
{
	struct node *nodes = map->nodes;

	while (nodes[nodes[node].parent].red) {
		uint32_t parent = nodes[node].parent, grand = nodes[parent].parent;
		int child_side = get_side(nodes, parent);
		uint32_t uncle = nodes[grand].child[!child_side];

		if (nodes[uncle].red) {
			nodes[uncle].red = nodes[parent].red = false;
			nodes[grand].red = true;
			node = grand;
			continue;
		}
		if (get_side(nodes, node) != child_side) {
			rotate_node(map, parent, child_side);
			parent = node;
		}
		nodes[parent].red = false;
		nodes[grand].red = true;
		rotate_node(map, grand, !child_side);
		break;
	}
	nodes[map->root].red = false;
}

/* Inserts a line after those with the same start. */
static int insert_line(struct jp_perf_map *map, uint64_t start, uint64_t size, const char *name)
{
	uint32_t parent = NONE, new_node = map->count;
	int child_side = LEFT;

	if (!jp_array_push(&map->nodes, &map->count, &map->capacity))
		return -ENOMEM;
	for (uint32_t node_index = map->root; node_index != NONE;
	     node_index = map->nodes[node_index].child[child_side]) {
		parent = node_index;
		child_side = start < map->nodes[node_index].start ? LEFT : RIGHT;
	}
	map->nodes[new_node] = (struct node){
		.start = start, .end = start + size, .name = name, .parent = parent, .red = true};
	if (parent == NONE)
		map->root = new_node;
	else
		map->nodes[parent].child[child_side] = new_node;
	rebalance(map, new_node);
	return 0;
}

/* Parses a line as perf does: two hexadecimal numbers (with any prefix that strtoull() allows), any
 * one character after each, then the name. Ignores lines with a name of less than three characters;
 * a malformed number counts as 0. */
static int parse_line(struct jp_perf_map *map, char *line, size_t length)
{
	uint64_t start, size;
	char *digits = line, *end;
	bool numbers;

	start = strtoull(digits, &end, 16);
	numbers = end != digits;
	digits = end + 1;
	if ((size_t)(digits - line) + 2 >= length) {
		map->bad_lines++;
		return 0;
	}
	size = strtoull(digits, &end, 16);
	numbers &= end != digits;
	end++;
	if ((size_t)(end - line) + 2 >= length) {
		map->bad_lines++;
		return 0;
	}
	map->bad_lines += !numbers;
	return insert_line(map, start, size, end);
}

static int parse_lines(struct jp_perf_map *map, size_t size)
{
	int ret = 0;

	for (size_t offset = 0, next; offset < size && !ret; offset = next) {
		char *newline = memchr(map->text + offset, '\n', size - offset);

		/* perf drops the last character of a last line without a newline. */
		next = newline ? (size_t)(newline - map->text) + 1 : size;
		map->text[next - 1] = '\0';
		ret = parse_line(map, map->text + offset, next - 1 - offset);
	}
	return ret;
}

/* Sets `most` in the subtree of @node_index. The recursion is shallow, since the tree is balanced.
 */
static uint64_t set_highest_end(struct jp_perf_map *map, uint32_t node_index)
{
	uint64_t max = map->nodes[node_index].end;

	for (int child_side = LEFT; child_side <= RIGHT; child_side++) {
		uint32_t child = map->nodes[node_index].child[child_side];
		uint64_t child_end = child == NONE ? 0 : set_highest_end(map, child);

		if (child_end > max)
			max = child_end;
	}
	return map->nodes[node_index].max_end = max;
}

static int read_map(struct jp_perf_map *map, int fd, const char *path, uint64_t size,
		    struct jp_error *err)
{
	int ret;

	if (size > MOST)
		return jp_fail(
			err, EFBIG,
			"%s: offset 0: expected at most %llu bytes of perf map, the file has "
			"%llu",
			path, (unsigned long long)MOST, (unsigned long long)size);
	map->text = malloc(size + 1);
	if (!map->text || !jp_array_push(&map->nodes, &map->count, &map->capacity))
		return jp_fail(err, ENOMEM, "%s: out of memory", path);
	ret = jp_file_read_at(fd, path, map->text, size, 0, err);
	if (ret)
		return ret;
	map->text[size] = '\0';
	ret = parse_lines(map, size);
	if (ret)
		return jp_fail(err, -ret, "%s: out of memory", path);
	if (map->root != NONE)
		set_highest_end(map, map->root);
	return 0;
}

struct jp_perf_map *jp_perf_map_read(int fd, const char *name, uint64_t size, struct jp_error *err)
{
	struct jp_perf_map *map = calloc(1, sizeof(*map));

	if (!map) {
		jp_fail(err, ENOMEM, "%s: out of memory", name);
	} else if (read_map(map, fd, name, size, err)) {
		jp_perf_map_free(map);
		map = NULL;
	}
	return map;
}

void jp_perf_map_free(struct jp_perf_map *map)
{
	if (!map)
		return;
	free(map->nodes);
	free(map->text);
	free(map);
}

const char *jp_perf_map_find(const struct jp_perf_map *map, uint64_t addr)
{
	uint32_t node_index = map->root;

	while (node_index != NONE) {
		const struct node *node = &map->nodes[node_index];

		if (addr < node->start)
			node_index = node->child[LEFT];
		else if (addr > node->end || (addr == node->end && addr != node->start))
			node_index = node->child[RIGHT];
		else
			return node->name;
	}
	return NULL;
}

bool jp_perf_map_covers(const struct jp_perf_map *map, uint64_t addr)
{
	uint32_t node_index = map->root;

	while (node_index != NONE) {
		const struct node *node = &map->nodes[node_index];
		uint32_t left_child = node->child[LEFT];

		if (addr >= node->start && addr < node->end)
			return true;
		/* If a line on the left ends after @addr, it also starts before this one: search
		 * only there. */
		node_index = left_child != NONE && map->nodes[left_child].max_end > addr
				     ? left_child
				     : node->child[RIGHT];
	}
	return false;
}

/* Largest number of lines to visit, since all lines of a hostile map may contain the address. */
enum { MAX_VISITS = 1024 };

/* Returns whether two lines that contain @addr have different names: two lines in the subtree of
 * @node_index, or one line in it and the earlier line called *@name. */
static bool has_other_name(const struct jp_perf_map *map, uint32_t node_index, uint64_t addr,
			   const char **name, int *visits)
{
	const struct node *node = &map->nodes[node_index];

	if (node_index == NONE || node->max_end <= addr || ++*visits > MAX_VISITS)
		return false;
	if (has_other_name(map, node->child[LEFT], addr, name, visits))
		return true;
	if (addr < node->start)
		return false;
	if (addr < node->end) {
		if (*name && strcmp(*name, node->name) != 0)
			return true;
		*name = node->name;
	}
	return has_other_name(map, node->child[RIGHT], addr, name, visits);
}

bool jp_perf_map_is_ambiguous(const struct jp_perf_map *map, uint64_t addr)
{
	const char *name = NULL;
	int visits = 0;

	return has_other_name(map, map->root, addr, &name, &visits);
}

size_t jp_perf_map_count_lines(const struct jp_perf_map *map, uint64_t start, uint64_t end)
{
	size_t lines = 0;

	for (size_t i = 1; i < map->count; i++)
		lines += map->nodes[i].start >= start && map->nodes[i].start < end;
	return lines;
}

void jp_perf_map_visit_lines(const struct jp_perf_map *map,
			     void (*visit)(void *context, uint64_t start, uint64_t size,
					   const char *name),
			     void *context)
{
	for (size_t i = 1; i < map->count; i++)
		visit(context, map->nodes[i].start, map->nodes[i].end - map->nodes[i].start,
		      map->nodes[i].name);
}

uint64_t jp_perf_map_bad_lines(const struct jp_perf_map *map)
{
	return map->bad_lines;
}
