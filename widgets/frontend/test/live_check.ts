/** Holds live numbers to another run in Python: pairs of traces in a file of one JSON text a line. */
import { readFileSync } from "node:fs";
import { reached } from "../src/live/follow";
import { Live } from "../src/live/live";
import { numbersOf } from "../src/live/previews";
import { pieces } from "../src/trace/expression";
import { parseTrace } from "../src/trace/file";
import type { Maybe, Trace, Value } from "../src/trace/types";

interface Pair {
  seed: number | string;
  recorded: unknown;
  other: unknown;
  numbers: Record<string, (number | number[])[]>;
  /** The recorded expressions as Python writes them. */
  texts: string[];
  /** Of a leaf, the entry that is NaN in the other trace: what it reaches is to be found. */
  followed?: { leaf: string; at: number };
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

let [values, changed, wrong, kept, read] = [0, 0, 0, 0, 0];
const complaints: string[] = [];
/** Programs in which a number is wrong, and nothing is said. */
const silent: (number | string)[] = [];
/** What a number reaches, held to a run in which it was NaN. */
function checkReach(seed: number | string, live: Live, other: Trace, { leaf, at }: { leaf: string; at: number }): void {
  const start = live.trace.tensors.findIndex(({ name }) => name === leaf);
  const found = new Map(reached(live, start, at).map(({ tensor, count }) => [tensor, count]));
  live.trace.tensors.forEach((record, id) => {
    const [x, y] = [live.trace.values[record.value], other.values[other.tensors[id]?.value ?? -1]].map(numbersOf);
    if (!x || !y || id === start) return;
    values++;
    // what does not change is rounded otherwise where NumPy computes several numbers at once, one of them NaN
    const differ = x.data.filter((each, i) => !(Math.abs(each - (y.data[i] as number)) <= 1e-6)).length;
    if (differ > 0) changed++;
    if (differ === (found.get(id) ?? 0)) return;
    wrong++;
    complaints.push(`seed ${seed}: ${leaf}[${at}] reaches ${found.get(id) ?? 0} of tensor ${id}, and ${differ} in Python`);
  });
}

for (const line of readFileSync(process.argv[2] ?? "", "utf8").split("\n").filter((each) => each !== "")) {
  const { seed, recorded, other, numbers, texts, followed } = JSON.parse(line) as Pair;
  const [live, wanted] = [new Live(parseTrace(recorded)), parseTrace(other)];
  texts.forEach((text, at) => {
    const mine = pieces(live.trace.expressions?.[at] ?? null, (operand) => operand).map((piece) => piece.text).join("");
    if (mine !== text) complaints.push(`seed ${seed}: ${mine} is ${text} in Python`);
  });
  if (followed) {
    checkReach(seed, live, wanted, followed);
    continue;
  }
  const ids = live.trace.tensors.map((record, id) => [record.name, id] as const);
  const changes = new Map(Object.entries(numbers).flatMap(([name, data]) => ids.filter(([each]) => each === name).slice(0, 1).map(([, id]) => [id, data.flat()] as const)));
  live.run(changes);
  for (const { what, why } of live.kept) complaints.push(`seed ${seed}: ${what}: ${why}`);
  kept += live.kept.length;
  read += live.read.length;
  const before = wrong;
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
  if (wrong > before && live.read.length === 0) silent.push(seed);
  live.run(new Map());
  for (const value of live.trace.values) if (value.live || value.stale) complaints.push(`seed ${seed}: not as recorded after a reset`);
}
console.log(JSON.stringify({ values, live: changed, wrong, kept, read, silent, complaints: complaints.slice(0, 40) }, null, 1));
