// @vitest-environment node
/** The folders of src: what a file may import stands in a folder to the left of its own, or in the same. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const source = new URL("../src/", import.meta.url);
const ORDER = ["trace", "live", "layout", "page", "graph", "inspector", "lenses", "lesson"];

it("has these folders", () => {
  const found = readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(found.map((entry) => entry.name).sort()).toEqual([...ORDER].sort());
});

it.each(ORDER)("%s imports nothing that stands higher", (folder) => {
  const files = readdirSync(new URL(folder, source)).filter((name) => name.endsWith(".ts"));
  for (const file of files) {
    const text = readFileSync(new URL(`${folder}/${file}`, source), "utf8");
    const others = [...text.matchAll(/from "\.\.\/(\w+)/g)].map((match) => match[1] ?? "");
    for (const other of others) expect(ORDER.slice(0, ORDER.indexOf(folder)), `${folder}/${file}`).toContain(other);
  }
});
