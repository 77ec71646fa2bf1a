/** Values and names as text: short ones for edges, PyTorch's format for sentences and details. */
import type { Maybe, Scalar, Trace, Value } from "./types";

/** The mark after a number that should have followed a changed one, but could not. */
const AS_RECORDED = " (as recorded)";

function special(entry: string): string {
  return entry === "nan" || entry.endsWith("inf") || /^-?\d+$/.test(entry) ? entry : `'${entry}'`;
}

/** One number with at most four decimals and six digits, and a point after a whole float: `3.`, `0.3333`, `1.2e-7`. */
export function number(entry: Scalar, dtype = "float32"): string {
  if (entry === null) return "none";
  if (typeof entry === "string") return special(entry);
  if (typeof entry === "boolean") return entry ? "True" : "False";
  if (!/float|complex|bfloat/.test(dtype)) return String(entry);
  if (Number.isInteger(entry) && Math.abs(entry) < 1e7) return `${entry}.`;
  const size = Math.abs(entry);
  if (size >= 1e5 || size < 1e-3) return decimals(entry, 2, "toExponential").replace("e+", "e");
  return String(Number(decimals(entry, 4 - [1e2, 1e3, 1e4].filter((limit) => size >= limit).length, "toFixed")));
}

/** A number with so many decimals: a tie goes to the even digit, as in Python and PyTorch, where JavaScript goes up. */
function decimals(entry: number, count: number, write: "toFixed" | "toExponential"): string {
  const text = entry[write](count);
  const tie = new RegExp(`\\.\\d{${count}}50*(e|$)`).test(entry[write](60));
  return tie ? text.replace(/(?<!e.*)[13579](?=e|$)/, (odd) => String(Number(odd) - 1)) : text;
}

/** A shape as PyTorch's users read it: `[2, 3]`, and `scalar` for none. */
export function shape(sizes: readonly number[]): string {
  return sizes.length === 0 ? "scalar" : `[${sizes.join(", ")}]`;
}

function nested(data: readonly string[], sizes: readonly number[], indent: number): string {
  if (sizes.length === 0) return data[0] ?? "";
  const [first = 0, ...rest] = sizes;
  const step = rest.reduce((a, b) => a * b, 1);
  const rows = Array.from({ length: first }, (_, i) => nested(data.slice(i * step, (i + 1) * step), rest, indent + 1));
  const gap = rest.length === 0 ? ", " : `,${"\n".repeat(rest.length)}${" ".repeat(indent + 1)}`;
  return `[${rows.join(gap)}]`;
}

function statistics(value: Value): string {
  const stats = value.stats;
  if (!stats) return "";
  const parts = (["min", "max", "mean", "norm"] as const).flatMap((key) => (stats[key] === null ? [] : [`${key} ${number(stats[key])}`]));
  if (stats.nan) parts.push(`${stats.nan} nan`);
  if (stats.inf) parts.push(`${stats.inf} inf`);
  return parts.join(", ") || "values not kept";
}

function columns(value: Value): string[] {
  const texts = (value.data ?? []).map((entry) => number(entry, value.dtype));
  const width = value.shape.length > 1 ? Math.max(0, ...texts.map((text) => text.length)) : 0;
  return texts.map((text) => text.padStart(width));
}

/** A tensor roughly as PyTorch prints it; a large one by its statistics. */
export function tensor(value: Value | undefined): string {
  return value?.stale ? `${printed(value)}${AS_RECORDED}` : printed(value);
}

function printed(value: Value | undefined): string {
  if (!value) return "None";
  if (!value.data) return `tensor of ${shape(value.shape)}: ${statistics(value)}`;
  if (value.data.length === 0) return value.shape.length === 1 ? "tensor([])" : `tensor([], size=(${value.shape.join(", ")}))`;
  return `tensor(${nested(columns(value), value.shape, 7)})`;
}

