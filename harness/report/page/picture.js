// SPDX-License-Identifier: GPL-2.0-only
// Draws one capture: time runs to the right, addresses upwards.
"use strict";

// Okabe and Ito's palette, which colour-blind readers can distinguish; each verdict has a shape, too.
const LOOKS = {
	exact: ["#0072b2", "dot"], gap: ["#56b4e9", "dot"], unmapped: ["#d55e00", "cross"],
	single: ["#cc79a7", "square"], short: ["#e69f00", "triangle"], hole: ["#a0522d", "ring"],
	wrong: ["#d00000", "plus"], extra: ["#7a3fb0", "plus"], unjudged: ["#888888", "dot"],
	outside: ["#aaaaaa", "dot"], kernel: ["#aaaaaa", "dot"], file: ["#0072b2", "dot"],
	anon: ["#009e73", "square"], memfd: ["#e69f00", "triangle"], other: ["#888888", "ring"],
};
// What a verdict says of a stack (docs/reading-results.md).
const MEANINGS = {
	exact: "as the truth", gap: "without callers that this method cannot see there: no error",
	unmapped: "broken, address in no known mapping", single: "broken, only the sampled address",
	short: "broken before the root", hole: "broken, lacks a caller", wrong: "has a frame that cannot be",
	extra: "has an invented frame", unjudged: "while a mapping changed", outside: "not in emitted code",
};
const MARKS = { fork: "+", exec: "▶", exit: "■", loss: "✖", throttle: "✖", gate: "◆", capture: "●" };
// Widths in pixels: of the strip for marks, and of the strip at the left for perf maps, which have no times.
const MARK_STRIP = 16, MAP_STRIP = 6;
// If fewer samples than this are in view, all of them are drawn.
const ALWAYS_DRAWN = 10000;
// If fewer samples than this are in view, dots are larger.
const FEW = 3000;
// FINER: how many more levels are drawn at rest than while the view moves. REST_MS: pause that is a rest.
const FINER = 3, REST_MS = 150;
// Identifiers of the pending calls of setTimeout() and requestAnimationFrame(); 0: none.
let resting = 0, moving = 0;

function formatTime(time) {
	return `${(time / 1000).toLocaleString("en", { maximumFractionDigits: 3 })} ms`;
}

// Stacks the bands: a larger one is taller, but only with the logarithm of its size. Bands with true
// or published code are what the reader looks for.
function layBands(picture) {
	const coded = new Set([...picture.truth, ...picture.loads].map((box) => box[BOX.band]));
	const heights = picture.bands.map((band, i) =>
		(1 + Math.log2(1 + band.size / 4096)) * (coded.has(i) ? 5 : 1));
	const total = heights.reduce((sum, height) => sum + height, 0) + 1.5;
	let at = 1.5 / total;
	picture.lanes = heights.map((height) => {
		const lane = { at: at + 0.006, height: Math.max(height / total - 0.012, 0.002) };
		at += height / total;
		return lane;
	});
}

// Prepares a picture when it is shown first.
function preparePicture(picture) {
	if (picture.lanes)
		return;
	layBands(picture);
	picture.rows.sort((one, other) => one[TIME] - other[TIME]);
	for (const row of picture.rows)
		row[HEIGHT] = findHeight(picture, row[BAND], row[OFFSET]);
	picture.emitted = new Set([...picture.truth, ...picture.loads].map((box) => picture.strings[box[BOX.name]]));
	picture.hidden = picture.loads.filter((load) => load[BOX.hidden]);
	picture.names = {}; // of the bands, by process
}

function findHeight(picture, band, offset) {
	const lane = picture.lanes[band];
	return lane ? lane.at + lane.height * offset / picture.bands[band].size : 0.01;
}

function makeScale(canvas) {
	const view = state.view, width = canvas.clientWidth, height = canvas.clientHeight - MARK_STRIP;
	return {
		width, height: height + MARK_STRIP,
		x: (time) => (time - view.from) / (view.to - view.from) * width,
		y: (at) => MARK_STRIP + height - (at - view.low) / (view.high - view.low) * height,
	};
}

// Returns the area of a box on the canvas: left, top, width, height.
function findArea(scale, box, from = box[BOX.from]) {
	const { picture } = state, band = box[BOX.band], offset = box[BOX.offset];
	const left = scale.x(from), top = scale.y(findHeight(picture, band, offset + box[BOX.size]));
	return [left, top, Math.max(scale.x(box[BOX.to]) - left, 1),
		Math.max(scale.y(findHeight(picture, band, offset)) - top, 1)];
}

