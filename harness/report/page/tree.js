// SPDX-License-Identifier: GPL-2.0-only
// The tree of processes, from fork, exec and exit; a click filters the picture.
"use strict";

// Largest number of listed processes that have no samples, nor descendants with samples.
const LISTED_PROCESSES = 300;

// Returns whether @pid is @other or its ancestor: pids are reused, so a fork could close a circle.
function isAncestor(found, pid, other) {
	while (other && other !== pid)
		other = found.get(other)?.parent;
	return other === pid;
}

// Returns the processes of a picture by pid: names, marks, children, numbers of stacks.
function findProcesses(picture) {
	const found = new Map(), { strings, threads } = picture;
	const get = (pid) => {
		if (!found.has(pid))
			found.set(pid, { pid, name: "", parent: 0, events: [], children: [], stacks: 0, broken: 0 });
		return found.get(pid);
	};
	for (const row of picture.rows) {
		const process = get(threads[row[THREAD]][0]);
		process.stacks++;
		process.broken += BAD.has(strings[row[VERDICT]]);
	}
	for (const mark of picture.marks) {
		const kind = strings[mark[MARK.kind]], text = strings[mark[MARK.text]];
		if (!["fork", "exec", "exit", "name"].includes(kind) || !mark[MARK.pid])
			continue;
		const process = get(mark[MARK.pid]);
		if (kind === "fork" && !isAncestor(found, mark[MARK.pid], Number(text)))
			process.parent = Number(text);
		if (kind === "exec" || kind === "name")
			process.name = text;
		if (kind !== "name" && mark[MARK.time])
			process.events.push(`${kind} ${formatTime(mark[MARK.time])}`);
	}
	for (const process of found.values())
		if (found.has(process.parent))
			found.get(process.parent).children.push(process);
	return found;
}

// Counts the stacks of a process and of its descendants.
function sumStacks(process) {
	process.below = process.stacks;
	for (const child of process.children)
		process.below += sumStacks(child);
	return process.below;
}

function makeProcess(process, left) {
	const text = [process.stacks ? `${process.stacks} stacks` : "no sample",
		...process.broken ? [`${process.broken} broken`] : [], ...process.events];
	const item = make("li", {}, make("button", { "aria-pressed": state.pid === process.pid,
		"data-pid": process.pid, title: text.join("\n"), onclick: () => filterBy({ pid: process.pid }) },
	`${process.name || "process"} ${process.pid} `, make("small", { class: process.broken ? "bad" : "" },
		text.join(", "))));
	const children = process.children.filter((child) => child.below || left.listed-- > 0);
	left.dropped += process.children.length - children.length;
	if (children.length)
		item.append(make("ul", {}, ...children.map((child) => makeProcess(child, left))));
	return item;
}

function makeTree() {
	const picture = state.picture, left = { listed: LISTED_PROCESSES, dropped: 0 };
	picture.processes ||= findProcesses(picture);
	const roots = [...picture.processes.values()].filter((process) => !picture.processes.has(process.parent));
	roots.forEach(sumStacks);
	const list = make("ul", { class: "tree" }, make("li", {}, make("button", { "aria-pressed": !state.pid,
		"data-pid": 0, onclick: () => filterBy({ pid: 0 }) }, "all processes")),
	...roots.map((process) => makeProcess(process, left)));
	if (left.dropped)
		list.append(make("li", {}, `${left.dropped} processes without samples are not listed`));
	return list;
}
