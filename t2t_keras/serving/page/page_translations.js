// The list of translations, each with the model's confidence in percent.
const MEASURES = {
  confidence: "Percent: mean confidence per word (geometric mean). The order is that of the model's " +
    "scores: log-probability, adjusted for length.",
  score: "Scores: log-probability, adjusted for length. Closer to 0 is better.",
};

function list(translations, choose) {
  const group = byId("translations");
  const rated = "confidence" in inputs();
  group.querySelectorAll("label").forEach((label) => label.remove());
  translations.forEach(({ text, score }, n) => {
    const label = element(group, "label");
    const input = element(label, "input", { type: "radio", name: "translation", value: n });
    const span = element(label, "span");
    element(span, "b", { title: `Score ${scoreText(score)}` }, rated ? "" : scoreText(score));
    element(span, "i", { dir: "auto", lang: byId("translation").lang }, text || EMPTY);
    input.checked = n === 0;
    input.addEventListener("change", () => choose(text));
  });
  byId("measure").textContent = MEASURES[rated ? "confidence" : "score"];
}

const scoreText = (score) => score === null ? "–" : score.toFixed(3).replace("-", "\u2212");

// Fills in the percentages of the listed translations, given the words of each one.
function showPercentages(words) {
  for (const span of byId("translations").querySelectorAll("label span")) {
    const { confidence } = words.get(span.querySelector("i").textContent) ?? {};
    span.querySelector("b").textContent = confidence?.length ? percent(geometricMean(confidence)) : "–";
  }
}

const geometricMean = (values) =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
