// Shows the words of a text and of its translation, with confidence and alignment.
const WORD_OUTPUTS = ["alignments", "confidence"];
const DOUBTS = [[0.6, "low"], [0.9, "middle"]];  // the class of words with less confidence

// Asks for the words of a job's translations once these are shown, since it takes another search.
async function addWords(asked) {
  const wanted = WORD_OUTPUTS.filter((name) => name in inputs()).map((name) => [name, true]);
  if (!wanted.length) return;
  const { signal } = running;
  try {
    const n_best = Number(byId("n_best").dataset.initial);
    const answer = await predict(OPTIONS, {
      text: asked.text, n_best, ...asked.options, ...Object.fromEntries(wanted),
    });
    answer.translations.forEach((text, n) => asked.words.set(text, wordsAt(answer, n)));
  } catch (error) {
    asked.failure = error;
  }
  if (signal.aborted) return;
  showTranslation(asked);
  if ("confidence" in inputs()) showPercentages(asked.words);
}

// Returns the words of the n-th translation.
function wordsAt({ source_words, words, alignments, confidence }, n) {
  const items = (text) => text ? text.split(" ") : [];
  return {
    source: items(source_words), target: items(words[n]),
    pairs: alignments && items(alignments[n]).map((pair) => pair.split("-").map(Number)),
    confidence: confidence && items(confidence[n]).map(Number),
  };
}

// Shows the chosen translation of a job, and its words if they are known.
function showTranslation({ text, options, chosen, words, failure }) {
  const found = words.get(chosen);
  const known = Boolean(found?.target.length);
  const translation = byId("translation");
  const parts = known && partsOf(chosen, found.target);
  // Markup is never interpreted.
  byId("exact").hidden = !options.markup && parts !== null;
  byId("marked").value = chosen;
  translation.hidden = Boolean(options.markup) && !known;
  translation.ariaLive = known ? "off" : "polite";  // the text has been read out
  translation.replaceChildren();
  if (known) {
    showWords(found, parts ?? separated(found.target), partsOf(text, found.source) ?? separated(found.source));
  } else {
    translation.textContent = chosen || EMPTY;
  }
  byId("details").hidden = !known;
  byId("words-error").hidden = true;
  if (failure) showError("words-error", failure);
}

// Divides a text into its words, at odd indices, and the white space around them. Returns null if
// other characters stand between the words, such as markup.
function partsOf(text, words) {
  const parts = [];
  let end = 0;
  for (const word of words) {
    const start = text.indexOf(word, end);
    if (start < 0) return null;
    parts.push(text.slice(end, start), word);
    end = start + word.length;
  }
  parts.push(text.slice(end));
  return parts.every((part, n) => n % 2 || !part.trim()) ? parts : null;
}

const separated = (words) => words.flatMap((word, n) => [n ? " " : "", word]);

function showWords({ source, target, pairs, confidence }, targetParts, sourceParts) {
  const groups = { source: byId("source"), target: byId("translation") };
  const words = { source: spans(groups.source, sourceParts), target: spans(groups.target, targetParts) };
  byId("legend").hidden = !confidence;
  byId("readout").textContent = "";
  confidence?.forEach((value, n) => {
    const doubt = DOUBTS.find(([limit]) => value < limit);
    if (doubt) words.target[n]?.classList.add(doubt[1]);
  });

  // Returns the indices of the words aligned with a word.
  const other = (side) => side === "source" ? "target" : "source";
  function partners(side, word) {
    const [own, others] = side === "source" ? [0, 1] : [1, 0];
    return (pairs ?? []).filter((pair) => pair[own] === word).map((pair) => pair[others]);
  }

  function mark(side, word) {
    unmark();
    const aligned = partners(side, word);
    words[side][word].classList.add("pointed");
    for (const n of aligned) words[other(side)][n]?.classList.add("aligned");
    const texts = { source, target };
    const names = aligned.map((n) => `“${texts[other(side)][n]}”`).join(", ");
    const facts = [`“${texts[side][word]}”`];
    if (side === "target" && confidence) facts.push(`confidence ${percent(confidence[word])}`);
    if (pairs) facts.push(names ? `aligned with ${names}` : "aligned with no word");
    byId("readout").textContent = facts.join(", ").replace("”,", "”:");
  }

  function unmark() {
    for (const word of [...words.source, ...words.target]) word.classList.remove("pointed", "aligned");
    byId("readout").textContent = "";
  }

  // The tab key reaches one word of each text; the arrow keys move the focus from there.
  function focusWord(side, word) {
    const next = words[side][Math.min(Math.max(word, 0), words[side].length - 1)];
    for (const each of words[side]) each.tabIndex = each === next ? 0 : -1;
    next?.focus();
  }

  for (const side of ["source", "target"]) {
    words[side].forEach((span, word) => {
      span.tabIndex = word ? -1 : 0;
      span.addEventListener("pointerenter", () => mark(side, word));
      span.addEventListener("pointerleave", unmark);
      span.addEventListener("focus", () => mark(side, word));
      span.addEventListener("blur", unmark);
      span.addEventListener("keydown", (event) => {
        const jump = () => focusWord(other(side), partners(side, word)[0] ?? word);
        const steps = {
          ArrowLeft: () => focusWord(side, word - 1), ArrowRight: () => focusWord(side, word + 1),
          Home: () => focusWord(side, 0), End: () => focusWord(side, Infinity),
          ArrowUp: jump, ArrowDown: jump, Escape: unmark,
        };
        if (!steps[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        steps[event.key]();
      });
    });
  }
}

// Fills an element with parts of a text and returns the elements of its words. They are put into an
// element outside of the page first: browsers look for the direction of the text at each addition.
function spans(parent, parts) {
  const text = document.createElement("span");
  parts.forEach((part, n) => {
    if (n % 2) element(text, "span", { class: "piece" }, part);
    else text.append(part);
  });
  parent.replaceChildren(text);
  return [...text.children];
}

// Rounds towards 0, so that only certainty is 100 %.
const percent = (value) => value >= 0 ? `${Math.floor(100 * value + 1e-6)} %` : "unknown";