// Draws a sample; a dot extends @half pixels from its centre.
function drawShape(context, shape, x, y, half = 2) {
	if (shape === "dot")
		return context.fillRect(x - half, y - half, 2 * half, 2 * half);
	context.beginPath();
	switch (shape) {
	case "cross": context.moveTo(x - 3, y - 3); context.lineTo(x + 3, y + 3);
		context.moveTo(x - 3, y + 3); context.lineTo(x + 3, y - 3); return context.stroke();
	case "plus": context.moveTo(x - 4, y); context.lineTo(x + 4, y);
		context.moveTo(x, y - 4); context.lineTo(x, y + 4); return context.stroke();
	case "ring": context.arc(x, y, 3, 0, 7); return context.stroke();
	case "triangle": context.moveTo(x, y - 4); context.lineTo(x + 3, y + 3);
		context.lineTo(x - 3, y + 3); return context.fill();
	default: return context.fillRect(x - 2.5, y - 2.5, 5, 5);
	}
}

function isOfProcess(pid) {
	return !state.pid || !pid || pid === state.pid;
}

// Calls @paint for each box in view. Boxes that cover the same pixels of one line are painted once.
function drawBoxes(scale, boxes, paint, from) {
	const lines = new Set(), limit = (x) => Math.round(Math.min(Math.max(x, 0), scale.width));
	for (const box of boxes) {
		if (!isOfProcess(box[BOX.pid]))
			continue;
		const area = findArea(scale, box, from && box[from]), [left, top, width, height] = area;
		if (left + width < 0 || left > scale.width || top + height < 0 || top > scale.height)
			continue;
		const line = (Math.round(top) * 65536 + limit(left)) * 65536 + limit(left + width);
		if (height <= 1 && lines.has(line))
			continue;
		lines.add(line);
		paint(box, area);
	}
}

// Makes the hatching of code that a later record hides.
function makeHatching(context) {
	const tile = make("canvas", { width: 6, height: 6 }), to = tile.getContext("2d");
	to.strokeStyle = LOOKS.unmapped[0];
	to.lineWidth = 1.5;
	for (const x of [-3, 3, 9]) {
		to.moveTo(x - 3, 6);
		to.lineTo(x + 3, 0);
	}
	to.stroke();
	return context.createPattern(tile, "repeat");
}

function drawLoads(context, scale, picture) {
	const hatching = makeHatching(context), { strings, hidden } = picture;
	context.fillStyle = "#006b4f";
	drawBoxes(scale, picture.loads, (load, [left, top, , height]) => strings[load[BOX.kind]] === "perf map"
		? context.fillRect(0, top, MAP_STRIP, height) : context.fillRect(left - 1, top, 2, height));
	drawBoxes(scale, hidden, (_, [left, top, width, height]) => {
		context.fillStyle = hatching;
		context.fillRect(left, top, width, height);
		context.fillStyle = LOOKS.unmapped[0];
		context.fillRect(left - 1, top, 2, height);
	}, BOX.hidden);
}

// Returns the marks in view, one for each pixel and kind.
function selectMarks(scale) {
	const { marks, strings } = state.picture, seen = new Set();
	return marks.filter((mark) => {
		const x = Math.round(scale.x(mark[MARK.time])), key = `${x} ${mark[MARK.kind]}`;
		// A fork or exec from before the recording has no time.
		const older = !mark[MARK.time] && ["fork", "exec"].includes(strings[mark[MARK.kind]]);
		if (older || !MARKS[strings[mark[MARK.kind]]] || !isOfProcess(mark[MARK.pid]) || x < 0 ||
			x > scale.width || seen.has(key))
			return false;
		return seen.add(key);
	});
}

function describeMark(mark) {
	const { strings } = state.picture, kind = strings[mark[MARK.kind]], text = strings[mark[MARK.text]];
	const who = mark[MARK.pid] ? ` process ${mark[MARK.pid]}` : "";
	return { fork: `fork:${who}, by process ${text}`, exec: `exec of ${text}:${who}`, exit: `exit:${who}`,
		loss: `loss: ${text} records or samples were lost`, throttle: "throttle: the kernel took too few samples",
		gate: `gate ${text}:${who}`, capture: `the capture ${text}` }[kind] + ` at ${formatTime(mark[MARK.time])}`;
}

function drawMarks(context, scale, ink) {
	let labelled = -100;
	for (const mark of selectMarks(scale)) {
		const x = scale.x(mark[MARK.time]), kind = state.picture.strings[mark[MARK.kind]];
		context.fillStyle = context.strokeStyle = ["loss", "throttle"].includes(kind) ? LOOKS.wrong[0] : ink;
		context.setLineDash([3, 3]);
		context.strokeRect(x, MARK_STRIP, 0, scale.height);
		context.setLineDash([]);
		const text = x - labelled > 90 ? `${MARKS[kind]} ${kind} ${kind === "fork" ? "" :
			state.picture.strings[mark[MARK.text]]}` : MARKS[kind];
		if (x - labelled > 90 || x - labelled > 12) {
			context.fillText(text, Math.max(Math.min(x - 4, scale.width - 12), 0), 12);
			labelled = text.length > 1 ? x : labelled;
		}
	}
}

