// The attention weights of a translation, between words.
let choices = 0;  // a counter of choices; the weights of any but the newest are dropped

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

// Returns why the attention for a text would not be that of its translation; "" if it would.
function noAttention(text, options) {
  if (options.markup) return "Attention is shown for texts without markup.";
  if (!splits(options) || sentencesOf(text).length < 2) return "";
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

