import '../scripts/assert-node.mjs';
import type { Criteria, SortKey } from '../src/search/criteria/criteria.js';
import type { ValueTest } from '../src/search/criteria/value-test.js';
import { R4 } from '../src/fhir/r4.js';
import type { AnyResource } from '../src/fhir/resource.js';
import { indexEntries } from '../src/search/index/index-resource.js';
import { parameterFingerprints } from '../src/search/index/parameter-fingerprints.js';
import { runNow, type SyncPort } from '../src/stores/ask.js';
import { SegmentWriter } from '../src/stores/segments/build-segment.js';
import {
  FORMAT,
  type IndexedResource,
  type ListedSegment,
  type RowKey,
  type SegmentPort,
  type StoredState,
} from '../src/stores/segments/port.js';
import { SegmentIndex, type SegmentQuery } from '../src/stores/segments/segment-search.js';
import { Lines } from './scale/lines.js';

// Builds segments of generated resources in memory and asks them. Prints the time to build and the size per resource,
// and for each question the CPU time of its page and count: with nothing read yet, and with all rows in the cache.

const SIZE = Number(process.argv[2] ?? 440_000);
const SEGMENT = 65_536;

/** Keeps rows alone: it tests no resource. */
class RowPort implements SyncPort<SegmentPort> {
  readonly segments = new Map<string, ListedSegment[]>();
  readonly stored = new Map<string, ReadonlyMap<string, Uint8Array>>();
  questions = 0;
  rowCount = 0;
  bytes = 0;

  states(types: readonly string[]): readonly StoredState[] {
    this.questions++;
    return types.map((type) => ({
      list: { id: type, format: FORMAT, segments: this.segments.get(type) ?? [] },
      written: [],
    }));
  }
  rows(keys: readonly RowKey[]): readonly (Uint8Array | undefined)[] {
    this.questions++;
    this.rowCount += keys.length;
    const rows = keys.map(({ segment, name }) => this.stored.get(segment)?.get(name)?.slice());
    for (const row of rows) this.bytes += row?.length ?? 0;
    return rows;
  }
  resources(): never {
    throw new Error('No resources are kept');
  }
  resourcesAfter(): never {
    throw new Error('No resources are kept');
  }
  matching(_type: string, _criteria: Criteria, ids: readonly string[]): readonly string[] {
    tested += ids.length;
    return ids;
  }
  write(): never {
    throw new Error('Nothing is written');
  }
}

let tested = 0;
const port = new RowPort();
const fingerprintsOf = (type: string): { readonly [code: string]: string } => parameterFingerprints(R4)[type] ?? {};
const waiting = new Map<string, IndexedResource[]>();
let building = 0;
let instant = 1.6e12;
let made = 0;
const lines = new Lines();
for (const piece of lines.take(SIZE)) {
  for (const line of piece.split('\n')) {
    if (line === '') continue;
    const resource = JSON.parse(line) as AnyResource;
    const list = waiting.get(resource.resourceType) ?? [];
    waiting.set(resource.resourceType, list);
    list.push({ id: resource.id!, lastUpdated: (instant += 3), entries: indexEntries(R4, resource) });
    if (list.length === SEGMENT) build(resource.resourceType, list.splice(0));
  }
}
for (const [type, list] of waiting) build(type, list);

function build(type: string, resources: readonly IndexedResource[]): void {
  if (resources.length === 0) return;
  const started = process.cpuUsage();
  const writer = new SegmentWriter(resources.length, fingerprintsOf(type));
  for (const one of resources.toSorted((a, b) => (a.id < b.id ? -1 : 1))) writer.add(one);
  const { id, size, rows } = runNow(writer.finish(), {});
  building += cpu(started);
  port.stored.set(id, rows);
  port.segments.set(type, [...(port.segments.get(type) ?? []), { id, size, dead: Uint8Array.of(0) }]);
  made += size;
}

