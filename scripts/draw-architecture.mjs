// Draws docs/images/architecture.svg from the layers that the linter enforces: `npm run docs:architecture`.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LAYERS } from './lint/layers.mjs';

const IMAGE = fileURLToPath(new URL('../docs/images/architecture.svg', import.meta.url));
/** What each folder of src does, in the words that fit into a box. */
const PURPOSES = {
  http: 'requests and responses',
  graphql: 'parse, validate, plan, execute',
  repository: 'REST-style interactions',
  projects: 'invitations, members, clients',
  import: 'Bundles and NDJSON',
  interactions: 'plan, decide and commit writes',
  access: 'the one decision',
  audit: 'who did what',
  stores: 'memory, SQLite, PostgreSQL',
  telemetry: 'spans and counts',
  store: 'the store contract',
  search: 'the meaning of criteria',
  fhirpath: 'FHIRPath',
  fhir: 'definitions, validation, errors',
  'fhir-package': 'definitions from FHIR packages',
  'audit-journal': 'events that wait',
  profiles: 'profiles and extensions',
  terminology: 'value sets and codes',
  platform: 'what runtimes differ in',
  client: 'keys for client caches',
  'test-service': 'a service inside a unit test',
  testing: 'the conformance kit',
};
/** The folders that a request does not pass through. They get a column of their own, without arrows. */
const BESIDE = [
  'audit',
  'telemetry',
  'platform',
  'client',
  'fhir-package',
  'audit-journal',
  'terminology',
  'test-service',
  'testing',
];
const BOX = { width: 210, height: 46, gap: 24, rise: 26 };
const MARGIN = 16;

/** @returns the picture: an arrow points from a folder to each folder that it imports and reaches in no other way */
export function drawArchitecture(layers = LAYERS) {
  const path = Object.fromEntries(
    Object.entries(layers)
      .filter(([name]) => !BESIDE.includes(name))
      .map(([name, imports]) => [name, imports.filter((to) => !BESIDE.includes(to))]),
  );
  const rows = rowsOf(path);
  const column = BOX.width + BOX.gap;
  const left = Math.max(...rows.map((row) => row.length)) * column;
  const [width, height] = [left + column - BOX.gap + 2 * MARGIN, topOf(rows.length) - BOX.rise + MARGIN];
  const places = new Map(
    rows.flatMap((row, line) =>
      row.map((name, index) => [
        name,
        { x: MARGIN + (left - row.length * column) / 2 + index * column, y: topOf(line) },
      ]),
    ),
  );
  const arrows = Object.keys(path).flatMap((from) =>
    directImports(from, path).map((to) => arrow(places.get(from), places.get(to))),
  );
  const boxes = [...places].map(([name, place]) => box(name, place));
  const beside = BESIDE.map((name, index) => box(name, { x: MARGIN + left, y: topOf(index + 1) }));
  const label = `<text class="label" x="${MARGIN + left + BOX.width / 2}" y="${topOf(1) - 12}">beside the path of a request</text>`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The folders of src and what each imports">`,
    STYLE,
    ...arrows,
    ...boxes,
    label,
    ...beside,
    '</svg>',
  ].join('\n')}\n`;
}

function topOf(row) {
  return MARGIN + row * (BOX.height + BOX.rise);
}

const STYLE = `<style>
  rect { fill: #f6f8fa; stroke: #57606a; }
  path { fill: none; stroke: #8c959f; }
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #24292f; text-anchor: middle; }
  text.name { font-weight: 600; }
  text.label { font-style: italic; }
  @media (prefers-color-scheme: dark) {
    rect { fill: #161b22; stroke: #8b949e; }
    path { stroke: #6e7681; }
    text { fill: #e6edf3; }
  }
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M1 1 L7 4 L1 7"/></marker></defs>`;

/**
 * The folders in rows, each row below everything that imports it. A folder that no other imports is in the row above
 * its highest import.
 */
function rowsOf(layers) {
  const names = Object.keys(layers);
  const importers = (name) => names.filter((other) => layers[other].includes(name));
  const entries = names.filter((name) => importers(name).length === 0);
  const [top] = [...entries].sort((a, b) => layers[b].length - layers[a].length);
  const lines = new Map();
  const lineOf = (name) => {
    if (!lines.has(name)) {
      const above = importers(name).filter((other) => other === top || !entries.includes(other));
      lines.set(name, above.length === 0 ? 0 : 1 + Math.max(...above.map(lineOf)));
    }
    return lines.get(name);
  };
  const rows = [];
  for (const name of names.toReversed()) {
    const line = name === top || !entries.includes(name) ? lineOf(name) : Math.min(...layers[name].map(lineOf)) - 1;
    (rows[line] ??= []).push(name);
  }
  return rows;
}

/** What a folder imports, without what one of those imports too. */
function directImports(from, layers) {
  const imports = [...new Set(layers[from])];
  return imports.filter((to) => !imports.some((between) => between !== to && reaches(between, to, layers)));
}

function reaches(from, to, layers) {
  return layers[from].some((next) => next === to || reaches(next, to, layers));
}

/** Straight down beside the boxes, then a curve in the last gap. */
function arrow(from, to) {
  const [x1, y1] = [from.x + BOX.width / 2, from.y + BOX.height];
  const [x2, y2] = [to.x + BOX.width / 2, to.y];
  const bend = y2 - BOX.rise;
  return `<path marker-end="url(#head)" d="M${x1} ${y1} V${bend} C${x1} ${y2 - 6} ${x2} ${bend + 6} ${x2} ${y2}"/>`;
}

function box(name, { x, y }) {
  const center = x + BOX.width / 2;
  return [
    `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6"/>`,
    `<text class="name" x="${center}" y="${y + 19}">${name}</text>`,
    `<text x="${center}" y="${y + 36}">${purposeOf(name)}</text>`,
  ].join('\n');
}

function purposeOf(name) {
  const purpose = PURPOSES[name];
  if (purpose === undefined) throw new Error(`scripts/draw-architecture.mjs has no purpose for src/${name}`);
  return purpose;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(IMAGE, drawArchitecture());