function nameBand(i) {
	const { bands, records, truth, loads, strings } = state.picture;
	const isInside = (box) => box[BOX.band] === i && isOfProcess(box[BOX.pid]);
	const inside = records.filter(isInside), code = truth.find(isInside) || loads.find(isInside);
	// Several records may share a band: prefer the name of the record with the band's code.
	const record = inside.find((box) => code && box[BOX.offset] <= code[BOX.offset] &&
		code[BOX.offset] < box[BOX.offset] + box[BOX.size]) ||
		inside.find((box) => strings[box[BOX.kind]] !== "file") || inside[0];
	return `0x${bands[i].start} ` + (record ? strings[record[BOX.name]] : "no mapping record covers this code");
}

// Writes the names of the bands over everything else, on a background.
function drawNames(context, scale, ink, paper) {
	const names = state.picture.names[state.pid] ||= state.picture.bands.map((_, i) => nameBand(i));
	state.picture.lanes.forEach((lane, i) => {
		const y = scale.y(lane.at), text = names[i];
		if (y - scale.y(lane.at + lane.height) < 11)
			return;
		context.fillStyle = paper;
		context.globalAlpha = 0.7;
		context.fillRect(MAP_STRIP + 2, y - 13, context.measureText(text).width + 4, 13);
		context.globalAlpha = 1;
		context.fillStyle = ink;
		context.fillText(text, MAP_STRIP + 4, y - 3);
	});
	context.fillText("elsewhere", 4, scale.y(0) - 3);
}

// Returns how often the view's scale was doubled. Samples of higher levels would cover equal samples.
function findLevel() {
	const { from, to, low, high } = state.view;
	return Math.floor(Math.log2(Math.max(1, state.picture.length / (to - from), 1 / (high - low))));
}

// Returns the index of the first shown row at or after @time.
function findRow(time) {
	let low = 0, high = state.shown.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		state.shown[middle][TIME] < time ? low = middle + 1 : high = middle;
	}
	return low;
}

function drawSamples(context, scale, isMoving) {
	const { strings } = state.picture, first = findRow(state.view.from), end = findRow(state.view.to + 1);
	// Show all rows of a selected stack, even those that would cover rows of other stacks.
	const level = end - first < ALWAYS_DRAWN || state.stack ? Infinity : findLevel() + (isMoving ? 0 : FINER);
	const { low, high } = state.view, rows = [];
	for (let i = first; i < end; i++) {
		const row = state.shown[i];
		if (row[LEVEL] <= level && low <= row[HEIGHT] && row[HEIGHT] <= high)
			rows.push(row);
	}
	const half = rows.length < FEW ? 2 : 1;
	// Draw the samples of one verdict together, because setting a colour takes longer than drawing a dot.
	const verdicts = [...new Set(rows.map((row) => row[VERDICT]))];
	// Draw broken stacks last, so that whole stacks do not cover them.
	verdicts.sort((one, other) => BAD.has(strings[one]) - BAD.has(strings[other]));
	for (const verdict of verdicts) {
		const look = LOOKS[strings[verdict]] || LOOKS.other;
		context.fillStyle = context.strokeStyle = look[0];
		for (const row of rows)
			if (row[VERDICT] === verdict)
				drawShape(context, look[1], scale.x(row[TIME]), scale.y(row[HEIGHT]), half);
	}
}

// Draws a moving view quickly, once a frame, and completely when it has rested.
function drawMoving() {
	clearTimeout(resting);
	moving ||= requestAnimationFrame(() => draw(true));
	resting = setTimeout(draw, REST_MS);
}

function draw(isMoving = false) {
	cancelAnimationFrame(moving);
	moving = 0;
	const canvas = find("canvas"), picture = state.picture, scale = makeScale(canvas);
	const ratio = window.devicePixelRatio || 1, style = getComputedStyle(document.body);
	const [ink, paper, soft] = ["--ink", "--paper", "--soft"].map((name) => style.getPropertyValue(name));
	const context = canvas.getContext("2d");
	canvas.width = scale.width * ratio;
	canvas.height = scale.height * ratio;
	context.scale(ratio, ratio);
	context.font = "11px system-ui, sans-serif";
	context.fillStyle = soft;
	for (const lane of picture.lanes)
		context.fillRect(0, scale.y(lane.at + lane.height), scale.width,
			scale.y(lane.at) - scale.y(lane.at + lane.height));
	context.fillStyle = "#009e7355";
	drawBoxes(scale, picture.truth, (_, area) => context.fillRect(...area));
	context.strokeStyle = ink;
	context.lineWidth = 0.7;
	drawBoxes(scale, picture.records, (_, area) => context.strokeRect(...area));
	context.lineWidth = 1;
	drawLoads(context, scale, picture);
	drawSamples(context, scale, isMoving);
	context.fillStyle = paper;
	context.fillRect(0, 0, scale.width, MARK_STRIP);
	drawMarks(context, scale, ink);
	drawNames(context, scale, ink, paper);
	// Changing the address takes longer than drawing.
	if (isMoving)
		return;
	const view = state.view;
	writeHash([picture.name, view.from, view.to, view.low, view.high, state.pid, state.method,
		state.verdict, state.stack, state.cause]);
}
