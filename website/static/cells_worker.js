// Runs the cells of a lesson's page in Pyodide, in a worker of their own: the page stays quick, and can stop them.
// It gets {run, source}, {widget, data}; it posts JSON of website/shell.py, and {read}, {ready}, {done, well}, {failed}.
const base = new URL('../lab/static/pyodide/', self.location).href;
const packages = ['comm', 'minigrad-kit', 'traitlets']; // as in website/cells.py

// How much was read so far is what there is to say about a download. Of files that are read at once, and of their parts.
const plain = self.fetch;
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
  const text = (await plain(new URL('cells_shell.py', self.location))).text();
  importScripts(`${base}pyodide.js`);
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
  const { python, shell, hear, quiet } = await started;
  if ('widget' in asked) return hear(asked.widget, asked.data);
  // IPython would be fetched for a cell that names it, though the shell has its own.
  await python.loadPackagesFromImports(asked.source.replaceAll('IPython', 'sys'), quiet).catch(() => undefined);
  postMessage({ done: asked.run, well: await shell.run(asked.run, asked.source) });
};
