/** The duration of a recorded step on other numbers of ranks, as minigrad/trace/simulation.py computes it from the same events. */

const [START, WAIT, END] = [0, 1, 2];

/** The calls, waits and ends of one rank, in seconds since its recording began, and the time of its last event. */
export interface Schedule {
  events: [kind: number, time: number, call: number, size: number][];
  last: number;
}

export interface Simulation {
  seconds: number;
  computing: number;
  exposed: number;
  /** When each operation could begin, began and ended, and in which periods the rank only waits. */
  calls: { called: number; begun: number; ended: number }[];
  waits: [begin: number, end: number][];
}

/** An all-reduce in a ring: 2 (p - 1) messages, one after the other, each with 1/p of the bytes. */
function allReduceSeconds(size: number, ranks: number, alpha: number, beta: number): number {
  return 2 * (ranks - 1) * (alpha + (size / ranks) * beta);
}

export function simulate(schedule: Schedule, ranks: number, alpha: number, beta: number): Simulation {
  const ended = new Map<number, number>();
  const since = new Map<number, number>();
  const found: Simulation = { seconds: 0, computing: 0, exposed: 0, calls: [], waits: [] };
  let [waited, free] = [0, 0];
  for (const [kind, time, call, size] of schedule.events) {
    const now = time - waited + found.exposed;
    if (kind === START) {
      const begun = Math.max(now, free);
      free = begun + allReduceSeconds(size, ranks, alpha, beta);
      ended.set(call, free);
      found.calls.push({ called: now, begun, ended: free });
    } else if (kind === WAIT) {
      since.set(call, time);
      const end = Math.max(now, ended.get(call) ?? now);
      found.exposed += end - now;
      found.waits.push([now, end]);
    } else if (kind === END) {
      waited += time - (since.get(call) ?? time);
    }
  }
  found.computing = schedule.last - waited;
  found.seconds = found.computing + found.exposed;
  return found;
}
