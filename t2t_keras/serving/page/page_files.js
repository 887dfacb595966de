// Translates a document that is chosen or dropped on the page, and offers the result to download.
async function translateFile(file) {
  byId("error").hidden = byId("download").hidden = true;
  const request = abandon();
  setWaiting(true);
  try {
    const form = new FormData();
    const fields = { file, source: model.source, target: model.target };
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    const answer = await ask(null, form);
    if (request !== requests) return;
    const name = answer.translatedFileUrl.split("/").pop();
    byId("download").href = `download_file/${name}`;
    byId("download").textContent = `Download the translation of ${file.name}`;
    byId("download").hidden = false;
  } catch (error) {
    if (request === requests) showError("error", error);
  } finally {
    if (request === requests) setWaiting(false);
  }
}

byId("file").addEventListener("change", () => {
  const [file] = byId("file").files;
  byId("file").value = "";  // so that the same file can be chosen again
  if (file) translateFile(file);
});
byId("text").addEventListener("drop", (event) => {
  const [file] = event.dataTransfer.files;
  if (!file || byId("documents").hidden) return;
  event.preventDefault();
  translateFile(file);
});
