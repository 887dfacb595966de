// Requests to the server, and what it says of itself. The page defines MODELS, a list of {name,
// source, target, example} in which all but the name may be null, and LIMITS in bytes.
const byId = (id) => document.getElementById(id);
const KEY = "t2t-serve-api-key";  // where the tab remembers the API key
let model = MODELS[0];  // the chosen one
let signatures = {};  // of the chosen model
let loading = null;  // the request for these signatures
let running = new AbortController();  // aborts the requests for the previous text

// An error with a message for the user.
class UserError extends Error {}

// Sends a request to the chosen model, or a form with a document, and returns the answer.
async function ask(path, body) {
  const headers = keyHeader(), isForm = body instanceof FormData;
  const address = isForm ? "translate_file" : `v1/models/${encodeURIComponent(model.name)}${path}`;
  const kind = isForm ? {} : { "Content-Type": "application/json" };
  let response, answer;
  try {
    response = await fetch(address, body ? {
      method: "POST", headers: { ...kind, ...headers },
      body: isForm ? body : JSON.stringify(body), signal: running.signal,
    } : { headers });
  } catch {
    throw new UserError("The server cannot be reached. Is it still running, and are you online?");
  }
  try {
    answer = await response.json();
  } catch {
    throw new UserError("The answer does not come from t2t-serve, or was cut off (HTTP status " +
      `${response.status}). Try again, or look into the logs of the server and of its proxy.`);
  }
  if (!response.ok) throw new UserError(messageOf(response.status, answer?.error));
  return answer;
}

// Returns the server's message about a refused request, and advice if it contains none.
function messageOf(status, error) {
  const known = typeof error === "string";
  let message = known ? withLabels(error) : `The server failed (HTTP status ${status})`;
  let advice = "";
  if (status === 401 || (status === 403 && !byId("key-field").hidden)) {
    byId("key-field").hidden = false;
    byId("key").focus();
    [message] = message.split(". ");  // the rest names headers, for programs
    advice = "Enter the API key of this server at the top.";
  } else if (status === 500 || !known) {
    advice = "The server's log tells the reason.";
  } else if ([429, 503].includes(status) && !/again/i.test(message)) {
    advice = "Try again in a moment.";
  }
  return advice ? `${message.replace(/[^.!?]$/, "$&.")} ${advice}` : message;
}

async function predict(signature, instance) {
  const { predictions } = await ask(":predict", { signature_name: signature, instances: [instance] });
  return predictions[0];
}

function showError(id, error) {
  if (!(error instanceof UserError)) console.error(error);
  byId(id).textContent = error instanceof UserError ? error.message
    : "The server's answer is incomplete. Try again; the server's log may tell the reason.";
  byId(id).hidden = false;
}

// Waits until the signatures of the chosen model are known, which may need another attempt.
async function signaturesKnown() {
  const attempt = loading ??= loadSignatures(model);
  try {
    await attempt;
  } catch (error) {
    if (loading === attempt) loading = null;
    throw error;
  }
}

async function loadSignatures(asked) {
  const { model_spec, metadata } = await ask("/metadata");
  if (asked !== model) return;
  signatures = metadata.signature_def.signature_def;
  offerOptions();
  byId("version").textContent = `version ${model_spec.version}`;
  document.body.dataset.ready = "yes";
}

// Returns the header with the API key; none if the field is empty.
function keyHeader() {
  const key = byId("key").value.trim();
  if (/[^\x21-\x7e]/.test(key)) {
    throw new UserError("An API key has only letters, digits and signs of ASCII. Correct it at the top.");
  }
  return key ? { "X-API-Key": key } : {};
}

// Shows the field of the API key if the server requires one. Servers without keys may not know the
// address.
async function askForKey() {
  try {
    const response = await fetch("frontend/settings");
    if (response.ok && (await response.json()).keyRequired) byId("key-field").hidden = false;
  } catch { /* the request for the signatures reports that the server cannot be reached */ }
}

// The browser may forbid storage.
try {
  byId("key").value = sessionStorage.getItem(KEY) ?? "";
} catch { /* the key is typed for each visit */ }
byId("key").addEventListener("input", () => {
  try {
    sessionStorage.setItem(KEY, byId("key").value.trim());
  } catch { /* the same */ }
});
