/* What a page shows, for tests: what is drawn in an inspector, which texts overlap, which have too little contrast. */
window.read = (() => {
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const text = (root, selector) => root.querySelector(selector)?.textContent ?? null;

  /** What an inspector draws, by the ids of the trace. */
  function drawn(root) {
    const wires = all(root, ".mg-edge");
    const labels = all(root, ".mg-labels .mg-gradient");
    const nodes = all(root, ".mg-node[data-node]");
    const by = (list, key, value) => Object.fromEntries(list.map((each) => [key(each), value(each)]));
    const node = (each) => each.dataset.node;
    return {
      ...root.dataset,
      text: text(root, ".mg-text"),
      line: text(root, ".mg-current .mg-number"),
      file: text(root, ".mg-source .mg-heading"),
      status: by(nodes, node, (each) => each.dataset.status),
      words: by(nodes, node, (each) => text(each, ".mg-word")),
      piled: by(nodes.filter((each) => text(each, ".mg-badge")), node, (each) => text(each, ".mg-badge")),
      saved: by(nodes.filter((each) => each.querySelector(".mg-saved")), node, (each) => each.querySelector(".mg-saved").dataset.saved),
      flows: by(wires, (each) => each.dataset.edge, (each) => each.dataset.flow),
      gradients: Object.fromEntries(wires.map((each, at) => [each.dataset.edge, labels[at].textContent])),
      marked: nodes.filter((each) => each.matches(".mg-lit")).map(node),
      current: nodes.filter((each) => each.getAttribute("aria-current") === "step").map(node),
      queue: all(root, ".mg-queue .mg-chip").filter(shown).map((each) => each.firstChild.textContent),
      bytes: all(root, ".mg-memory .mg-kind").map((each) => each.textContent),
    };
  }

  function shown(element) {
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  }

  /** The part of a rectangle that its ancestors do not cut off. */
  function clipped(rect, element, root) {
    let { left, top, right, bottom } = rect;
    for (let up = element; up && root.contains(up); up = up.parentElement) {
      const cuts = up.tagName === "svg" || (!up.closest("svg") && getComputedStyle(up).overflow !== "visible");
      if (!cuts) continue;
      const box = up.getBoundingClientRect();
      [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
      [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    return { left, top, right, bottom };
  }

  const EVERYWHERE = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };

  /** Ends the motion of boxes: a picture is judged as it stands in the end. */
  function settle() {
    for (const each of document.getAnimations()) if (each.id === "mg-move") each.finish();
  }

  /** Every line of text that is to be seen, with its element; only those that reach into a window. */
  function texts(root, window = EVERYWHERE) {
    settle();
    const found = [];
    const add = (element, rect, words) => {
      if (rect.bottom < window.top || rect.top > window.bottom) return;
      const box = clipped(rect, element, root);
      if (box.right - box.left > 1 && box.bottom - box.top > 1) found.push({ element, words: words.trim().slice(0, 60), ...box });
    };
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const element = node.parentElement;
      if (!node.data.trim() || element.closest("option, title, style") || !shown(element)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const rects = element.closest("svg") ? [element.getBoundingClientRect()] : range.getClientRects();
      for (const rect of rects) add(element, rect, node.data);
    }
    for (const field of all(root, "input:not([type=range], [type=radio], [type=checkbox]), select, .mg-map")) {
      if (shown(field)) add(field, field.getBoundingClientRect(), field.value || field.placeholder || "the map");
    }
    return found;
  }

  /** What lies at a point, the uppermost first, as if all of it could be clicked. */
  function stack(x, y) {
    return document.elementsFromPoint(x, y);
  }

  let allReachable = false;

  /** Does something while everything in the inspectors can be clicked; to begin and to end it takes a page long. */
  function reachable(act) {
    if (allReachable) return act();
    const style = document.createElement("style");
    style.textContent = ".mg-root, .mg-root * { pointer-events: auto !important; }";
    document.head.append(style);
    allReachable = true;
    try {
      return act();
    } finally {
      allReachable = false;
      style.remove();
    }
  }

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  const colors = new Map();

  /** Any CSS colour as red, green, blue and opacity, 0 to 255. */
  function channels(color) {
    if (!colors.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = "transparent"; // what is no color, such as the pattern of a bar, leaves it as it is
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      colors.set(color, canvas.getImageData(0, 0, 1, 1).data);
    }
    return [...colors.get(color)];
  }

  /** The colour that an element lays over what is under it; none where it lays nothing. */
  function paint(element) {
    const style = getComputedStyle(element);
    const shape = element instanceof SVGElement && element.tagName !== "svg";
    if (shape && (element.matches("text, tspan, g, title") || style.fill === "none")) return null;
    const color = channels(shape ? style.fill : style.backgroundColor);
    color[3] *= shape ? Number(style.fillOpacity) : 1;
    return color[3] > 0 ? color : null;
  }

  const over = (a, b) => a.slice(0, 3).map((each, at) => (each * a[3] + b[at] * (255 - a[3])) / 255);

  /** The colour behind an element, from what lies at a point of it. */
  function background(under, element) {
    const from = under.findIndex((each) => each === element || each.contains(element));
    const layers = under.slice(Math.max(0, from)).map(paint).filter((each) => each !== null);
    const solid = layers.findIndex((each) => each[3] > 254);
    const base = solid < 0 ? [255, 255, 255] : layers[solid].slice(0, 3);
    return layers.slice(0, solid < 0 ? undefined : solid).reduceRight((sum, each) => over(each, sum), base);
  }

  function luminance(color) {
    const [r, g, b] = color.map((each) => (each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function opacity(element) {
    let product = 1;
    for (let up = element; up; up = up.parentElement) product *= Number(getComputedStyle(up).opacity);
    return product;
  }

  /** Whether an opaque element lies between two texts at a point: the lower one is then not to be seen there. */
  function covered(one, two, x, y) {
    const under = stack(x, y);
    const at = [one, two].map(({ element }) => under.indexOf(element)).sort((a, b) => a - b);
    if (at[0] < 0) return true;
    return under.slice(at[0], at[1] < 0 ? undefined : at[1]).some((each) => (paint(each)?.[3] ?? 0) > 254);
  }

  /** Texts that lie on one another. */
  function overlaps(root) {
    return reachable(() => {
      const wrong = [];
      const boxes = texts(root).sort((a, b) => a.left - b.left);
      boxes.forEach((one, at) => {
        for (const two of boxes.slice(at + 1)) {
          if (two.left >= one.right - 1) break;
          if (two.top >= one.bottom - 1 || one.top >= two.bottom - 1) continue;
          if (one.element.contains(two.element) || two.element.contains(one.element)) {
            if (!one.element.matches("svg *")) continue;
          }
          const [x, y] = [(two.left + Math.min(one.right, two.right)) / 2, (Math.max(one.top, two.top) + Math.min(one.bottom, two.bottom)) / 2];
          if (!covered(one, two, x, y)) wrong.push(`“${one.words}” and “${two.words}”`);
        }
      });
      return wrong;
    });
  }

  /** Texts with less than 4.5 of contrast to what is under them, signs with less than 3; their middle is in a window. */
  function faint(root, window = EVERYWHERE) {
    const roots = Array.isArray(root) ? root : [root];
    return reachable(() =>
      roots.flatMap((each) => texts(each, window).map((text) => ({ ...text, from: each }))).flatMap(({ element, words, left, top, right, bottom, from }) => {
        const [x, y] = [(left + right) / 2, (top + bottom) / 2];
        if (x < window.left || x > window.right || y < window.top || y > window.bottom) return [];
        const under = stack(x, y);
        if (!under.some((each) => from.contains(each) && each.contains(element))) return []; // a pane's edge cuts it off
        if (!under.includes(element) && paint(under[0]) !== null && !under[0].contains(element)) return [];
        const style = getComputedStyle(element);
        const ground = background(under, element);
        const ink = channels(element.matches("text, tspan") ? style.fill : style.color);
        ink[3] *= opacity(element);
        const [a, b] = [luminance(over(ink, ground)), luminance(ground)].sort((p, q) => q - p);
        const ratio = (a + 0.05) / (b + 0.05);
        return ratio < (/[\p{L}\p{N}]/u.test(words) ? 4.5 : 3) ? [`“${words}” ${ratio.toFixed(2)}: ${ink} on ${ground.map(Math.round)}`] : [];
      }),
    );
  }

  /** Texts whose letters have less than so many pixels. */
  function small(root, least = 11, window = EVERYWHERE) {
    const roots = Array.isArray(root) ? root : [root];
    return roots.flatMap((each) => texts(each, window)).flatMap(({ element, words }) => {
      if (element.matches(".mg-map")) return []; // it has no letters
      const to = element.closest("svg") ? element.getScreenCTM() : null;
      const size = parseFloat(getComputedStyle(element).fontSize) * (to ? Math.hypot(to.a, to.b) : 1);
      return size < least - 0.01 ? [`“${words}” ${size.toFixed(1)} pixels`] : [];
    });
  }

  /** What stands out of the inspector's frame. */
  function outside(root) {
    const frame = root.getBoundingClientRect();
    const wrong = all(root, "*").filter((each) => {
      if (each.closest("svg, .mg-chips, .mg-scroll, .mg-run, .mg-sr") || !shown(each)) return false;
      const { left, right, width } = each.getBoundingClientRect();
      const cut = clipped({ left, right, top: 0, bottom: 1e6 }, each.parentElement, root);
      return width > 0 && (cut.left < frame.left - 1 || cut.right > frame.right + 1);
    });
    return wrong.map((each) => each.className || each.tagName);
  }

  /** Panes of source of whose first line only the lower part is in sight. */
  function halved(root) {
    const panes = all(root, ".mg-code").filter((pane) => shown(pane) && pane.scrollTop % parseFloat(getComputedStyle(pane).lineHeight) > 1);
    return panes.map((pane) => `half a line of source at the top, scrolled by ${pane.scrollTop}`);
  }

  /** Texts that do not fit into the box of their node. */
  function spilled(root) {
    settle();
    return all(root, ".mg-node").flatMap((node) => {
      const box = node.querySelector(".mg-box").getBoundingClientRect();
      const parts = all(node, ".mg-title, .mg-caption, .mg-word").map((part) => [part, part.getBoundingClientRect()]);
      return parts.filter(([, { left, right, width }]) => width > 0 && (left < box.left || right > box.right)).map(([part]) => part.textContent);
    });
  }

  /** Everything that can be used and must be reached by Tab; of a group of radio buttons one. */
  function controls(root) {
    const wanted = "button, input, select, summary, a[href], [tabindex='0']";
    const groups = new Set();
    return all(root, wanted).filter((each) => {
      if (!shown(each) || each.tabIndex < 0 || each.disabled) return false;
      if (each.type !== "radio") return true;
      const known = groups.has(each.name);
      groups.add(each.name);
      return !known;
    });
  }

  const called = (each) => each.getAttribute("aria-label") ?? (each.textContent.trim() || each.className || each.tagName);

  /** Where the keyboard is, and whether one sees it. */
  function focus() {
    const at = document.activeElement;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
    return { name: called(at), inside: at.closest(".mg-root") !== null, seen: (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none" };
  }

  /** Notes every key that gets out of the inspectors, to where JupyterLab listens. */
  function listen() {
    window.leaked = [];
    document.addEventListener("keydown", (event) => event.target.closest?.(".mg-root") && window.leaked.push(event.key));
  }

  return { drawn, reachable, texts, overlaps, small, faint, outside, halved, spilled, controls: (root) => controls(root).map(called), focus, listen };
})();
