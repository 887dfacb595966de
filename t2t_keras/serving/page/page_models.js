// The choice of a model, and the names of its languages.
function languageName(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
}

const pairName = ({ source, target }) => source && `${languageName(source)} → ${languageName(target)}`;

// Returns the name of a model in the choice: its languages, if no other model has the same.
function choiceName(each) {
  const name = pairName(each);
  if (!name) return each.name;
  const same = MODELS.filter((other) => pairName(other) === name);
  return same.length > 1 ? `${name} (${each.name})` : name;
}

// Returns a served model for the opposite direction.
const reverse = () => MODELS.find(({ source, target }) =>
  source && source === model.target && target === model.source && source !== target);

// Returns the language of a translation, given its options; null if it is not known.
function targetOf({ to }) {
  return to ? to.match(/^\W*2?([a-z]{2,3}(-\w+)*)\W*$/i)?.[1] ?? null : model.target;
}

// Labels source and translation with their languages.
function showLanguages(options) {
  const { source } = model, target = targetOf(options);
  const named = (title, code) => code ? `${title}: ${languageName(code)}` : title;
  byId("source-label").textContent = byId("words-label").textContent = named("Source", source);
  byId("target-label").textContent = named("Translation", target);
  for (const id of ["text", "source", "glossary"]) byId(id).lang = source ?? "";
  for (const id of ["translation", "marked", "prefix", "require"]) byId(id).lang = target ?? "";
}

// Shows a model and asks the server for its signatures.
async function useModel(next) {
  model = next;
  signatures = {};
  loading = null;
  abandon();
  hideAnswer();
  showLanguages({});
  document.title = byId("name").textContent = model.name;
  byId("version").textContent = "";
  byId("error").hidden = true;
  byId("model").value = MODELS.indexOf(model);
  byId("swap").hidden = !reverse();
  byId("documents").hidden = !model.source;
  byId("download").hidden = true;
  noteLength();
  try {
    await signaturesKnown();
    if (next === model) noteLength();
  } catch (error) {
    if (next === model) showError("error", error);
  }
}

MODELS.forEach((each, n) => element(byId("model"), "option", { value: n }, choiceName(each)));
byId("models").hidden = MODELS.length < 2;
byId("model").addEventListener("change", () => useModel(MODELS[byId("model").value]));
byId("swap").addEventListener("click", () => {
  const shown = !byId("answer").hidden && job.text === byId("text").value.trim();
  const translation = shown ? job.chosen : "";
  useModel(reverse());
  if (translation) replaceText(translation);
});
byId("key").addEventListener("change", () => { if (!loading) useModel(model); });
byId("key-field").addEventListener("submit", (event) => { event.preventDefault(); byId("text").focus(); });
askForKey();
useModel(model);
