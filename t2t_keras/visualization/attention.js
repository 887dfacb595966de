// Draws attention as lines between words, with choosers for kind, layer and head. A page that
// includes this script must have the elements #chooser, #kinds, #layers, #heads, #explained and
// #picture, and call show().
"use strict";
const picture = document.getElementById("picture");
let data = null;  // for each kind: title, words (queries, keys), layers[layer][head][query][key]

const EXPLAINED = {
  "encoder-self": "Lines lead from each source word (left) to the source words that it attends to " +
    "(right).",
  "decoder-self": "Lines lead from each word being written (left) to the earlier words that it " +
    "attends to (right); <s> is the beginning.",
  "decoder-cross": "Lines lead from each word being written (left) to the source words that it " +
    "attends to (right).",
};
const COLUMNS = {
  "encoder-self": ["source", "source"],
  "decoder-self": ["word being written", "earlier words"],
  "decoder-cross": ["word being written", "source"],
};
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b4fc9",
  "#8c564b"];
const color = (head) => COLORS[head] ?? `hsl(${Math.round(head * 137.5) % 360} 55% 48%)`;
const ROW = 25, TOP = 34, SHARE = 48, GAP = 8;  // pixels
const LONGEST = 26;  // characters of a word
const FAINTEST = 10;  // thousandths; the many weaker lines would be invisible

// The current view. It is also in the address, so that it can be linked:
//   #decoder-cross-3-2          layer 3, head 2
//   #decoder-cross-3-all-from5  layer 3, all heads, the fifth word on the left pinned
//   #encoder-self-1-4-to2       layer 1, head 4, the second word on the right pinned
// Without an address, the view is the cross-attention of the last layer, all heads.
const FIRST = ["decoder-cross", Infinity];
const shown = { kind: "encoder-self", layer: 1, head: "all", pinned: null };

function readAddress() {
  const [, kind, layer, head, side, word] = location.hash.match(
    /^#(\w+-\w+)(?:-(\d+)(?:-(\d+|all)(?:-(from|to)(\d+))?)?)?$/) ?? [null, ...FIRST];
  shown.kind = kind in data ? kind : Object.keys(data)[0];
  const { layers, queries, keys } = data[shown.kind];
  const within = (value, count) => Math.min(Math.max(Number(value) || 1, 1), count);
  shown.layer = within(layer, layers.length);
  shown.head = head > 0 ? within(head, layers[0].length) : "all";
  shown.pinned = side
    ? { side, word: within(word, (side === "from" ? queries : keys).length) - 1 } : null;
}

function writeAddress() {
  if (location.protocol === "about:") return;  // the iframe in a report has no address
  const { kind, layer, head, pinned } = shown;
  const word = pinned ? `-${pinned.side}${pinned.word + 1}` : "";
  history.replaceState(null, "", `#${kind}-${layer}-${head}${word}`);
}

function element(parent, name, attributes = {}, text = null) {
  const namespace = parent.namespaceURI;  // HTML or SVG
  const child = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes)) child.setAttribute(key, value);
  if (text !== null) child.textContent = text;
  parent.append(child);
  return child;
}

// Fills a chooser with radio buttons; the arrow keys move between them.
function chooser(id, name, choices, chosen, choose) {
  const group = document.getElementById(id);
  const values = JSON.stringify(choices);
  if (group.dataset.values !== values) {
    group.dataset.values = values;
    group.querySelectorAll("label").forEach((label) => label.remove());
    for (const [value, text, tint] of choices) {
      const label = element(group, "label", tint ? { style: `--color: ${tint}` } : {});
      const input = element(label, "input", { type: "radio", name, value });
      element(label, "span", {}, text);
      input.addEventListener("change", () => choose(value));
    }
  }
  for (const input of group.querySelectorAll("input")) {
    input.checked = input.value === String(chosen);
  }
}

