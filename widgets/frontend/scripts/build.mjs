// Builds two bundles and the style sheet into the Python package, and the script of the site's pages. The same sources
// give the same bytes.
import { build } from "esbuild";

const here = new URL("..", import.meta.url).pathname;
const target = `${here}../minigrad_widgets/static/`;
const site = `${here}../../website/static/`;
const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
};

await build({ ...shared, entryPoints: ["src/widget.ts"], format: "esm", outfile: `${target}inspector.js` });
await build({ ...shared, entryPoints: ["src/card.ts"], format: "esm", outfile: `${target}card.js` });
await build({ ...shared, entryPoints: ["src/standalone.ts"], format: "iife", outfile: `${site}player.js` });
await build({ ...shared, entryPoints: ["src/style.css"], outfile: `${target}inspector.css` });
