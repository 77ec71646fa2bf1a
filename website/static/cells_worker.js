// Runs the cells of a lesson's page in Pyodide, in a worker of their own: the page stays quick, and can stop them.
// It gets {run, source}, {widget, data}, {file, bytes or why}; it posts JSON of website/shell.py, and {read}, {ready},
// {done, well}, {failed}, {wanted}.
// The page of a folder starts it from a text: no browser lets a worker read files there, so the page does.
const inFolder = self.location.protocol === 'blob:';
const site = inFolder ? 'https://folder.invalid/_static/' : self.location.href;
const base = new URL('../lab/static/pyodide/', site).href;
const packages = ['comm', 'minigrad-kit', 'traitlets']; // as in website/cells.py
const wanted = new Map(); // by name, the files that the page was asked for

async function fromPage(url) {
  const name = decodeURIComponent(String(url.url ?? url).split('/').pop());
  const bytes = await new Promise((resolve, reject) => {
    wanted.set(name, { resolve, reject });
    postMessage({ wanted: name });
  });
  return new Response(bytes, { headers: { 'Content-Type': name.endsWith('.wasm') ? 'application/wasm' : 'application/octet-stream' } });
}

// How much was read so far is what there is to say about a download. Of files that are read at once, and of their parts.
const plain = inFolder ? fromPage : self.fetch;
self.fetch = async (...asked) => {
  const answer = await plain(...asked);
  if (!answer.ok || !answer.body) return answer;
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(part, on) {
      postMessage({ read: part.byteLength });
      on.enqueue(part);
    },
  }));
  return new Response(counted, { status: answer.status, headers: answer.headers });
};

async function start() {
  const text = (await plain(new URL('cells_shell.py', site))).text();
  for (const name of inFolder ? ['pyodide.asm.js', 'pyodide.js'] : ['pyodide.js']) { // which else asks for the other
    const script = `${base}${name}`;
    importScripts(inFolder ? URL.createObjectURL(await (await plain(script)).blob()) : script);
  }
  const python = await loadPyodide({ indexURL: base, packages, env: { MPLBACKEND: 'agg' } });
  const quiet = { messageCallback() {} };
  python.runPython(await text);
  const shell = python.globals.get('Shell')((message) => postMessage(message));
  const hear = python.globals.get('hear');
  postMessage({ ready: true });
  return { python, shell, hear, quiet };
}

const started = start();
started.catch((error) => postMessage({ failed: String(error) }));

self.onmessage = async ({ data: asked }) => {
  if ('file' in asked) {
    const { resolve, reject } = wanted.get(asked.file);
    return asked.bytes ? resolve(asked.bytes) : reject(new Error(asked.why));
  }
  const { python, shell, hear, quiet } = await started;
  if ('widget' in asked) return hear(asked.widget, asked.data);
  // IPython would be fetched for a cell that names it, though the shell has its own.
  await python.loadPackagesFromImports(asked.source.replaceAll('IPython', 'sys'), quiet).catch(() => undefined);
  postMessage({ done: asked.run, well: await shell.run(asked.run, asked.source) });
};
