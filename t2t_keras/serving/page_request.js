// Translates a text, and lists the translations and shows the attention of the chosen one. The page
// defines MODEL, the address of the model.
const byId = (id) => document.getElementById(id);
const EMPTY = "(empty)";  // stands for an empty translation
const LOWEST_SCORE = -1e30;  // lower scores mark missing translations: JSON has no −∞
let signatures = {};
let job = null;  // the text being shown, its options, the chosen translation, the words of each one
// Counters of texts and choices. An answer to any but the newest is dropped.
let requests = 0, choices = 0;
let running = new AbortController();  // aborts the requests for the previous text

// An error with a message for the user.
class UserError extends Error {}

// Sends a request to the server and returns its answer.
async function ask(path, body) {
  let response, answer;
  try {
    response = await fetch(MODEL + path, body && {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body), signal: running.signal,
    });
  } catch {
    throw new UserError("The server cannot be reached. Is it still running?");
  }
  try {
    answer = await response.json();
  } catch {
    throw new UserError(`The server's answer is not valid JSON (HTTP status ${response.status}).`);
  }
  if (!response.ok) {
    throw new UserError(answer.error
      ? withLabels(answer.error) : `The server failed (HTTP status ${response.status}).`);
  }
  return answer;
}

async function predict(signature, instance) {
  const { predictions } = await ask(":predict", { signature_name: signature, instances: [instance] });
  return predictions[0];
}

function showError(id, error) {
  if (!(error instanceof UserError)) console.error(error);
  const message = error instanceof UserError ? error.message : "The server's answer is incomplete.";
  byId(id).textContent = message;
  byId(id).hidden = false;
}

async function translate() {
  const text = byId("text").value.trim();
  const request = ++requests;
  choices++;
  byId("error").hidden = true;
  let next;
  try {
    if (!text) throw new UserError("There is nothing to translate. Type some text above.");
    next = { text, options: changedOptions(), chosen: null, words: new Map() };
  } catch (error) {
    showError("error", error);
    return;
  }
  running.abort();
  running = new AbortController();
  byId("state").textContent = "Translating …";
  try {
    const translations = await translationsOf(next);
    if (request !== requests) return;
    job = next;
    byId("answer").hidden = false;
    if (data) change({ pinned: null });  // the pinned word belongs to the previous text
    list(translations, choose);
    byId("state").textContent = "";
    await Promise.all([choose(translations[0].text), addWords(job)]);
  } catch (error) {
    if (request !== requests) return;
    byId("answer").hidden = byId("attention").hidden = true;
    showError("error", error);
  } finally {
    if (request === requests) byId("state").textContent = "";
  }
}

// Returns the translations of a text with their scores, best first.
async function translationsOf({ text, options }) {
  let signature = "translate_n_best";
  if (Object.keys(options).length) signature = OPTIONS;
  else if (!(signature in signatures)) {
    const { translations, scores } = await predict("serving_default", { text });
    return [{ text: translations, score: scores }];
  }
  const { translations, scores } = await predict(signature, { text, ...options });
  const pairs = translations.map((each, n) => ({ text: each, score: scores[n] }));
  // If the search found fewer than n, the rest has no score.
  return pairs.filter(({ score }, n) => !n || (score !== null && score > LOWEST_SCORE));
}

function list(translations, choose) {
  const group = byId("translations");
  group.querySelectorAll("label").forEach((label) => label.remove());
  translations.forEach(({ text, score }, n) => {
    const label = element(group, "label");
    const input = element(label, "input", { type: "radio", name: "translation", value: n });
    const span = element(label, "span");
    element(span, "b", {}, score === null ? "–" : score.toFixed(3).replace("-", "\u2212"));
    element(span, "i", { dir: "auto" }, text || EMPTY);
    input.checked = n === 0;
    input.addEventListener("change", () => choose(text));
  });
}

async function choose(translation) {
  job.chosen = translation;
  showTranslation(job);
  await showAttention(job);
}

