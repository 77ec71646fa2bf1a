/** A model in a page, without a kernel. */
import type { Model, Program } from "./link";

export class PageModel implements Model {
  private readonly heard = new Map<string, Set<() => void>>();

  constructor(
    private readonly state: Record<string, unknown>,
    readonly program: () => Promise<Program | null>,
  ) {}

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
    for (const callback of [...(this.heard.get(`change:${name}`) ?? [])]) callback();
  }

  save_changes(): void {}

  on(name: string, callback: () => void): void {
    this.heard.set(name, (this.heard.get(name) ?? new Set()).add(callback));
  }

  off(name: string, callback: () => void): void {
    this.heard.get(name)?.delete(callback);
  }
}
