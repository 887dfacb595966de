// Translates a text, and shows its translations, their words, and the attention of the chosen one.
const EMPTY = "(empty)";  // stands for an empty translation
const LOWEST_SCORE = -1e30;  // lower scores mark missing translations: JSON has no −∞
const PATIENCE = 300;  // milliseconds until a request can be cancelled; most are answered sooner
let job = null;  // the text being shown, its options, the chosen translation, the words of each one
let requests = 0;  // a counter of texts; an answer to any but the newest is dropped
let patience;

async function translate() {
  const text = byId("text").value.trim();
  byId("error").hidden = true;
  let next;
  try {
    if (!text) throw new UserError("There is nothing to translate. Type some text above.");
    next = { text, options: changedOptions(), chosen: null, words: new Map() };
  } catch (error) {
    showError("error", error);
    return;
  }
  const request = abandon();
  setWaiting(true);
  try {
    await signaturesKnown();
    if (request !== requests) return;
    const translations = await translationsOf(next);
    if (request !== requests) return;
    job = next;
    showLanguages(job.options);
    byId("answer").hidden = byId("copy").hidden = false;
    byId("placeholder").hidden = true;
    if (data) change({ pinned: null });  // the pinned word belongs to the previous text
    list(translations, choose);
    setWaiting(false);
    await Promise.all([choose(translations[0].text), addWords(job)]);
  } catch (error) {
    if (request !== requests) return;
    hideAnswer();
    showError("error", error);
  } finally {
    if (request === requests) setWaiting(false);
  }
}

// Abandons all requests in flight, and returns the number of the next one.
function abandon() {
  running.abort();
  running = new AbortController();
  choices++;
  setWaiting(false);
  return ++requests;
}

function cancel() {
  abandon();
  byId("state").textContent = "Cancelled";
  byId("text").focus();
}

// Shows whether a translation is awaited.
function setWaiting(waits) {
  byId("state").textContent = waits ? "Translating …" : "";
  byId("result").ariaBusy = waits;
  clearTimeout(patience);
  if (waits) patience = setTimeout(offerCancelling, PATIENCE, true);
  else offerCancelling(false);
}

function offerCancelling(offered) {
  byId("cancel").hidden = !offered;
  byId("hint").hidden = offered;
}

function hideAnswer() {
  for (const id of ["answer", "exact", "attention", "copy"]) byId(id).hidden = true;
  byId("translation").replaceChildren();
  byId("placeholder").hidden = false;
  byId("copied").textContent = "";
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

async function choose(translation) {
  job.chosen = translation;
  byId("copied").textContent = "";
  showTranslation(job);
  await showAttention(job);
}

byId("request").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
byId("request").addEventListener("keydown", (event) => {
  if (event.isComposing || event.repeat) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    translate();
  } else if (event.key === "Escape" && !byId("cancel").hidden) {
    cancel();
  }
});
byId("cancel").addEventListener("click", cancel);
byId("copy").addEventListener("click", () => {
  byId("copied").textContent = copied(job.chosen)
    ? "Copied" : "The browser does not allow copying. Select the translation and copy it.";
});
if (/Mac|iP/.test(navigator.platform)) byId("hint").textContent = "or press ⌘ Enter";
