/** What each kind of event says, made of minigrad/trace/sentences.py by `python -m tests.trace_page`. */
export const SENTENCES: Readonly<Record<string, string>> = {
  forward: "{op}([inputs|{inputs}]) [inplace|writes to|makes] {results}[kept|; recorded as {node}][passed|; {node} passes the tangent on, and is not kept][node||; no node is recorded][rebased|; {rebased}]",
  save: "{node} saves {saved}",
  version: "{tensor} is changed in place: version {version}[value|, now {value}]",
  grad: "{tensor}.grad is now {grad}",
  mode: "{mode} mode is [on|on|off]",
  checkpoint_begin: "checkpoint {call}, [reentrant|reentrant|non-reentrant]: the first run of {name} begins",
  checkpoint_end: "checkpoint {call}: the first run ends",
  backward_start: "backward starts at {roots}[create_graph|, create_graph=True][retain_graph|, retain_graph=True]; the engine counts the gradients to come",
  ready: "{node} has all its gradients and joins the ready queue",
  run: "{node} runs with {gradient}",
  hook: "{node}: {hook}[name| ({name})][gradient|; the gradient is {gradient}]",
  release: "{node} lets go of its saved tensors",
  flow: "{node} sends {gradient} along edge {index} to {to}[output_nr|, output {output_nr}][sum|; the sum there is {sum}]",
  accumulate: "{tensor}.grad [grad|receives {gradient} and is now {grad}|becomes {gradient}]",
  capture: "autograd.grad keeps {gradient} for {tensor}",
  backward_end: "backward ends",
  call: "{node} is called by hand with {gradient} and gives {result}",
  error: "{type}: {message}",
  recompute_begin: "checkpoint {call} runs its function again",
  holder_filled: "checkpoint {call} has saved tensor {index} again: {value}",
  early_stop: "checkpoint {call} has all that is needed and stops early",
  recompute_end: "checkpoint {call}: the recomputation ends",
  collective_start: "call {call} of several ranks: {op}[label| for {label}]",
  collective_wait: "this rank waits for call {call}",
  collective_end: "call {call} is over",
};
export const UNKNOWN: string = "{kind}: an event of a kind that this version does not know";
export const TERMS: Readonly<Record<string, string>> = {
  tensor: "a hook of its tensor runs",
  retain_grad: "retain_grad keeps the gradient",
  pre: "a pre-hook runs",
  post: "a post-hook runs",
  post_accumulate: "a post-accumulate-grad hook runs",
};
export const PARTS: Readonly<Record<string, readonly [readonly string[], string]>> = {
  results: [["tensor", "base", "value", "tangent"], "{tensor}[base| (a view of {base})][value| = {value}][tangent|, moved by {tangent}]"],
  rebased: [["tensor", "before", "after"], "{tensor}.grad_fn was {before} and is {after} now"],
  saved: [["name", "tensor", "value"], "{name}[value| = {value}]"],
  roots: [["node", "output_nr", "value"], "{node} with {value}"],
};
export const NODES: readonly string[] = ["node", "to", "before", "after"];
export const TENSORS: readonly string[] = ["tensor", "base", "inputs"];
export const VALUES: readonly string[] = ["gradient", "sum", "grad", "value", "result", "tangent"];
/** How expressions are written, made of minigrad/trace/expression.py. */
export const INFIX: Readonly<Record<string, readonly [symbol: string, level: number]>> = { or: ["|", 0], and: ["&", 0], lt: ["<", 1], le: ["≤", 1], gt: [">", 1], ge: ["≥", 1], eq: ["=", 1], ne: ["≠", 1], add: ["+", 2], sub: ["−", 2], mul: ["·", 3], div: ["/", 3], matmul: ["@", 3], remainder: ["%", 3], floor_divide: ["//", 3], pow: ["**", 5] };
export const OPPOSITES: Readonly<Record<string, string>> = { le: "gt", lt: "ge", ge: "lt", gt: "le" };
export const NAMES: Readonly<Record<string, string>> = { concatenate: "cat", broadcast_to: "expand", transpose: "permute" };
/** Where a word begins in the name of an op, made of minigrad/trace/format.py. */
export const WORDS = /(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z][0-9])(?=[A-Z][a-z])|(?<=Sampler)(?=[23]D)/g;
