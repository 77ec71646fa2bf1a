/** The answers to one lesson, stored in this browser; if it stores nothing, they last as long as the page is open. */
export class Kept {
  private all: Record<string, unknown> = {};
  /** Whether the browser stores them. */
  lasting = true;

  constructor(lesson: string) {
    this.key = `minigrad answers ${lesson}`;
    this.try(() => {
      const found: unknown = JSON.parse(localStorage.getItem(this.key) ?? "{}");
      if (typeof found === "object" && found !== null) this.all = found as Record<string, unknown>;
    });
  }

  private readonly key: string;

  get(name: string): unknown {
    return this.all[name];
  }

  put(name: string, value: unknown): void {
    this.all[name] = value;
    this.try(() => localStorage.setItem(this.key, JSON.stringify(this.all)));
  }

  clear(): void {
    this.all = {};
    this.try(() => localStorage.removeItem(this.key));
  }

  /** A browser may refuse to store anything, and what it has stored may be unreadable. */
  private try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.lasting = false;
      console.info("minigrad: answers are kept only until this page is left", error);
    }
  }
}
