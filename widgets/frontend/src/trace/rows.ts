/** What each box of the graph did, as minigrad_widgets/graph/rows.py hands it over: the columns of the map and the table. */
import { bytes as amount, number, shape } from "./format";
import { scopeOf, type BoxId } from "./groups";
import type { Maybe, Trace } from "./types";

export interface Row {
  output: readonly number[] | null;
  parameters: number;
  forward: Maybe;
  backward: Maybe;
  saved: number;
  flops: number;
  gradient: number | string | null;
}

/** What a table has in columns, and is sorted by. */
export const MEASURES = [
  ["forward", "time", "time of the ops"],
  ["backward", "derivative", "time of their derivatives"],
  ["saved", "saved", "saved bytes"],
  ["flops", "FLOPs", "FLOPs (estimate)"],
  ["parameters", "parameters", "parameters"],
  ["gradient", "‖∇‖", "norm of the gradient of the output"],
] as const;
/** The time of one run varies so many times: of parts that are closer to each other it does not tell which costs more. */
export const VARIES = 2;
/** What boxes may be coloured by: what the table has, and the time of a part in all, which boxes say first. */
export const COLOURS = [["time", "", "time, both passes"], ...MEASURES] as const;
export type Measure = (typeof COLOURS)[number][0];

export const isTime = (measure: Measure): boolean => measure === "time" || measure === "forward" || measure === "backward";

const numel = (sizes: readonly number[] | null): number => (sizes ?? []).reduce((a, b) => a * b, 1);

export class Rows {
  constructor(private readonly trace: Trace) {}

  of(box: BoxId): Row | null {
    const { rows, nodes, tensors } = this.trace;
    if (!rows) return null;
    if (box < 0) {
      const [output = null, parameters = 0, forward = null, backward = null, saved = 0, flops = 0, gradient = null] = rows.scopes[scopeOf(box)] ?? [];
      return { output, parameters, forward, backward, saved, flops, gradient };
    }
    const node = nodes[box];
    const tensor = tensors[node?.variable ?? node?.outputs[0] ?? -1];
    const [forward, backward] = node?.seconds ?? [null, null];
    const [saved = 0, flops = 0, gradient = null] = rows.nodes[box] ?? [];
    const output = tensor?.shape ?? null;
    return { output, parameters: node?.variable !== undefined && tensor?.parameter ? numel(output) : 0, forward, backward, saved, flops, gradient };
  }

  /** The measures that this recording knows. */
  get known(): Measure[] {
    if (!this.trace.rows) return [];
    const timed = this.trace.nodes.some((node) => node.seconds !== undefined);
    const reached = this.trace.rows.nodes.some(([, , gradient]) => gradient !== null);
    const all = COLOURS.map(([name]) => name);
    return all.filter((name) => (isTime(name) ? timed : name === "gradient" ? reached : true));
  }
}

function valueIn(row: Row, measure: Measure): number | string | null {
  if (measure !== "time") return row[measure];
  return row.forward === null && row.backward === null ? null : (row.forward ?? 0) + (row.backward ?? 0);
}

/** A measure as a number to sort and to colour by; null where it is unknown. */
export function sizeIn(row: Row | null, measure: Measure): number | null {
  const value = row && valueIn(row, measure);
  if (value === "nan" || value === "inf" || value === "-inf") return Infinity;
  return typeof value === "string" ? null : value;
}

/** The root mean square of the gradient's entries; null where it is unknown. */
export function gradientSize({ gradient, output }: Row): number | string | null {
  return typeof gradient === "number" ? gradient / Math.sqrt(Math.max(1, numel(output))) : gradient;
}

/** A number with its unit, in so many digits, all those before the point included. */
function scaled(value: number, digits: number, by: readonly (readonly [least: number, unit: string])[]): string {
  const [size, unit] = by.find(([least]) => Math.abs(value) >= least) ?? by.at(-1) ?? [1, ""];
  const whole = Math.round(Math.abs(value / size)).toString().length;
  return `${Number((value / size).toPrecision(Math.max(digits, whole)))} ${unit}`.trim();
}