function cpu(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

const bytes = [...port.stored.values()].flatMap((rows) => [...rows.values()]).reduce((sum, row) => sum + row.length, 0);
console.log(`${made} resources, build ${(building / made).toFixed(1)} µs and ${(bytes / made).toFixed(0)} bytes each`);
for (const [type, segments] of port.segments) {
  const rows = segments.flatMap(({ id }) => [...port.stored.get(id)!]);
  const size = segments.reduce((sum, one) => sum + one.size, 0);
  if (size < SIZE / 50) continue;
  console.log(
    `  ${type} ${size} in ${segments.length} segments: ${(rows.reduce((sum, [, row]) => sum + row.length, 0) / size).toFixed(0)} bytes each, ${rows.length} rows`,
  );
  const byRun = new Map<string, number>();
  for (const [name, row] of rows) {
    const run = name.split(/[.=]/, 1)[0]! + (name.includes('=') ? '=' : '');
    byRun.set(run, (byRun.get(run) ?? 0) + row.length);
  }
  const most = [...byRun].sort(([, a], [, b]) => b - a).slice(0, process.argv.includes('sizes') ? 30 : 0);
  for (const [run, length] of most) console.log(`    ${run.padEnd(40)} ${(length / size).toFixed(1)}`);
}

const match = (parameter: string, test: ValueTest): Criteria => ({ kind: 'match', parameter, test });
const code = (parameter: string, value: string, system?: string): Criteria =>
  match(parameter, { kind: 'token', code: value, ...(system && { system }) });
const and = (...of: readonly Criteria[]): Criteria => ({ kind: 'and', of });
const not = (of: Criteria): Criteria => ({ kind: 'not', of });
const year = (value: number): number => Date.UTC(value, 0, 1);
const since = (value: number): Criteria =>
  match('date', { kind: 'date', prefix: 'ge', low: year(value), high: year(value + 1) });
const latest: readonly SortKey[] = [{ parameter: 'date', descending: true }];
const [{ value: patients }] = [{ value: lines.known }];
const BP = { system: 'http://loinc.org', code: '8480-6' };
const OBSERVATION: { readonly [name: string]: Omit<SegmentQuery, 'type' | 'limit'> } = {
  'final, latest': { criteria: code('status', 'final'), sort: latest },
  'not final, earliest': { criteria: not(code('status', 'final')), sort: [{ parameter: 'date', descending: false }] },
  'no status, latest': { criteria: code('status', 'cancelled'), sort: latest },
  'code, by value': {
    criteria: code('code', patients[0]!.code, 'http://loinc.org'),
    sort: [{ parameter: 'value-quantity', descending: true }],
  },
  'value above, latest': {
    criteria: match('value-quantity', { kind: 'quantity', prefix: 'gt', low: 120, high: 120 }),
    sort: latest,
  },
  'value in a unit, latest': {
    criteria: match('value-quantity', { kind: 'quantity', prefix: 'gt', low: 90, high: 90, code: 'kg' }),
    sort: latest,
  },
  'pressure above, latest': {
    criteria: {
      kind: 'composite',
      parameter: 'combo-code-value-quantity',
      tests: [
        { kind: 'token', ...BP },
        { kind: 'quantity', prefix: 'gt', low: 140, high: 140 },
      ],
    },
    sort: latest,
  },
  'final since 2020, by value': {
    criteria: and(code('status', 'final'), since(2020)),
    sort: [{ parameter: 'value-quantity', descending: true }],
  },
  'by status, then date': { criteria: { kind: 'all' }, sort: [{ parameter: 'status', descending: false }, ...latest] },
  'by date, then code': { criteria: { kind: 'all' }, sort: [...latest, { parameter: 'code', descending: false }] },
  'of women, latest': {
    criteria: { kind: 'chain', parameter: 'subject', type: 'Patient', of: code('gender', 'female') },
    sort: latest,
  },
  'of one patient, latest': {
    criteria: match('subject', { kind: 'reference', types: ['Patient'], id: patients[3]!.patient }),
    sort: latest,
  },
  'of encounters in progress': {
    criteria: { kind: 'chain', parameter: 'encounter', type: 'Encounter', of: code('status', 'in-progress') },
    sort: latest,
  },
  'excluding each other': {
    criteria: and(match('date', { kind: 'date', prefix: 'eb', low: year(2010), high: year(2011) }), since(2022)),
    sort: latest,
  },
  'by id, a page far behind': { criteria: code('status', 'final'), offset: 10_000 },
};
const QUESTIONS: readonly (readonly [string, SegmentQuery])[] = [
  ...Object.entries(OBSERVATION).map(([name, query]) => [name, { type: 'Observation', ...query }] as const),
  [
    'patients with high pressure',
    {
      type: 'Patient',
      criteria: {
        kind: 'has',
        type: 'Observation',
        parameter: 'subject',
        of: OBSERVATION['pressure above, latest']!.criteria,
      },
      sort: [{ parameter: 'name', descending: false }],
    },
  ],
  [
    'patients whose name contains',
    {
      type: 'Patient',
      criteria: match('name', { kind: 'string', comparator: 'contains', text: 'er' }),
      sort: [{ parameter: 'name', descending: false }],
    },
  ],
];

console.log(`\n${'CPU in ms'.padEnd(30)} page: cold, warm   count: cold, warm   matches  questions  kB read`);
for (const [name, query] of QUESTIONS) {
  const page = measure({ ...query, limit: 20 });
  const count = measure({ ...query, limit: 0, total: true });
  const figures = [page.cold, page.warm, count.cold, count.warm].map((one) => one.toFixed(2).padStart(7)).join('');
  console.log(
    `${name.padEnd(30)} ${figures}   ${String(count.total).padStart(8)} ${String(page.questions).padStart(3)} ${String(count.questions).padStart(3)} ${String(page.kilobytes).padStart(7)} ${String(count.kilobytes).padStart(7)} ${tested > 0 ? `tested ${tested}` : ''}`,
  );
  tested = 0;
}

function measure(query: SegmentQuery): {
  cold: number;
  warm: number;
  total: number | undefined;
  questions: number;
  kilobytes: number;
} {
  const colds: number[] = [];
  const warms: number[] = [];
  let [questions, kilobytes] = [0, 0];
  let total: number | undefined;
  for (let round = 0; round < 3; round++) {
    const index = new SegmentIndex(fingerprintsOf);
    [port.questions, port.bytes] = [0, 0];
    colds.push(time(index));
    [questions, kilobytes] = [port.questions, Math.round(port.bytes / 1000)];
    for (let run = 0; run < 5; run++) warms.push(time(index));
  }
  return { cold: median(colds), warm: median(warms), total, questions, kilobytes };

  function time(index: SegmentIndex): number {
    const started = process.cpuUsage();
    const page = runNow(index.search(query), port);
    if (page === undefined) throw new Error('Not answered');
    total = page.total;
    return cpu(started) / 1000;
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