/** The same on one line, truncated if it is long. */
export function inline(value: Value | undefined, limit = 96): string {
  const text = tensor(value).replace(/\s+/g, " ").replaceAll("[ ", "[");
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

/** A gradient in a few characters, for an edge: the number, up to three numbers, or shape and norm. */
export function brief(value: Value | undefined): string {
  return value?.stale ? `${few(value)}${AS_RECORDED}` : few(value);
}

function few(value: Value | undefined): string {
  if (!value) return "None";
  const data = value.data;
  if (data && data.length <= 3 && value.shape.length <= 1) {
    const texts = data.map((entry) => rounded(entry, value.dtype));
    return value.shape.length === 0 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
  }
  const shape = value.shape.join("×");
  return norm(value) === null ? `${shape}, not kept` : `${shape} ‖${rounded(norm(value), "float32")}‖`;
}

/** The pending sums at a node, one text per output; for many outputs only the number of those with a sum. */
export function piled(texts: readonly string[]): string {
  if (texts.length <= 3) return texts.join(" | ");
  return `${texts.filter((text) => text !== "–").length} of ${texts.length} outputs`;
}

function rounded(entry: Scalar, dtype: string): string {
  if (typeof entry !== "number" || Number.isInteger(entry)) return number(entry, dtype);
  return number(Number(decimals(entry, 2, "toExponential")), dtype);
}

/** The non-finite content of a value: "nan", else "inf", else nothing. */
export function broken(value: Value | undefined): "" | "nan" | "inf" {
  const entries = value?.data ?? [];
  if (value?.stats?.nan || entries.includes("nan")) return "nan";
  return value?.stats?.inf || entries.some((entry) => entry === "inf" || entry === "-inf") ? "inf" : "";
}

/** The norm of a value; "nan" or "inf" if it contains one. */
export function norm(value: Value): Scalar {
  const unusual = broken(value);
  if (unusual) return unusual;
  if (value.stats) return value.stats.norm;
  const data = (value.data ?? []).filter((entry): entry is number => typeof entry === "number");
  return Math.hypot(...data);
}

export function valueOf(trace: Trace, id: Maybe | undefined): Value | undefined {
  return id === null || id === undefined ? undefined : trace.values[id];
}

/** The name of a tensor: that in the program, else its number in the trace. */
export function tensorName(trace: Trace, id: Maybe | undefined): string {
  if (id === null || id === undefined) return "a constant";
  return trace.tensors[id]?.name ?? `tensor ${id}`;
}

/** The name of a node and its number in the trace: an AccumulateGrad, or a Dual, is identified by its tensor. */
export function nodeName(trace: Trace, id: Maybe): string {
  if (id === null) return "None";
  const { name, variable } = trace.nodes[id] ?? { name: "node" };
  if (variable === undefined) return `${name} #${id}`;
  return trace.plain ? `the leaf ${tensorName(trace, variable)}` : `${name}(${tensorName(trace, variable)})`;
}

/** Texts as a list; of a long one the first, and how many more there are. */
export function listed(texts: readonly string[], limit = 8): string {
  return [...texts.slice(0, limit), ...(texts.length > limit ? [`and ${texts.length - limit} more`] : [])].join(", ") || "nothing";
}

export function place(trace: Trace, file: Maybe | undefined, line: Maybe | undefined): string {
  if (file === null || file === undefined || line === null || line === undefined) return "";
  return `${trace.files[file]?.name ?? "?"}, line ${line}`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Bytes as `memory_text` of minigrad/trace/format.py writes them, by default: `512 B`, `1.5 KiB`, `282 MiB`. */
export function bytes(count: number, digits = 3): string {
  const unit = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(count) / 10));
  const size = count / 1024 ** unit;
  const whole = [10, 100, 1000].filter((limit) => size >= limit).length + 1;
  return `${Number(decimals(size, Math.max(0, digits - whole), "toFixed"))} ${UNITS[unit]}`;
}

// ---- The size of a gradient: the classes of the heat colours.
/** By the root mean square of the entries: the bounds between sizes. */
export const SIZES = [
  ["tiny", 1e-6, "below 1e-6"],
  ["small", 1e-3, "below 1e-3"],
  ["usual", 10, "1e-3 to 10"],
  ["large", 1e3, "above 10"],
  ["huge", Infinity, "above 1e3"],
] as const;

/** The root mean square of a value's entries; null if it is unknown or not finite. */
export function rootMeanSquare(value: Value): number | null {
  const [length, count] = [norm(value), value.shape.reduce((a, b) => a * b, 1)];
  return typeof length === "number" && count > 0 ? length / Math.sqrt(count) : null;
}

/** The size of a gradient: one of `SIZES`, "zero", "broken" for NaN and infinity, or nothing. */
export function sizeOf(value: Value | undefined): string {
  if (!value) return "";
  if (broken(value)) return "broken";
  return sizeClass(rootMeanSquare(value));
}

/** The same of a root mean square; "nan" and "inf" are broken, and what is not known is nothing. */
export function sizeClass(size: number | string | null): string {
  if (typeof size === "string") return size === "nan" || size.endsWith("inf") ? "broken" : "";
  if (size === null) return "";
  return size === 0 ? "zero" : (SIZES.find(([, below]) => size < below)?.[0] ?? "huge");
}