function change(view) {
  const kind = shown.kind;
  Object.assign(shown, view);
  if (shown.kind !== kind) shown.pinned = null;
  writeAddress();
  draw();
}

function draw() {
  const kinds = Object.entries(data).map(([name, { title }]) => [name, title]);
  const { layers, queries, keys } = data[shown.kind];
  const heads = layers[shown.layer - 1];
  const fromOne = (count) => Array.from({ length: count }, (_, i) => i + 1);
  chooser("kinds", "kind", kinds, shown.kind, (kind) => change({ kind }));
  chooser("layers", "layer", fromOne(layers.length).map((n) => [n, n]), shown.layer,
    (layer) => change({ layer }));
  chooser("heads", "head", [["all", "all"], ...fromOne(heads.length).map((n) => [n, n, color(n - 1)])],
    shown.head, (head) => change({ head }));
  document.getElementById("explained").textContent = EXPLAINED[shown.kind] +
    " Stronger lines mean larger weights. Point at a word, or move to it with the tab and arrow" +
    " keys, to see only its weights. Click it or press Enter to pin it.";
  drawPicture(queries, keys, heads);
}

function drawPicture(queries, keys, heads) {
  const chosen = shown.head === "all" ? heads.map((_, h) => h) : [shown.head - 1];
  const width = Math.max(picture.parentElement.clientWidth, 340);
  const height = TOP + ROW * Math.max(queries.length, keys.length) + 6;
  picture.replaceChildren();
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const lines = element(picture, "g", { class: "lines" });

  // The words come first, because their widths determine where the lines start and end.
  const y = (row) => TOP + ROW * (row + 0.5);
  const sides = { from: column(queries, "from", y), to: column(keys, "to", y) };
  const middle = Math.min(Math.max(width - sides.from.width - sides.to.width - 2 * SHARE, 110), 460);
  const edge = (width - middle + sides.from.width - sides.to.width) / 2;
  place(sides.from, edge, -1);
  place(sides.to, edge + middle, 1);
  COLUMNS[shown.kind].forEach((text, side) => element(picture, "text", {
    class: "heading", x: side ? edge + middle + GAP : edge - GAP, y: TOP / 2 - 3,
    "text-anchor": side ? "start" : "end" }, text));

  const spread = Math.min(3.5, (ROW - 10) / chosen.length);
  const drawn = [];
  chosen.forEach((head, index) => {
    const offset = (index - (chosen.length - 1) / 2) * spread;
    heads[head].forEach((row, from) => row.forEach((weight, to) => {
      if (weight < FAINTEST) return;
      const line = element(lines, "line", {
        x1: edge, y1: y(from) + offset, x2: edge + middle, y2: y(to) + offset,
        stroke: color(head), "stroke-opacity": weight / 1000,
      });
      drawn.push({ line, from, to });
    }));
  });

  // The weight between two words: the mean over the chosen heads.
  const share = (from, to) =>
    chosen.reduce((sum, head) => sum + heads[head][from][to], 0) / chosen.length / 1000;
  const shareOf = (side, word, other) => side === "from" ? share(word, other) : share(other, word);

  function highlight(side, word) {
    lines.classList.toggle("few", Boolean(side));
    for (const { line, ...ends } of drawn) {
      line.style.display = side && ends[side] !== word ? "none" : "";
    }
    for (const [name, { words }] of Object.entries(sides)) {
      words.forEach((each, other) => {
        const part = side && name !== side ? shareOf(side, word, other) : 0;
        each.group.classList.toggle("active", name === side && other === word);
        each.rect.style.fill = part ? `rgba(var(--lit), ${0.6 * part})` : "";
        each.share.textContent = part >= 0.005 ? `${Math.round(100 * part)} %` : "";
      });
    }
  }
  const reset = () => highlight(shown.pinned?.side, shown.pinned?.word);

  function togglePin(side, word) {
    const same = shown.pinned?.side === side && shown.pinned?.word === word;
    shown.pinned = same ? null : { side, word };
    writeAddress();
    markPinned();
    reset();
  }

  function markPinned() {
    for (const [side, { words }] of Object.entries(sides)) {
      words.forEach(({ group }, word) => group.setAttribute(
        "aria-pressed", shown.pinned?.side === side && shown.pinned?.word === word));
    }
  }

  // The tab key reaches one word; the arrow keys move the focus from there.
  function focusWord(side, word) {
    const words = sides[side].words;
    const next = words[Math.min(Math.max(word, 0), words.length - 1)].group;
    picture.querySelectorAll('[tabindex="0"]').forEach((e) => e.setAttribute("tabindex", "-1"));
    next.setAttribute("tabindex", "0");
    next.focus();
  }

  for (const [side, { words }] of Object.entries(sides)) {
    words.forEach(({ group, text }, word) => {
      const others = sides[side === "from" ? "to" : "from"].words
        .map((other, n) => [shareOf(side, word, n), other.text])
        .sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([part]) => part >= 0.005)
        .map(([part, name]) => `${name} ${Math.round(100 * part)} %`).join(", ");
      const verb = side === "from" ? "attends to" : "is attended to by";
      group.setAttribute("aria-label", `${text} ${verb} ${others || "none"}`);
      group.addEventListener("pointerenter", () => highlight(side, word));
      group.addEventListener("pointerleave", reset);
      group.addEventListener("focus", () => highlight(side, word));
      group.addEventListener("blur", reset);
      group.addEventListener("click", () => togglePin(side, word));
      group.addEventListener("keydown", (event) => {
        const steps = {
          ArrowUp: () => focusWord(side, word - 1), ArrowDown: () => focusWord(side, word + 1),
          ArrowLeft: () => focusWord("from", word), ArrowRight: () => focusWord("to", word),
          Home: () => focusWord(side, 0), End: () => focusWord(side, words.length - 1),
          Enter: () => togglePin(side, word), " ": () => togglePin(side, word),
          Escape: () => { shown.pinned = null; writeAddress(); markPinned(); highlight(); },
        };
        if (!steps[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        steps[event.key]();
      });
    });
  }
  sides.from.words[0].group.setAttribute("tabindex", "0");
  markPinned();
  reset();
}

// Creates one side's words without positions, and measures the widest word.
function column(texts, side, y) {
  const words = texts.map((text, row) => {
    const group = element(picture, "g", { class: "word", tabindex: "-1", role: "button" });
    const rect = element(group, "rect", { y: y(row) - ROW / 2 + 1, height: ROW - 2 });
    const short = text.length > LONGEST ? text.slice(0, LONGEST - 1) + "…" : text;
    const label = element(group, "text", { y: y(row) }, short);
    const share = element(group, "text", { class: "share", y: y(row) });
    if (short !== text) element(group, "title", {}, text);
    return { group, rect, label, share, text };
  });
  const widths = words.map(({ label }) => label.getComputedTextLength());
  return { words, width: Math.max(...widths) * 1.08 + 2 * GAP };  // bold letters are wider
}

// Places the words of a column to the left (-1) or right (1) of x.
function place({ words, width }, x, direction) {
  const anchor = direction < 0 ? "end" : "start";
  for (const { rect, label, share } of words) {
    rect.setAttribute("x", direction < 0 ? x - width : x);
    rect.setAttribute("width", width);
    label.setAttribute("x", x + direction * GAP);
    label.setAttribute("text-anchor", anchor);
    share.setAttribute("x", x + direction * (width + 4));
    share.setAttribute("text-anchor", anchor);
  }
}

function show(weights) {
  data = weights;
  redraw();
}

function redraw() {
  if (!data) return;
  readAddress();
  draw();
}

document.getElementById("chooser").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", redraw);
let resized;
addEventListener("resize", () => {
  cancelAnimationFrame(resized);
  resized = requestAnimationFrame(() => data && draw());
});
