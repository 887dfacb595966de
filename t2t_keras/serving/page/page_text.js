// The box with the text to translate: its length, an example, clearing; and copying.
const count = (number) => number.toLocaleString("en");
const encoder = new TextEncoder();
const bytesOf = (text) => encoder.encode(text).length;

// The end of a sentence before a letter that is not lower-case, or before a digit; and the end of a
// sentence in a script that needs no space there.
const ENDS = [
  /([.!?…؟۔।॥։።][^\p{L}\p{N}\s]{0,5})\s+(?=[^\p{L}\p{N}\s]{0,5}[\p{Lu}\p{Lt}\p{Lo}\p{N}])/gu,
  /([。！？｡][^\p{L}\p{N}\s]{0,5})\s*(?=[^\p{L}\p{N}]{0,5}[\p{L}\p{N}])/gu,
];

// Returns the sentences of a text, about as the server divides it.
function sentencesOf(text) {
  return ENDS.reduce((lines, end) => lines.replace(end, "$1\n"), text).split("\n").filter((sentence) => sentence.trim());
}

// Whether the server divides a text into sentences, given its options.
const splits = ({ require, split }) => require ? false : split ?? defaultOf("split") ?? false;

// Says how long the text is, and warns if the server will refuse it.
function noteLength() {
  const text = byId("text").value.trim();
  const chosen = { true: true, false: false }[byId("split").value];
  const parts = splits({ require: byId("require").value.trim(), split: chosen }) ? sentencesOf(text) : [text];
  // A UTF-16 unit has at most three bytes in UTF-8.
  const longest = parts.reduce((most, part) => 3 * part.length <= most ? most : Math.max(most, bytesOf(part)), 0);
  const whole = bytesOf(JSON.stringify(text));
  const characters = [...text].length;
  const [name, size, limit] = whole > LIMITS.body
    ? ["", whole, LIMITS.body] : [parts.length > 1 ? "longest sentence " : "", longest, LIMITS.text];
  const tooLong = size > limit;
  byId("count").textContent = `${count(characters)} character${characters === 1 ? "" : "s"}, ${name}` +
    `${count(size)} of ${count(limit)} bytes${tooLong ? ": too long" : ""}`;
  byId("count").classList.toggle("over", tooLong);
  byId("text").ariaInvalid = tooLong;
  byId("clear").hidden = !byId("text").value;
  byId("example").hidden = Boolean(text) || !model.example;
}

// Replaces the text. The browser's undo brings the previous one back.
function replaceText(text) {
  const box = byId("text");
  box.focus();
  box.select();
  document.execCommand(text ? "insertText" : "delete", false, text);
  if (box.value !== text) box.value = text;
  noteLength();
}

// Copies a text. The clipboard's other interface needs HTTPS.
function copied(text) {
  const focused = document.activeElement;
  const field = element(document.body, "textarea", { class: "unseen", readonly: "" });
  field.value = text;
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused.focus();
  return done;
}

byId("clear").addEventListener("click", () => replaceText(""));
byId("example").addEventListener("click", () => { replaceText(model.example); translate(); });
byId("request").addEventListener("input", noteLength);
byId("reset").addEventListener("click", noteLength);
addEventListener("pageshow", noteLength);  // the browser may have restored an earlier text
