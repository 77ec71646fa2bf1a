/** Small helpers to create elements. Text is inserted only as text, never as markup: it comes from users' programs. */

const SVG = "http://www.w3.org/2000/svg";
type Attributes = Record<string, string | number | boolean>;

function fill(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes);
  element.append(...children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  fill(element, attributes);
  element.append(...children);
  return element;
}

/** Writes text only if it differs: an unchanged node costs no layout. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function mark(element: Element, name: string, value: string | number | null): void {
  const text = value === null ? null : String(value);
  if (element.getAttribute(name) === text) return;
  if (text === null) element.removeAttribute(name);
  else element.setAttribute(name, text);
}

// Each widget of a notebook imports a copy of this script, so the number is the document's, not the script's.
const COUNT = Symbol.for("minigrad.count");

/** A name that nothing else in the document has, for an id or a group of radio buttons. */
export function unique(prefix: string): string {
  const counting = document as Document & { [COUNT]?: number };
  counting[COUNT] = (counting[COUNT] ?? 0) + 1;
  return `${prefix}-${counting[COUNT]}`;
}

/** Lets Enter in a field send its form. A browser does that by itself, but not where JupyterLite stops the key. */
export function sendsOnEnter(form: HTMLFormElement): void {
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || !(event.target as Element).matches("input")) return;
    event.preventDefault();
    form.requestSubmit();
  });
}
