/** One event in plain words: its sentence, filled in as minigrad/trace/sentences.py does it. */
import { inline, listed, nodeName, tensorName, valueOf } from "./format";
import { NODES, PARTS, SENTENCES, TENSORS, TERMS, UNKNOWN, VALUES } from "./sentences";
import type { Maybe, Trace, TraceEvent } from "./types";

/** The parts of a list, and the characters of a value beside others, or of its own. */
const [FEW, SHORT, LONG] = [3, 48, 96];

type Fields = Readonly<Record<string, unknown>>;

/** The fields that a sentence has beside those of its event, or in their place. */
function derived(trace: Trace, event: TraceEvent): Fields {
  switch (event.kind) {
    case "forward": {
      const inplace = event.op.endsWith("_"); // what is there now, `version` says
      const moves = event.outputs.map((id) => trace.tensors[trace.tensors[id]?.tangent ?? -1]?.value ?? null);
      const results = event.outputs.map((id, at) => (inplace ? [id, null, null, null] : [id, trace.tensors[id]?.base ?? null, trace.tensors[id]?.value, moves[at]]));
      const passing = event.node !== null && !inplace && event.outputs.some((id, at) => moves[at] !== null && trace.tensors[id]?.node === null);
      const rebased = (event.rebased ?? []).filter(([, before, after]) => before !== null || after !== event.node);
      return { inplace, results, rebased, kept: event.node !== null && !passing, passed: passing };
    }
    case "save":
      return { saved: trace.nodes[event.node]?.saved };
    case "hook":
      return { hook: own(TERMS, event.hook) ?? `a hook (${event.hook}) runs` };
    case "flow":
      return { output_nr: event.output_nr || null, sum: event.sum === event.gradient ? null : event.sum };
    case "accumulate":
      return { grad: JSON.stringify(valueOf(trace, event.grad)) === JSON.stringify(valueOf(trace, event.gradient)) ? null : event.grad };
    case "error":
      return { message: event.message.split("\n")[0] };
    default:
      return {};
  }
}

const own = (table: Readonly<Record<string, string>>, key: string): string | undefined => (Object.hasOwn(table, key) ? table[key] : undefined);
const absent = (x: unknown): boolean => x === null || x === undefined || x === false || x === "" || (Array.isArray(x) && x.length === 0);

function filled(trace: Trace, sentence: string, fields: Fields): string {
  const chosen = sentence.replace(/\[(\w+)\|([^|\]]*)\|?([^\]]*)\]/g, (_, name: string, yes: string, no: string) => (absent(fields[name]) ? no : yes));
  return chosen.replace(/\{(\w+)\}/g, (_, name: string) => slot(trace, name, fields[name]));
}

function slot(trace: Trace, name: string, x: unknown): string {
  const [labels, sentence] = PARTS[name] ?? [];
  if (Array.isArray(x)) {
    if (!labels) return listed(x.map((each) => slot(trace, name, each)));
    return listed(x.map((part) => filled(trace, sentence ?? "", Object.fromEntries(labels.map((label, at) => [label, part[at]])))), FEW);
  }
  if (NODES.includes(name)) return nodeName(trace, x as Maybe);
  if (TENSORS.includes(name)) return tensorName(trace, x as Maybe);
  return VALUES.includes(name) ? inline(valueOf(trace, x as Maybe), name === "value" || name === "tangent" ? SHORT : LONG) : String(x);
}

/** The event's description, without its number. */
export function describe(trace: Trace, event: TraceEvent): string {
  return filled(trace, own(SENTENCES, event.kind) ?? UNKNOWN, { ...event, ...derived(trace, event) });
}
