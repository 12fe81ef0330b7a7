// SPDX-License-Identifier: GPL-2.0-only
// Describes the object at the pointer: a mark, a sample, a load, true code or a mapping record.
"use strict";

// Largest distance in pixels between the pointer and the object that it selects.
const REACH = 8;

function describeStack(stack) {
	return nameStack(stack).map((name, i) => `${i ? "  " : "> "}${name}`).join("\n") || "(none)";
}

function describeRow(row) {
	const { strings, threads, has_truth } = state.picture, [pid, tid] = threads[row[THREAD]];
	return [`${strings[row[VERDICT]]} ${strings[row[CAUSE]]} at ${formatTime(row[TIME])}, process ${pid}, ` +
		`thread ${tid}, method ${strings[row[METHOD]] || "none"}`,
	make("div", { class: "pair" }, make("div", {}, `seen\n${describeStack(row[SEEN])}`),
		has_truth ? make("div", {}, `true\n${describeStack(row[TRUE])}`) : null)];
}

function describeBox(box, title) {
	const { strings, bands } = state.picture;
	const start = BigInt("0x" + bands[box[BOX.band]].start) + BigInt(box[BOX.offset]);
	return [`${title}: ${strings[box[BOX.name]]} (${strings[box[BOX.kind]]}), 0x${start.toString(16)}, ` +
		`${box[BOX.size]} bytes, process ${box[BOX.pid]}, from ${formatTime(box[BOX.from])} ` +
		`to ${formatTime(box[BOX.to])}` +
		(box[BOX.hidden] ? `\nHidden since ${formatTime(box[BOX.hidden])}: the mapping record ` +
			`"${strings[box[BOX.hider]]}" came later and covers it, so tools lose its name.` : "")];
}

// Returns the shown row that is nearest to the pointer, or null.
function findNearest(scale, x, y) {
	let best = null, distance = REACH * REACH;
	const span = REACH / scale.width * (state.view.to - state.view.from);
	const time = state.view.from + x / scale.width * (state.view.to - state.view.from);
	for (let i = findRow(time - span); i < state.shown.length && state.shown[i][TIME] <= time + span; i++) {
		const row = state.shown[i];
		const away = (scale.x(row[TIME]) - x) ** 2 + (scale.y(row[HEIGHT]) - y) ** 2;
		if (away < distance)
			[best, distance] = [row, away];
	}
	return best;
}

// Returns the last of the boxes below the pointer. Code in perf maps is drawn in the strip at the left.
function findBox(scale, boxes, x, y) {
	return boxes.findLast((box) => {
		const [left, top, width, height] = findArea(scale, box);
		return isOfProcess(box[BOX.pid]) && left - 2 <= x && x <= left + width &&
			top - 1 <= y && y <= top + height + 1;
	});
}

function describePoint(x, y) {
	const { truth, records, loads, strings } = state.picture, scale = makeScale(find("canvas"));
	const isMap = (load) => strings[load[BOX.kind]] === "perf map";
	if (y < MARK_STRIP) {
		const near = selectMarks(scale).filter((mark) => Math.abs(scale.x(mark[MARK.time]) - x) < REACH);
		return near.length ? [near.map(describeMark).join("\n")] : null;
	}
	const row = findNearest(scale, x, y);
	if (row)
		return describeRow(row);
	const load = findBox(scale, loads.filter((one) => !isMap(one) || x <= MAP_STRIP), x, y);
	const code = findBox(scale, truth, x, y), record = findBox(scale, records, x, y);
	const parts = [...load ? describeBox(load, "published code") : [],
		...code ? describeBox(code, "true code") : [], ...record ? describeBox(record, "mapping record") : []];
	return parts.length ? [parts.join("\n")] : null;
}

// Shows the description of the object at a place of the canvas. @pin: keep it until the next click.
function point(x, y, pin) {
	if (state.pinned && !pin)
		return;
	const parts = describePoint(x, y);
	state.pinned = pin && parts !== null;
	if (parts)
		find("detail").replaceChildren(...parts);
}