// Shows the attention weights of a job's chosen translation, or why there are none.
async function showAttention({ text, options, chosen }) {
  if (!("attention" in signatures)) return;
  const choice = ++choices;
  const reason = noAttention(text, options);
  let weights, failure;
  if (!reason) {
    try {
      const line = text.replace(/\s*\n\s*/g, " ");
      weights = weightsOf(await predict("attention", { text: line, translation: chosen }));
    } catch (error) {
      failure = error;
    }
  }
  if (choice !== choices) return;
  byId("attention").hidden = false;
  byId("attention-error").hidden = true;
  byId("attention-note").textContent = reason;
  byId("attention-note").hidden = !reason;
  byId("view").hidden = !weights;
  if (failure) showError("attention-error", failure);
  else if (weights) show(weights);
}

// A line break, or the end of a sentence before a capital letter or a digit.
const NEXT_SENTENCE =
  /\n|[.!?…][^\p{L}\p{N}\s]*\s+[^\p{L}\p{N}\s]*[\p{Lu}\p{N}]|[。！？][^\p{L}\p{N}]*[\p{L}\p{N}]/u;

// Returns why the attention for a text would not be that of its translation; "" if it would.
function noAttention(text, options) {
  if (options.markup) return "Attention is shown for texts without markup.";
  const split = options.require ? false : options.split ?? defaultOf("split");
  if (!split || !NEXT_SENTENCE.test(text)) return "";
  return "Attention is shown for single sentences, and this text seems to have several, which are " +
    "translated one by one. To see the attention of the whole text, choose “all as one” for " +
    "“Sentences” in the options.";
}

// Converts an answer to the data of the picture: weights between words, in thousandths.
function weightsOf({ source_pieces, target_pieces, encoder, decoder, cross }) {
  const source = wordsOf(source_pieces), written = wordsOf(target_pieces);
  // The decoder reads begin and the pieces written so far.
  const read = wordsOf(["<s>", ...withoutPadding(target_pieces).slice(0, -1)]);
  const kind = (title, layers, queries, keys) => ({
    title, queries: queries.map(({ text }) => text), keys: keys.map(({ text }) => text),
    layers: layers.map((heads) => heads.map((rows) => joined(rows, queries, keys))),
  });
  return {
    "decoder-cross": kind("Cross-attention", cross, written, source),
    "encoder-self": kind("Encoder self-attention", encoder, source, source),
    "decoder-self": kind("Decoder self-attention", decoder, written, read),
  };
}

const MARKS = new Set(["<s>", "</s>", "<pad>"]);
const SPACE = "\u2581";  // the first character of a piece that begins a word

// Removes the empty strings that pad the pieces.
function withoutPadding(pieces) {
  const end = pieces.indexOf("");
  return end < 0 ? pieces : pieces.slice(0, end);
}

function wordsOf(pieces) {
  const groups = [];
  let afterMark = true;
  for (const piece of withoutPadding(pieces)) {
    const mark = MARKS.has(piece);
    if (afterMark || mark || piece.startsWith(SPACE)) groups.push([]);
    groups.at(-1).push(piece);
    afterMark = mark;
  }
  return groups.map((group) => ({ text: textOf(group), size: group.length }));
}

// Joins pieces to text. Pieces that are single bytes, such as <0xE6>, are decoded as UTF-8.
function textOf(pieces) {
  const bytes = pieces.flatMap((piece) => {
    const [, byte] = piece.match(/^<0x([0-9A-F]{2})>$/) ?? [];
    return byte ? [parseInt(byte, 16)] : [...new TextEncoder().encode(piece)];
  });
  return new TextDecoder().decode(new Uint8Array(bytes)).replaceAll(SPACE, " ").trim() || SPACE;
}

// Joins the weights of pieces to weights of words: the sum over a key's pieces, the mean over a
// query's pieces.
function joined(weights, queries, keys) {
  let row = 0;
  return queries.map(({ size }) => {
    const rows = weights.slice(row, row += size);
    let column = 0;
    return keys.map((key) => {
      const start = column, end = column += key.size;
      let sum = 0;
      for (const each of rows) for (let k = start; k < end; k++) sum += each[k];
      return Math.round(1000 * sum / size);
    });
  });
}

byId("request").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
byId("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  translate();
});

ask("/metadata").then(({ model_spec, metadata }) => {
  signatures = metadata.signature_def.signature_def;
  offerOptions();
  byId("version").textContent = `version ${model_spec.version}`;
  document.body.dataset.ready = "yes";
}).catch((error) => showError("error", error));
