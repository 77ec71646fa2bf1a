/** One event in plain words. */
import { inline, nodeName, tensorName, valueOf } from "./format";
import type { BackwardStartEvent, FlowEvent, Maybe, Trace, TraceEvent } from "./types";

const HOOKS: Record<string, string> = {
  tensor: "a hook of its tensor ran",
  retain_grad: "retain_grad kept the gradient",
  pre: "a pre-hook ran",
  post: "a post-hook ran",
  post_accumulate: "a hook ran after the gradient was added",
};

function values(trace: Trace, ids: readonly Maybe[]): string {
  return ids.map((id) => inline(valueOf(trace, id))).join(" and ");
}

function start(trace: Trace, event: BackwardStartEvent): string {
  const roots = event.roots.map(([node]) => nodeName(trace, node)).join(" and ");
  const given = event.roots.map(([, , value]) => inline(valueOf(trace, value))).join(" and ");
  const extra = event.create_graph ? "; it records a graph of itself" : "";
  return `backward starts at ${roots} with ${given}; the engine counts what each node will receive${extra}`;
}

function flow(trace: Trace, event: FlowEvent): string {
  const to = nodeName(trace, event.to);
  const says = `${inline(valueOf(trace, event.gradient))} flows from ${nodeName(trace, event.node)} to ${to}`;
  const output = event.output_nr > 0 ? `, output ${event.output_nr}` : "";
  const piled = event.sum === event.gradient ? "" : `; ${inline(valueOf(trace, event.sum))} has piled up there`;
  return says + output + piled;
}

function forward(trace: Trace, event: Extract<TraceEvent, { kind: "forward" }>): string {
  const outputs = event.outputs.map((id) => tensorName(trace, id)).join(", ");
  const node = event.node === null ? "; nothing was recorded" : `; ${nodeName(trace, event.node)} was recorded`;
  const rebased = (event.rebased ?? []).filter(([, before, after]) => before !== null || after !== event.node);
  const moved = rebased.map(([tensor, before, after]) => {
    const [name, now] = [tensorName(trace, tensor), nodeName(trace, after)];
    if (before === null) return `; ${name} had no node and has ${now} now`;
    return `; the node of ${name} was ${nodeName(trace, before)} and is ${now} now`;
  });
  const verb = event.op.endsWith("_") ? "wrote to" : "made";
  return `${event.op} ran and ${verb} ${outputs || "nothing"}${node}${moved.join("")}`;
}

function hook(trace: Trace, event: Extract<TraceEvent, { kind: "hook" }>): string {
  const what = HOOKS[event.hook] ?? `a hook (${event.hook}) ran`;
  const name = event.name && event.hook !== "retain_grad" ? ` (${event.name})` : "";
  const left = event.gradient.length > 0 ? `; the gradient is ${values(trace, event.gradient)}` : "";
  return `${nodeName(trace, event.node)}: ${what}${name}${left}`;
}

/** The event's description, without its number. */
export function describe(trace: Trace, event: TraceEvent): string {
  switch (event.kind) {
    case "forward":
      return forward(trace, event);
    case "save":
      return `${nodeName(trace, event.node)} saved what its derivative will need`;
    case "version":
      return `an in-place op raised the version of ${tensorName(trace, event.tensor)} to ${event.version}`;
    case "grad":
      return `${tensorName(trace, event.tensor)}.grad is ${event.grad === null ? "None again" : `now ${inline(valueOf(trace, event.grad))}`}`;
    case "mode":
      return `${event.mode} mode is ${event.on ? "on" : "off"}`;
    case "backward_start":
      return start(trace, event);
    case "ready":
      return `${nodeName(trace, event.node)} has every gradient it waited for: it joins the ready queue`;
    case "run":
      return `${nodeName(trace, event.node)} runs; it received ${values(trace, event.gradient)}`;
    case "hook":
      return hook(trace, event);
    case "release":
      return `${nodeName(trace, event.node)} lets go of its saved tensors`;
    case "flow":
      return flow(trace, event);
    case "accumulate":
      return (
        `${tensorName(trace, event.tensor)}.grad receives ${inline(valueOf(trace, event.gradient))}` +
        ` and is now ${inline(valueOf(trace, event.grad))}`
      );
    case "capture":
      return `autograd.grad keeps ${inline(valueOf(trace, event.gradient))} for ${tensorName(trace, event.tensor)}`;
    case "backward_end":
      return "the pass is over";
    case "call":
      return (
        `${nodeName(trace, event.node)} was called by hand with ${values(trace, event.gradient)}` +
        (event.result.length > 0 ? ` and gave ${values(trace, event.result)}` : " and gave nothing back")
      );
    case "checkpoint_begin":
      return `checkpoint ${event.call}, ${event.reentrant ? "reentrant" : "non-reentrant"}: the first run of ${event.name} begins`;
    case "checkpoint_end":
      return `checkpoint ${event.call}: the first run is over`;
    case "recompute_begin":
      return `checkpoint ${event.call} runs its function again`;
    case "holder_filled":
      return `checkpoint ${event.call} has saved tensor ${event.index} again: ${inline(valueOf(trace, event.value))}`;
    case "early_stop":
      return `checkpoint ${event.call} has all that is needed: it stops early`;
    case "recompute_end":
      return `checkpoint ${event.call}: the second run is over`;
    case "collective_start":
      return `call ${event.call} of several ranks: ${event.op}${event.label ? ` for ${event.label}` : ""}`;
    case "collective_wait":
      return `this rank waits for call ${event.call}`;
    case "collective_end":
      return `call ${event.call} is over`;
    case "error":
      return `${event.type}: ${event.message}`;
    default:
      return "an event of a kind that this inspector does not know";
  }
}
