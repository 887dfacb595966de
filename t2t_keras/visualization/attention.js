// Attention as lines between words, and the choice of what is shown. Every page that includes this
// has the elements #chooser, #kinds, #layers, #heads, #explained and #picture, and calls show().
"use strict";
const picture = document.getElementById("picture");
let start = "";  // what is shown where the address says nothing
let data = null;  // for each kind: title, looking and lookedAt (words), layers of heads of rows

const EXPLAINED = {
  "encoder-self": "On the left the source's words, on the right the same words, which they look at.",
  "decoder-self": "On the left each word as it is written, on the right the words that were " +
    "written before; <s> is the beginning.",
  "decoder-cross": "On the left each word as it is written, on the right the source's words.",
};
const COLUMNS = {
  "encoder-self": ["looks", "is looked at"],
  "decoder-self": ["being written", "read so far"],
  "decoder-cross": ["being written", "source"],
};
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b4fc9",
  "#8c564b"];
const colour = (head) => COLOURS[head] ?? `hsl(${Math.round(head * 137.5) % 360} 55% 48%)`;
const ROW = 25, TOP = 34, SHARE = 48, GAP = 8;  // pixels
const LONGEST = 26;  // characters of a word
const FAINTEST = 10;  // thousandths: weaker lines cannot be seen, and there are many of them

// What is shown. The address says it too, so that a view can be linked:
// #decoder-cross-3-2 is head 2 of layer 3, #decoder-cross-3-all-from5 all heads and what the
// fifth word on the left looks at, #encoder-self-1-4-to2 who looks at the second on the right.
const shown = { kind: "encoder-self", layer: 1, head: "all", pinned: null };

