// SPDX-License-Identifier: GPL-2.0-only
// Flame graphs of whole and of broken stacks, side by side; a click filters the picture.
"use strict";

// Least width of a frame that is drawn, as a share of the graph's width.
const NARROWEST = 0.003;

// Counts for each stack its own rows and those of longer stacks that contain it as the callers. Callers have
// lower numbers.
function countStacks(rows) {
	const { stacks } = state.picture, counts = new Uint32Array(stacks.length);
	for (const row of rows)
		counts[row[SEEN]]++;
	for (let stack = stacks.length - 1; stack > 0; stack--)
		counts[stacks[stack][0]] += counts[stack];
	return counts;
}

function isBelow(stack, ancestor) {
	const { stacks } = state.picture;
	while (stack > ancestor)
		stack = stacks[stack][0];
	return stack === ancestor;
}

function nameStack(stack) {
	const { stacks, strings } = state.picture, names = [];
	for (; stack; stack = stacks[stack][0])
		names.push(strings[stacks[stack][1]]);
	return names;
}

function makeFlame(stack, count, total, left, depth) {
	const name = state.picture.strings[state.picture.stacks[stack][1]];
	const kind = state.picture.emitted.has(name) ? "emitted" : name === "[unmapped]" ? "lost" : "native";
	return make("button", { class: `flame ${kind}`, "aria-pressed": state.stack === stack,
		"data-stack": stack, title: `${name}: ${count} of ${total} stacks`,
		style: `left:${100 * left}%;width:${100 * count / total}%;top:${depth * 19}px`,
		onclick: () => filterBy({ stack: state.stack === stack ? 0 : stack }) }, name);
}

// Makes a graph: the outermost functions are at the top, their callees below.
function makeGraph(id, title, rows) {
	const counts = countStacks(rows), children = new Map(), flames = [];
	const total = rows.length;
	for (let stack = 1; stack < counts.length; stack++) {
		const callers = state.picture.stacks[stack][0];
		if (counts[stack] / total >= NARROWEST)
			children.set(callers, [...(children.get(callers) || []), stack]);
	}
	let deepest = 0;
	const place = (callers, left, depth) => {
		for (const stack of children.get(callers) || []) {
			const count = counts[stack];
			deepest = Math.max(deepest, depth + 1);
			flames.push(makeFlame(stack, count, total, left, depth));
			place(stack, left, depth + 1);
			left += count / total;
		}
	};
	place(0, 0, 0);
	return make("div", { id }, make("h3", {}, `${title}: ${total}`),
		make("div", { class: "graph", style: `height:${deepest * 19 + 2}px` }, ...flames));
}

function makeGraphs() {
	const { strings } = state.picture;
	const rows = selectRows({ stack: 0 }).filter((row) => row[SEEN]);
	const isBroken = (row) => BAD.has(strings[row[VERDICT]]);
	return make("div", { id: "graphs", class: "pair" },
		makeGraph("whole", "Whole stacks", rows.filter((row) => !isBroken(row))),
		makeGraph("broken", "Broken stacks", rows.filter(isBroken)));
}
