// Runs a Python program in Pyodide: node run.mjs PYODIDE PROGRAM PACKAGES FOLDERS, where FOLDERS is JSON, a folder of this
// machine for each mount point. The program imports minigrad from the mounted sources.
import fs from 'node:fs';

const [pyodide, program, packages, folders] = process.argv.slice(2);
const { loadPyodide } = await import(pyodide);
const python = await loadPyodide({ env: { PYTHONDONTWRITEBYTECODE: '1' } });
await python.loadPackage(packages.split(','), { messageCallback: () => {} });
for (const [at, root] of Object.entries(JSON.parse(folders))) {
  python.FS.mkdirTree(at);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, at);
}
python.runPython("import sys; sys.path[:0] = ['/src', '/src/widgets', '/src/notebooks', '/job']");
try {
  await python.runPythonAsync(fs.readFileSync(program, 'utf8'), { filename: program });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