/** A measure with its unit; nothing where it is unknown, or zero. */
export function measureText(row: Row, measure: Measure, digits = 3): string {
  const value = valueIn(row, measure);
  if (value === null || (value === 0 && measure !== "gradient")) return "";
  if (typeof value === "string") return value;
  if (measure === "saved") return amount(value, digits);
  if (measure === "flops") return scaled(value, digits, [[1e12, "TFLOP"], [1e9, "GFLOP"], [1e6, "MFLOP"], [1e3, "kFLOP"], [1, "FLOP"]]);
  if (measure === "parameters") return value < 10 ** (digits + 1) ? value.toLocaleString("en") : scaled(value, digits, [[1e9, "G"], [1e6, "M"], [1e3, "k"]]).replace(" ", "");
  if (measure === "gradient") return number(Number(value.toPrecision(digits))).replace(/\.$|\.?0+(?=e)/, "");
  return scaled(value, digits, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]);
}

/** So many of something. */
export const several = (count: string, of: string): string => `${count} ${of}${count === "1" ? "" : "s"}`;

/** What is said first: the measure that colours the box, of FLOPs with the gradient; one line begins with what the colour does not say. */
function beginning(row: Row, colour: Measure | null, alone: boolean): (Measure | null)[] {
  if (colour === "flops") return alone ? ["gradient", colour] : [colour, "gradient"];
  if (!alone) return [colour];
  return [colour === "gradient" ? "time" : colour === "time" && sizeIn(row, "gradient") !== null ? "gradient" : colour];
}

/** What every box says, in the same order: what is to be first, what is asked first, then what it is and keeps; some in fewer letters, too. */
function parts(row: Row, begin: readonly (Measure | null)[]): [name: string, ...texts: string[]][] {
  const saved = measureText(row, "saved", 2);
  const norm = (digits: number): string => measureText(row, "gradient", digits).replace(/^(?=.)/, "‖∇‖ ");
  const told: [string, ...string[]][] = [
    ["time", measureText(row, "time", 2)],
    ["gradient", norm(2), norm(1)],
    ["output", row.output ? shape(row.output) : ""],
    ["parameters", row.parameters > 0 ? several(measureText(row, "parameters", 2), "param") : ""],
    ["saved", saved.replace(/^(?=.)/, "saved "), saved.replace(/^(?=.)/, "■ ")],
  ];
  for (const first of begin) if (first === "flops" || first === "forward" || first === "backward") told.push([first, measureText(row, first, 2).replace(/(?<=.)$/, first === "flops" ? "" : ` ${first}`)]);
  return [...begin.flatMap((wanted) => told.filter(([name]) => name === wanted)), ...told.filter(([name]) => !begin.includes(name as Measure))];
}

/** How many parts stand in the upper one of two lines, and the letters that are as wide as the dot between two parts. */
const [UPPER, DOT] = [2, 2];

/** As much of a row as fits into lines of so many letters, from its beginning: a part without room ends what is said.
 * Of two lines, the first begins with the measure that colours the box; one line says what the colour does not. */
export function inLines(row: Row, lengths: readonly number[], colour: Measure | null): string[] {
  const lines = lengths.map((): string[] => []);
  const room = [...lengths];
  let at = 0;
  const alone = lengths.length === 1;
  for (const [nr, [, ...texts]] of parts(row, beginning(row, colour, alone)).entries()) {
    if (nr === UPPER && !alone) at = 1;
    if (texts[0] === "") continue;
    const places = texts.map((text): [string, number] => [text, room.findIndex((free, line) => line >= at && text.length <= free)]);
    const place = places.find(([, line]) => line >= 0);
    if (!place) break;
    const [text, line] = place;
    at = line;
    lines[at]?.push(text);
    room[at] = (room[at] ?? 0) - text.length - DOT;
  }
  return lines.map((line) => line.join(" · "));
}

/** All of a row in words. */
export function inWords(row: Row): string {
  const output = row.output ? [`output ${shape(row.output)}`] : [];
  return [...output, ...MEASURES.flatMap(([name, , told]) => (measureText(row, name) === "" ? [] : [`${told} ${measureText(row, name)}`]))].join(", ");
}

/** A name cut in its middle: the ends of paths tell them apart. */
export function middle(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, Math.floor(most / 2) - 1)}…${name.slice(-Math.ceil(most / 2))}`;
}

/** A path in fewer letters, its numbers and its last name kept: what is between them is said by its first letter. */
export function shortened(path: string, most: number): string {
  const names = path.split(".");
  for (let at = 0; at < names.length - 1 && names.join(".").length > most; at++) {
    if (!/^\d+$/.test(names[at] ?? "")) names[at] = (names[at] ?? "").slice(0, 1);
  }
  return middle(names.join("."), most);
}
