// Builds the two bundles and the style sheet into the Python package. The same sources give the same bytes.
import { build } from "esbuild";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const here = new URL("..", import.meta.url).pathname;
const target = `${here}../minigrad_widgets/static/`;
const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
  banner: { js: "/* With d3-dag, (c) Erik Brinkman, MIT licence: see LICENSES.txt in minigrad_widgets/static. */" },
  logLevel: "warning",
};

await build({ ...shared, entryPoints: ["src/index.ts"], format: "esm", outfile: `${target}inspector.js` });
await build({ ...shared, entryPoints: ["src/standalone.ts"], format: "iife", outfile: `${target}player.js` });
await build({ ...shared, banner: {}, entryPoints: ["src/style.css"], outfile: `${target}inspector.css` });

/** The licences of a package that is inside the bundles, and of all that it needs. */
function licences(name, seen = new Set()) {
  const folder = `${here}node_modules/${name}/`;
  if (seen.has(name) || !existsSync(folder)) return [];
  seen.add(name);
  const { license, dependencies = {} } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const text = file ? readFileSync(`${folder}${file}`, "utf8").replaceAll("\r\n", "\n").trim() : `licence: ${license}`;
  return [`${name}\n\n${text}\n`, ...Object.keys(dependencies).sort().flatMap((each) => licences(each, seen))];
}

writeFileSync(`${target}LICENSES.txt`, licences("d3-dag").join(`\n${"-".repeat(79)}\n\n`));
