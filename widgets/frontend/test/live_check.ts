/** Holds live numbers to another run in Python: pairs of traces in a file of one JSON text a line. */
import { readFileSync } from "node:fs";
import { Live } from "../src/live/live";
import { numbersOf } from "../src/live/numbers";
import { pieces } from "../src/trace/expression";
import { parseTrace } from "../src/trace/types";
import type { Maybe, Trace, Value } from "../src/trace/types";

interface Pair {
  seed: number;
  recorded: unknown;
  other: unknown;
  numbers: Record<string, (number | number[])[]>;
  /** The recorded expressions as Python writes them. */
  texts: string[];
}

const FIELDS = ["gradient", "sum", "grad", "value", "result"];

/** All previews of a trace, by where they stand. */
function previews(trace: Trace): Map<string, Maybe> {
  const found = new Map<string, Maybe>();
  trace.tensors.forEach((record, id) => found.set(`tensor ${id}`, record.value));
  trace.nodes.forEach((node, id) => node.saved.forEach(([name, , value]) => found.set(`${node.name} ${id}.${name}`, value)));
  trace.events.forEach((event, step) => {
    for (const field of FIELDS) {
      const value = (event as unknown as Record<string, unknown>)[field];
      if (Array.isArray(value)) value.forEach((each, at) => found.set(`step ${step} ${event.kind}.${field}[${at}]`, each as Maybe));
      else if (value !== undefined) found.set(`step ${step} ${event.kind}.${field}`, value as Maybe);
    }
  });
  return found;
}

function far(found: Value | undefined, wanted: Value | undefined): boolean {
  const [x, y] = [found, wanted].map(numbersOf);
  if (!x || !y) return found?.stats !== undefined && JSON.stringify(found.shape) !== JSON.stringify(wanted?.shape);
  const size = y.data.reduce((a, b) => Math.max(a, Math.abs(Number.isFinite(b) ? b : 0)), 0.05);  // numbers around 1 that cancel leave float32 noise
  return y.data.some((each, at) => {
    const mine = x.data[at] as number;
    if (!Number.isFinite(each)) return !Object.is(each, mine);
    return !(Math.abs(each - mine) <= 3e-5 * size);
  });
}

let [values, changed, wrong, kept] = [0, 0, 0, 0];
const complaints: string[] = [];
for (const line of readFileSync(process.argv[2] ?? "", "utf8").split("\n").filter((each) => each !== "")) {
  const { seed, recorded, other, numbers, texts } = JSON.parse(line) as Pair;
  const [live, wanted] = [new Live(parseTrace(recorded)), parseTrace(other)];
  texts.forEach((text, at) => {
    const mine = pieces(live.trace.expressions?.[at] ?? null, (operand) => operand).map((piece) => piece.text).join("");
    if (mine !== text) complaints.push(`seed ${seed}: ${mine} is ${text} in Python`);
  });
  const ids = live.trace.tensors.map((record, id) => [record.name, id] as const);
  const changes = new Map(Object.entries(numbers).flatMap(([name, data]) => ids.filter(([each]) => each === name).slice(0, 1).map(([, id]) => [id, data.flat()] as const)));
  live.run(changes);
  for (const { what, why } of live.kept) complaints.push(`seed ${seed}: ${what}: ${why}`);
  kept += live.kept.length;
  const [mine, theirs] = [previews(live.trace), previews(wanted)];
  for (const [where, value] of theirs) {
    const [found, target] = [live.trace.values[mine.get(where) ?? -1], wanted.values[value ?? -1]];
    values++;
    if (found?.live) changed++;
    if (!target && !found) continue;
    if (found?.stale || !far(found, target)) continue;
    wrong++;
    complaints.push(`seed ${seed}: ${where}: ${JSON.stringify(found && { ...found, recorded: 0 })} instead of ${JSON.stringify(target)}`);
  }
  live.run(new Map());
  for (const value of live.trace.values) if (value.live || value.stale) complaints.push(`seed ${seed}: not as recorded after a reset`);
}
console.log(JSON.stringify({ values, live: changed, wrong, kept, complaints: complaints.slice(0, 40) }, null, 1));
