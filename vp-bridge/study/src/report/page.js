// The page's behaviour: tables that sort and filter, and charts drawn by plotly.js over the pictures.
'use strict';
(() => {
  // Tables. A header's button sorts up, then down, then as it was.
  const factors = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  const value = cell => {
    const text = (cell ? cell.textContent : '').replace(/[\u202f\u00a0]/g, '').trim();
    const number = /^[-+]?[0-9]*\.?[0-9]+(e[-+]?[0-9]+)?/i.exec(text.replace(/^> /, ''));
    const unit = /^[^a-z%]*([KMG]i|[kMGT])B/i.exec(text);
    return { text, number: number ? parseFloat(number[0]) * (unit ? factors[unit[1]] || 1 : 1) : NaN };
  };
  const compare = (a, b) => {
    if (!isNaN(a.number) && !isNaN(b.number)) return a.number - b.number;
    if (isNaN(a.number) !== isNaN(b.number)) return isNaN(a.number) ? 1 : -1;
    return a.text.localeCompare(b.text, undefined, { numeric: true });
  };
  const sortable = table => {
    const body = table.tBodies[0], original = [...body.rows];
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener('click', () => {
        const is = header.getAttribute('aria-sort');
        const next = is === 'ascending' ? 'descending' : is === 'descending' ? null : 'ascending';
        for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
        const rows = original.map((row, at) => ({ row, at, value: value(row.cells[column]) }));
        if (next) {
          header.setAttribute('aria-sort', next);
          const sign = next === 'ascending' ? 1 : -1;
          rows.sort((a, b) => sign * compare(a.value, b.value) || a.at - b.at);
        }
        body.append(...rows.map(it => it.row));
      });
    });
  };
  // A row is shown if it has all words of the filter.
  const filterable = table => {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 6) return;
    const label = document.createElement('label'), input = document.createElement('input'), count = document.createElement('small');
    label.className = 'filter';
    input.type = 'search';
    input.placeholder = 'words that a row has';
    label.append('Filter ', input, count);
    table.parentElement.before(label);
    input.addEventListener('input', () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(word => word);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(word => text.includes(word));
        shown += !row.hidden;
      }
      count.textContent = words.length ? ` ${shown} of ${rows.length} rows` : '';
    });
  };
  for (const table of document.querySelectorAll('.scroll > table')) {
    sortable(table);
    filterable(table);
  }

  // Charts.
  const packed = document.getElementById('plotly');
  const sources = [...document.querySelectorAll('script.chart')];
  if (!packed || !sources.length || typeof DecompressionStream === 'undefined') return;

  const unpack = async () => {
    const bytes = Uint8Array.from(atob(packed.textContent), it => it.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    const script = document.createElement('script');
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    script.remove();
  };
  // Names of the style's variables become what they are now.
  const coloured = (of, style) => {
    if (typeof of === 'string') return of.replace(/var\((--[a-z0-9-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    if (Array.isArray(of)) return of.map(it => coloured(it, style));
    if (of && typeof of === 'object') return Object.fromEntries(Object.entries(of).map(([key, it]) => [key, coloured(it, style)]));
    return of;
  };
  const drawn = new Map();
  const draw = figure => {
    const { source, place } = drawn.get(figure);
    const style = getComputedStyle(document.documentElement), narrow = place.clientWidth < 480;
    const chart = coloured(JSON.parse(source.textContent), style);
    const text = style.getPropertyValue('--text').trim(), guide = style.getPropertyValue('--line').trim();
    const paper = style.getPropertyValue('--panel').trim();
    const layout = Object.assign({
      font: { color: text, size: narrow ? 11 : 12, family: 'system-ui, "DejaVu Sans", sans-serif' },
      paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
      margin: { l: narrow ? 46 : 64, r: 32, t: 10, b: 46 },
      modebar: { orientation: 'v', bgcolor: 'rgba(0,0,0,0)', color: guide, activecolor: text },
      hoverlabel: { bgcolor: paper, font: { color: text }, align: 'left' },
      legend: { orientation: 'h', traceorder: 'normal', y: 1.02, yanchor: 'bottom', x: 0 },
      hovermode: 'closest', barmode: 'stack', showlegend: true,
    }, chart.layout);
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis[0-9]*$/.test(name)) {
        layout[name] = Object.assign({ gridcolor: guide, zerolinecolor: guide, linecolor: guide, automargin: true }, layout[name]);
      }
    }
    place.style.height = `${chart.high}px`;
    layout.height = chart.high;
    const options = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ['select2d', 'lasso2d', 'toImage'] };
    return Plotly.react(place, chart.data, layout, options);
  };
  // Ticks are the picture's; where a part is drawn closer plotly.js finds others.
  const ticks = (place, change) => {
    const modes = {};
    for (const name of Object.keys(change)) {
      const axis = /^([xy]axis[0-9]*)\.(range|autorange)/.exec(name);
      if (axis && place.layout[axis[1]].tickvals) modes[`${axis[1]}.tickmode`] = axis[2] === 'range' ? 'auto' : 'array';
    }
    if (Object.keys(modes).length) Plotly.relayout(place, modes);
  };
  const begin = async figure => {
    if (drawn.has(figure)) return;
    const source = figure.querySelector('script.chart'), place = document.createElement('div');
    place.className = 'live';
    figure.querySelector('.drawn').before(place);
    drawn.set(figure, { source, place });
    try {
      figure.classList.add('is-live');
      await draw(figure);
      place.on('plotly_relayout', change => ticks(place, change));
    } catch (error) {
      // The picture stands.
      figure.classList.remove('is-live');
      place.remove();
      throw error;
    }
  };
  const start = async () => {
    await unpack();
    // What comes into sight is drawn.
    const seen = new IntersectionObserver(entries => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) {
          seen.unobserve(target);
          begin(target);
        }
      }
    }, { rootMargin: '400px' });
    for (const source of sources) seen.observe(source.parentElement);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawn.forEach((_, figure) => draw(figure)));
    document.documentElement.dataset.charts = 'ready';
  };
  start();
})();