function readAddress() {
  const [, kind, layer, head, side, word] = (location.hash || start).match(
    /^#(\w+-\w+)(?:-(\d+)(?:-(\d+|all)(?:-(from|to)(\d+))?)?)?$/) ?? [];
  shown.kind = kind in data ? kind : Object.keys(data)[0];
  const { layers, looking, lookedAt } = data[shown.kind];
  const within = (number, count) => Math.min(Math.max(Number(number) || 1, 1), count);
  shown.layer = within(layer, layers.length);
  shown.head = head > 0 ? within(head, layers[0].length) : "all";
  shown.pinned = side
    ? { side, word: within(word, (side === "from" ? looking : lookedAt).length) - 1 } : null;
}

function writeAddress() {
  if (location.protocol === "about:") return;  // inside a report: it has no address of its own
  const { kind, layer, head, pinned } = shown;
  const word = pinned ? `-${pinned.side}${pinned.word + 1}` : "";
  history.replaceState(null, "", `#${kind}-${layer}-${head}${word}`);
}

function element(parent, name, attributes = {}, text = null) {
  const namespace = parent.namespaceURI;  // that of HTML, or of SVG
  const made = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}

// The choosers are radio buttons: arrow keys go through them.
function chooser(id, name, choices, chosen, choose) {
  const group = document.getElementById(id);
  const values = JSON.stringify(choices);
  if (group.dataset.values !== values) {
    group.dataset.values = values;
    group.querySelectorAll("label").forEach((label) => label.remove());
    for (const [value, text, tint] of choices) {
      const label = element(group, "label", tint ? { style: `--colour: ${tint}` } : {});
      const input = element(label, "input", { type: "radio", name, value });
      element(label, "span", {}, text);
      input.addEventListener("change", () => choose(value));
    }
  }
  for (const input of group.querySelectorAll("input")) {
    input.checked = input.value === String(chosen);
  }
}

function change(what) {
  const kind = shown.kind;
  Object.assign(shown, what);
  if (shown.kind !== kind) shown.pinned = null;
  writeAddress();
  draw();
}

function draw() {
  const kinds = Object.entries(data).map(([name, { title }]) => [name, title]);
  const { layers, looking, lookedAt } = data[shown.kind];
  const heads = layers[shown.layer - 1];
  const numbers = (count) => Array.from({ length: count }, (_, i) => i + 1);
  chooser("kinds", "kind", kinds, shown.kind, (kind) => change({ kind }));
  chooser("layers", "layer", numbers(layers.length).map((n) => [n, n]), shown.layer,
    (layer) => change({ layer }));
  chooser("heads", "head", [["all", "all"], ...numbers(heads.length).map((n) => [n, n, colour(n - 1)])],
    shown.head, (head) => change({ head }));
  document.getElementById("explained").textContent = EXPLAINED[shown.kind] +
    " The stronger a line, the larger the weight. Point at a word, or go there with tab and arrow" +
    " keys, to see its part; click or press Enter to keep it.";
  drawPicture(looking, lookedAt, heads);
}

function drawPicture(looking, lookedAt, heads) {
  const chosen = shown.head === "all" ? heads.map((_, h) => h) : [shown.head - 1];
  const width = Math.max(picture.parentElement.clientWidth, 340);
  const height = TOP + ROW * Math.max(looking.length, lookedAt.length) + 6;
  picture.replaceChildren();
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const lines = element(picture, "g", { class: "lines" });

  // Words first: the lines go from where they end to where they begin.
  const y = (row) => TOP + ROW * (row + 0.5);
  const sides = { from: column(looking, "from", y), to: column(lookedAt, "to", y) };
  const middle = Math.min(Math.max(width - sides.from.width - sides.to.width - 2 * SHARE, 110), 460);
  const edge = (width - middle + sides.from.width - sides.to.width) / 2;
  place(sides.from, edge, -1);
  place(sides.to, edge + middle, 1);
  COLUMNS[shown.kind].forEach((text, side) => element(picture, "text", {
    class: "heading", x: side ? edge + middle + GAP : edge - GAP, y: TOP / 2 - 3,
    "text-anchor": side ? "start" : "end" }, text));

  const spread = Math.min(3.5, (ROW - 10) / chosen.length);
  const drawn = [];
  chosen.forEach((head, place) => {
    const aside = (place - (chosen.length - 1) / 2) * spread;
    heads[head].forEach((row, from) => row.forEach((weight, to) => {
      if (weight < FAINTEST) return;
      const line = element(lines, "line", {
        x1: edge, y1: y(from) + aside, x2: edge + middle, y2: y(to) + aside,
        stroke: colour(head), "stroke-opacity": weight / 1000,
      });
      drawn.push({ line, from, to });
    }));
  });

  // How much each word of the other side has to do with this one: the mean of the chosen heads.
  const share = (from, to) =>
    chosen.reduce((sum, head) => sum + heads[head][from][to], 0) / chosen.length / 1000;
  const shareOf = (side, word, other) => side === "from" ? share(word, other) : share(other, word);

  function light(side, word) {
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
  const rest = () => light(shown.pinned?.side, shown.pinned?.word);

  function keep(side, word) {
    const same = shown.pinned?.side === side && shown.pinned?.word === word;
    shown.pinned = same ? null : { side, word };
    writeAddress();
    mark();
    rest();
  }

  function mark() {
    for (const [side, { words }] of Object.entries(sides)) {
      words.forEach(({ group }, word) => group.setAttribute(
        "aria-pressed", shown.pinned?.side === side && shown.pinned?.word === word));
    }
  }

  // One stop of the tab key; the arrow keys go on from there.
  function go(side, word) {
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
      const verb = side === "from" ? "looks at" : "is looked at by";
      group.setAttribute("aria-label", `${text} ${verb} ${others || "none"}`);
      group.addEventListener("pointerenter", () => light(side, word));
      group.addEventListener("pointerleave", rest);
      group.addEventListener("focus", () => light(side, word));
      group.addEventListener("blur", rest);
      group.addEventListener("click", () => keep(side, word));
      group.addEventListener("keydown", (event) => {
        const steps = {
          ArrowUp: () => go(side, word - 1), ArrowDown: () => go(side, word + 1),
          ArrowLeft: () => go("from", word), ArrowRight: () => go("to", word),
          Home: () => go(side, 0), End: () => go(side, words.length - 1),
          Enter: () => keep(side, word), " ": () => keep(side, word),
          Escape: () => { shown.pinned = null; writeAddress(); mark(); light(); },
        };
        if (!steps[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        steps[event.key]();
      });
    });
  }
  sides.from.words[0].group.setAttribute("tabindex", "0");
  mark();
  rest();
}

// The words of one side, not yet at their place, and how wide the widest is.
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

// Puts a column's words left (-1) or right (1) of x.
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

function show(weights, first = "") {
  data = weights;
  start = first;
  showAgain();
}

function showAgain() {
  if (!data) return;
  readAddress();
  draw();
}

document.getElementById("chooser").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", showAgain);
let resized;
addEventListener("resize", () => {
  cancelAnimationFrame(resized);
  resized = requestAnimationFrame(showAgain);
});
