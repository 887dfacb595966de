// The options of a text: a field for each input of the signature `translate_with_options`.
const OPTIONS = "translate_with_options";

// The value of an input, given the text in its field. Others are numbers or strings.
const VALUES = {
  split: (text) => text === "true", require: (text) => linesOf(text).join("\t"), glossary: termsOf,
};

const linesOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

// Converts lines such as "source = target" to the lines of a glossary's file, which have tabs.
function termsOf(text) {
  return linesOf(text).map((line) => {
    const [, source, target] = line.match(/^([^\t]+)\t(.+)$/) ?? line.match(/^([^=]+)=(.+)$/) ?? [];
    if (!source?.trim() || !target?.trim()) {
      throw new UserError(`The glossary's line “${line}” must have a source phrase, “=” or a tab, ` +
        "and its translation.");
    }
    return `${source.trim()}\t${target.trim()}`;
  }).join("\n");
}

const inputs = () => signatures[OPTIONS]?.inputs ?? {};
const defaultOf = (name) => signatures[OPTIONS]?.defaults?.[name];
const controls = () => [...byId("fields").querySelectorAll("input, select, textarea")];
const fields = () => controls().filter(({ id }) => id in inputs());
const isNumber = (name) => typeof defaultOf(name) === "number";
const valueOf = ({ id, value }) => (VALUES[id] ?? (isNumber(id) ? Number : String))(value.trim());
const labelOf = (field) => field.labels[0].textContent;
const isChanged = (field) => field.value.trim() !== field.dataset.initial;

// Adds a field for an option of the model that has none in page.html.
function addField(name) {
  const field = element(byId("fields"), "div", { class: "field" });
  element(field, "label", { for: name }, name.replaceAll("_", " "));
  const kind = isNumber(name) ? { type: "number", min: 0, step: "any", required: "" } : {};
  element(field, "input", { id: name, autocomplete: "off", ...kind });
}

// Shows the fields for the options that the model has, with its defaults.
function offerOptions() {
  for (const name of Object.keys(inputs())) {
    if (!byId(name) && typeof defaultOf(name) !== "boolean") addField(name);
  }
  for (const { id, parentElement } of controls()) parentElement.hidden = !(id in inputs());
  const { dim = [] } = signatures.translate_n_best?.outputs.translations.tensor_shape ?? {};
  for (const field of fields()) {
    // The six digits that a float32 has.
    field.dataset.initial = isNumber(field.id) ? Number(defaultOf(field.id).toPrecision(6)) : "";
  }
  if (dim[1]?.size > 0) byId("n_best").dataset.initial = dim[1].size;
  byId("beam").max = defaultOf("beam");
  byId("options").hidden = !fields().length;
  resetOptions();
}

function resetOptions() {
  for (const field of fields()) field.value = field.dataset.initial;
  noteChanges();
}

// Lets the page say how many options are changed, and bounds the translations by the beam width.
function noteChanges() {
  const beam = byId("beam"), count = byId("n_best");
  count.max = beam.validity.valid ? beam.value : beam.max;
  if (Number(count.value) > Number(count.max)) count.value = count.max;
  const changed = fields().filter(isChanged).length;
  byId("changed").textContent = changed ? `${changed} changed` : "";
  byId("reset").disabled = !changed;
}

// Replaces the inputs that a message of the server names by the labels of their fields.
function withLabels(message) {
  const named = (name) => fields().find((field) => field.id === name);
  return message.replace(/`(\w+)`/g, (quoted, name) => named(name) ? `“${labelOf(named(name))}”` : quoted);
}

// Returns the inputs for the changed options. Shows and focuses the first wrong field.
function changedOptions() {
  const options = {};
  for (const field of fields().filter(isChanged)) {
    try {
      if (!field.validity.valid) throw new UserError(`${labelOf(field)}: ${field.validationMessage}`);
      options[field.id] = valueOf(field);
    } catch (error) {
      byId("options").open = true;
      field.focus();
      throw error;
    }
  }
  // The signature's default is a single translation.
  if (Object.keys(options).length) options.n_best ??= Number(byId("n_best").value);
  return options;
}

for (const event of ["input", "change"]) byId("options").addEventListener(event, noteChanges);
byId("reset").addEventListener("click", resetOptions);
