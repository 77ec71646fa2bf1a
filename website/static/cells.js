// On a lesson's page each cell of code can be edited and run in place. Python is fetched when a cell is first run.
// The page keeps what each cell had when it was opened, and can put it back.
(() => {
  const own = document.currentScript;
  const MEGA = 1e6;
  const served = location.protocol.startsWith('http');
  const PLACE = 'Each cell of code below can be edited and run in place: click into it, then Shift+Enter.';
  const SERVE = `${PLACE} JupyterLab does not open from a folder: for it, run “python -m http.server” in the folder of ` +
    'the site, and open http://localhost:8000.';
  const HOW = `${PLACE} Python is fetched once, with the first run (${own.dataset.download} MB).`;
  const STOPPED = 'Stopped. What had run is forgotten: the next run begins at the top.';

  function make(name, options = {}, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(options)) key.includes('-') || key === 'role' || key === 'for' ? made.setAttribute(key, value) : (made[key] = value);
    made.append(...inside);
    return made;
  }

  // ---- The code of a cell: a text field over its colours. Lines that were not changed keep theirs.
  const escaped = (text) => text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign]);

  function coloredLines(pre) {
    const lines = [''];
    for (const part of pre.childNodes) {
      part.textContent.split('\n').forEach((text, at) => {
        if (at > 0) lines.push('');
        const html = escaped(text);
        lines[lines.length - 1] += part.className && text ? `<span class="${part.className}">${html}</span>` : html;
      });
    }
    return lines;
  }

  class Editor {
    constructor(box, label, actions) {
      this.pre = box.querySelector('pre');
      this.original = this.pre.textContent.replace(/\n$/, '');
      const colors = coloredLines(this.pre);
      this.colored = new Map(this.original.split('\n').map((line, at) => [line, colors[at]]));
      this.field = make('textarea', {
        className: 'cell-field', value: this.original, spellcheck: false, autocapitalize: 'off', rows: 1, 'aria-label': label, autocomplete: 'off',
      });
      this.field.setAttribute('autocorrect', 'off');
      this.pre.setAttribute('aria-hidden', 'true');
      box.classList.add('cell-editor');
      box.append(this.field);
      this.field.addEventListener('input', () => {
        this.paint();
        actions.changed();
      });
      this.field.addEventListener('keydown', (event) => this.press(event, actions.run));
    }

    get text() {
      return this.field.value;
    }

    set text(text) {
      this.field.value = text;
      this.paint();
    }

    paint() {
      this.pre.innerHTML = `${this.text.split('\n').map((line) => this.colored.get(line) ?? escaped(line)).join('\n')}\n`;
    }

    press(event, run) {
      if (event.key !== 'Enter') return;
      if (event.shiftKey || event.ctrlKey || event.metaKey) {
        event.preventDefault();
        run();
      } else if (!event.isComposing) {
        const before = this.text.slice(0, this.field.selectionStart);
        const [indent] = /^ */.exec(before.slice(before.lastIndexOf('\n') + 1));
        event.preventDefault(); // the command, unlike setting the value, can be undone
        document.execCommand('insertText', false, `\n${indent}${/:\s*$/.test(before) ? '    ' : ''}`);
      }
    }
  }

  // ---- Widgets: models that the page and Python share, and their views by the module that each brings along.
  const modules = new Map();
  const styles = new Set();

  function moduleOf(text) {
    if (!modules.has(text)) modules.set(text, import(URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))));
    return modules.get(text);
  }

  function addStyle(text) {
    if (!text || styles.has(text)) return;
    styles.add(text);
    document.head.prepend(make('style', {}, text)); // the page's own come later, and hold
  }

  class Model {
    constructor(id, state, send) {
      Object.assign(this, { id, state, tell: send, unsent: {}, heard: new Map() });
    }

    get(name) {
      return this.state[name];
    }

    set(name, value) {
      this.state[name] = value;
      this.unsent[name] = value;
      this.call(name);
    }

    save_changes() {
      const state = this.unsent;
      this.unsent = {};
      if (Object.keys(state).length > 0) this.tell(this.id, { method: 'update', state, buffer_paths: [] });
    }

    send(content) {
      this.tell(this.id, { method: 'custom', content });
    }

    on(name, callback) {
      this.heard.set(name, (this.heard.get(name) ?? new Set()).add(callback));
    }

    off(name, callback) {
      this.heard.get(name)?.delete(callback);
    }

    call(...names) {
      for (const name of [...names.map((one) => `change:${one}`), 'change']) for (const callback of [...(this.heard.get(name) ?? [])]) callback();
    }

    /** What Python says. */
    take(data) {
      if (data.method === 'custom') for (const callback of [...(this.heard.get('msg:custom') ?? [])]) callback(data.content, []);
      if (data.method !== 'update') return;
      Object.assign(this.state, data.state);
      this.call(...Object.keys(data.state));
    }

    /** Shows the model; false if only Jupyter can. */
    async view(el) {
      if (this.get('_model_name') === 'HTMLModel') {
        const draw = () => (el.innerHTML = this.get('value'));
        this.on('change:value', draw);
        draw();
        return;
      }
      addStyle(this.get('_css'));
      const { default: widget } = await moduleOf(this.get('_esm'));
      const { initialize, render } = typeof widget === 'function' ? await widget() : widget;
      if (!this.ready) this.ready = initialize?.({ model: this }) ?? true;
      await this.ready;
      await render({ model: this, el });
    }

    get drawable() {
      return this.get('_esm') !== undefined || this.get('_model_name') === 'HTMLModel';
    }
  }

  // ---- What a cell shows.
  const VIEW = 'application/vnd.jupyter.widget-view+json';
  const places = new Map(); // of displays that can be changed

  class Output {
    constructor(cell) {
      this.place = cell.querySelector(':scope > .cell_output') ?? cell.appendChild(make('div', { className: 'cell_output docutils container' }));
      this.original = [...this.place.childNodes];
    }

    start() {
      this.place.replaceChildren();
      this.clearing = false;
    }

    reset() {
      this.place.replaceChildren(...this.original);
    }

    add(element) {
      if (this.clearing) this.start();
      this.place.append(element);
    }

    write(name, text) {
      const last = this.place.lastElementChild;
      const same = last?.dataset.stream === name && !this.clearing;
      if (same) last.firstElementChild.append(text);
      else {
        const block = make('div', { className: `output ${name === 'stderr' ? 'stderr' : 'stream'}` }, make('pre', {}, text));
        block.dataset.stream = name;
        this.add(block);
      }
    }

    fail(text) {
      const lines = text.split('\n');
      const last = lines.findLastIndex((line) => /^\w[\w.]*(:|$)/.test(line));
      const told = make('strong', {}, lines.slice(last).join('\n'));
      const before = lines.slice(0, last).join('\n');
      this.add(make('div', { className: 'output traceback', role: 'alert' }, make('pre', {}, ...(before ? [`${before}\n`] : []), told)));
    }

    show(data, id, models) {
      const element = make('div', { className: 'output' });
      if (id) places.set(id, element);
      fill(element, data, models);
      this.add(element);
    }
  }

  function fill(element, data, models) {
    const model = models.get(data[VIEW]?.model_id);
    const html = data['text/html'] ?? data['image/svg+xml'];
    element.replaceChildren();
    if (model?.drawable) {
      element.classList.add('live');
      model.view(element).catch((error) => element.append(make('pre', { role: 'alert' }, `This cannot be shown: ${error}`)));
    } else if (html !== undefined) {
      element.classList.add('text_html');
      element.innerHTML = html;
    } else if (data['image/png'] !== undefined) element.append(make('img', { src: `data:image/png;base64,${data['image/png']}`, alt: data['text/plain'] }));
    else element.append(make('pre', {}, data['text/markdown'] ?? data['text/plain']));
  }

  // ---- The files of a site that was opened from a folder, where a page may read nothing but scripts: each of these
  // hands its file over, compressed (website/cells.py writes them).
  const handed = new Map();
  const files = new Map();

  function fileOf(name) {
    if (!files.has(name)) files.set(name, read(name));
    return files.get(name);
  }

  async function read(name) {
    const text = await new Promise((resolve, reject) => {
      handed.set(name, resolve);
      const missing = () => reject(new Error(`the folder of the site has no ${name} for its pages`));
      document.head.append(make('script', { src: new URL(`folder/${encodeURIComponent(name)}.js`, own.src).href, onerror: missing }));
    });
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  }

  window.minigradFile = (name, text) => handed.get(name)?.(text);

  /** A worker that is started from the text of its script, and given the files that it asks for. */
  class FolderWorker {
    constructor() {
      this.begun = fileOf('cells_worker.js').then((text) => this.begin(text));
      this.begun.catch((error) => this.onerror(error));
    }

    begin(text) {
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })));
      worker.onmessage = ({ data }) => (data.wanted ? this.hand(worker, data.wanted) : this.onmessage({ data }));
      worker.onerror = (event) => this.onerror(event);
      return worker;
    }

    hand(worker, file) {
      fileOf(file).then((bytes) => worker.postMessage({ file, bytes }), (error) => worker.postMessage({ file, why: error.message }));
    }

    postMessage(said) {
      this.begun.then((worker) => worker.postMessage(said), () => undefined); // onerror has said why there is none
    }

    terminate() {
      this.begun.then((worker) => worker.terminate(), () => undefined);
    }
  }

  // ---- Python, in a worker; one that was stopped is replaced by another with the next run.
  class Python {
    constructor(page) {
      this.page = page;
      this.worker = null;
      this.models = new Map();
    }

    run(index, source) {
      this.start();
      this.worker.postMessage({ run: index, source });
    }

    start() {
      if (this.worker) return;
      this.read = 0;
      this.ready = false;
      this.models = new Map();
      const worker = (this.worker = served ? new Worker(new URL('cells_worker.js', own.src)) : new FolderWorker());
      worker.onmessage = ({ data }) => worker === this.worker && this.hear(typeof data === 'string' ? JSON.parse(data) : data);
      worker.onerror = (event) => worker === this.worker && this.hear({ failed: event.message ?? 'the worker cannot be started' });
    }

    stop() {
      this.worker?.terminate();
      this.worker = null;
    }

    hear(said) {
      const { output } = this.page;
      if ('read' in said) this.page.progress((this.read += said.read), this.ready);
      else if ('ready' in said) {
        this.ready = true;
        this.page.loaded();
      } else if ('failed' in said) this.page.stop(`Python cannot be started: ${said.failed}`);
      else if ('done' in said) this.page.finish(said.well);
      else if (said.kind === 'stream') output.write(said.name, said.text);
      else if (said.kind === 'error') output.fail(said.text);
      else if (said.kind === 'display') output.show(said.data, said.id, this.models);
      else if (said.kind === 'update') this.update(said);
      else if (said.kind === 'clear') said.wait ? (output.clearing = true) : output.start();
      else if (said.kind === 'widget') this.widget(said);
    }

    update({ id, data }) {
      const place = places.get(id);
      if (place) fill(place, data, this.models);
    }

    widget({ what, id, data }) {
      const send = (to, content) => this.worker?.postMessage({ widget: to, data: JSON.stringify(content) });
      if (what === 'comm_open') this.models.set(id, new Model(id, data.state ?? {}, send));
      else if (what === 'comm_msg') this.models.get(id)?.take(data);
    }
  }

  // ---- The cells of the page, which run in their order, one at a time.
  class Cell {
    constructor(element, number, page) {
      Object.assign(this, { element, number, page, fresh: false });
      this.mayFail = element.classList.contains('tag_raises-exception');
      this.output = new Output(element);
      const act = (text, name, title, action) => {
        const button = make('button', { type: 'button', className: 'cell-button', title, 'aria-label': name }, text);
        button.addEventListener('click', action);
        return button;
      };
      this.runs = act('▶ Run', `Run cell ${number}`, 'Run this cell, and first those above that have not run (Shift+Enter)', () => page.run(this));
      this.stops = act('■ Stop', `Stop cell ${number}`, 'Stop Python: what has run is forgotten', () => page.stop());
      this.resets = act('Reset', `Reset cell ${number}`, 'Put back the code and the output that this page came with', () => this.reset());
      this.status = make('span', { className: 'cell-status', role: 'status' });
      this.bar = make('div', { className: 'cell-bar', role: 'group', 'aria-label': `cell ${number}` }, this.runs, this.stops, this.resets, this.status);
      this.editor = new Editor(element.querySelector('.cell_input .highlight'), `code of cell ${number}`, { run: () => page.run(this), changed: () => this.changed() });
      element.querySelector('.cell_input').append(this.bar);
      this.mark('');
    }

    changed() {
      this.fresh = false;
      this.edited = this.editor.text !== this.editor.original;
      this.mark(this.edited ? 'edited' : '');
    }

    reset() {
      this.editor.text = this.editor.original;
      this.output.reset();
      Object.assign(this, { fresh: false, edited: false, ran: false });
      this.mark('');
      this.runs.focus();
    }

    mark(text, ...more) {
      const busy = this.page.running === this || this.page.waiting.includes(this);
      const focused = this.bar.contains(document.activeElement);
      this.runs.hidden = busy;
      this.stops.hidden = !busy;
      this.resets.hidden = busy || !(this.edited || this.ran);
      this.status.replaceChildren(...more, text);
      this.bar.toggleAttribute('data-busy', this.page.running === this);
      if (focused && (document.activeElement === document.body || document.activeElement.hidden)) (busy ? this.stops : this.runs).focus();
    }
  }

  class Cells {
    constructor(elements) {
      this.running = null;
      this.waiting = [];
      this.python = new Python(this);
      this.cells = elements.map((element, at) => new Cell(element, at + 1, this));
      this.bar = make('progress', { max: Number(own.dataset.bytes), value: 0, 'aria-label': 'Python is being fetched' });
      this.count = make('span', { 'aria-hidden': true });
    }

    get output() {
      return (this.running ?? this.last).output;
    }

    /** The cell that was asked for: others may have to run first. */
    get asked() {
      return this.waiting.at(-1) ?? this.running;
    }

    /** Runs a cell after those above that have not run since they were changed. */
    run(cell) {
      const above = this.cells.slice(0, cell.number - 1).filter((one) => !one.fresh);
      for (const one of [...above, cell]) if (one !== this.running && !this.waiting.includes(one)) this.waiting.push(one);
      this.waiting.sort((one, other) => one.number - other.number);
      this.next();
    }

    next() {
      const cell = (this.running ??= this.waiting.shift() ?? null);
      if (!cell) return;
      const { asked } = this;
      for (const one of this.waiting) one.mark(one === asked ? `waits: cell ${cell.number} runs first` : 'waits');
      if (cell.sent) return;
      cell.sent = true;
      cell.ran = true;
      cell.fresh = true; // until its code is changed, while it runs too
      cell.output.clearing = true;
      cell.mark('running');
      this.python.run(cell.number, cell.editor.text);
      if (!this.python.ready) this.progress(this.python.read, false);
    }

    finish(well) {
      const cell = this.rest();
      const changed = !cell.fresh;
      if (cell.output.clearing) cell.output.start(); // it shows nothing
      cell.fresh = cell.fresh && (well || cell.mayFail);
      cell.mark(changed ? 'edited since it ran' : well ? 'ran' : 'raised an error');
      if (!well && !cell.mayFail && this.waiting.length > 0) this.halt(`not run: cell ${cell.number} raised an error`);
      this.next();
    }

    rest() {
      const cell = this.running;
      if (cell) cell.sent = false;
      this.last = cell;
      this.running = null;
      return cell;
    }

    halt(why) {
      for (const cell of this.waiting.splice(0)) cell.mark(why);
    }

    stop(why = STOPPED) {
      const { asked } = this;
      this.python.stop();
      for (const cell of this.cells) cell.fresh = false;
      const cell = this.rest();
      this.halt('not run');
      cell?.mark('stopped');
      asked?.mark(why);
    }

    /** Says how much was fetched, in the cell that was asked for. */
    progress(read, ready) {
      const { asked, bar, count } = this;
      if (!asked) return;
      count.textContent = ready ? `: ${(read / MEGA).toFixed(1)} MB` : `: ${(read / MEGA).toFixed(1)} of ${(bar.max / MEGA).toFixed(1)} MB`;
      bar.value = Math.min(read, bar.max);
      bar.hidden = ready;
      if (!asked.status.contains(count)) asked.mark('', bar, ready ? 'More is being fetched' : 'Python and NumPy are being fetched, once', count);
    }

    loaded() {
      const { asked, running } = this;
      running?.mark('running');
      if (asked !== running) asked?.mark(`waits: cell ${running.number} runs first`);
    }
  }

  const elements = [...document.querySelectorAll('div.cell')].filter((cell) => cell.querySelector(':scope > .cell_input .highlight pre'));
  if (elements.length === 0) return;
  const head = document.querySelector('a.run-here')?.closest('p') ?? document.querySelector('h1');
  head.after(make('p', { className: 'cells-note' }, served ? HOW : SERVE));
  new Cells(elements);
})();
