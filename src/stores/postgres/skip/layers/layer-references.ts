import { KEYS_IN_ROW as REFERENCES_IN_ROW, referenceBytes } from '../../../sql/skip/references.js';
import { type Row, textOf } from '../format/number-texts.js';
import { compareValues } from '../../../sql/texts.js';
import type { OrderEntry } from './order-change.js';
import { keyNames, KEYS_TOGETHER, ORDER, type ReferencesHead, type SkipLayer, TARGETS } from '../../rows/skip-row.js';

/** The values of a parameter by which resources are ordered. */
export interface Values {
  readonly smallest: OrderEntry[];
  readonly largest: OrderEntry[];
  /** The resources whose smallest value is not the largest. */
  readonly several: number[];
}

/** A reference of a resource; an absolute one has no target. */
export type ReferenceRow = readonly [number: number, target: string | null, text: string];

/** The rows of a parameter's references. */
export function* pairRows({ first }: SkipLayer, sort: number, rows: readonly ReferenceRow[]): Generator<Row> {
  const targets = [...new Set(rows.flatMap(([, target]) => target ?? []))].sort();
  if (targets.length === 0) return;
  const head: ReferencesHead = { targets: targets.length };
  yield { sort, subject: TARGETS, value: ORDER, data: JSON.stringify(head) };
  for (const [row, value] of keyNames(targets.length).entries()) {
    const keys = targets.slice(row * KEYS_TOGETHER, (row + 1) * KEYS_TOGETHER).join('');
    yield { sort, subject: TARGETS, value, data: textOf(Buffer.from(keys, 'hex')) };
  }
  const places = new Map(targets.map((target, place) => [target, place]));
  const byRow = Map.groupBy(
    rows.filter(([, target]) => target !== null),
    ([number]) => Math.floor((number - first) / REFERENCES_IN_ROW),
  );
  for (const [row, own] of byRow) {
    const start = first + row * REFERENCES_IN_ROW;
    const bytes = referenceBytes(
      own.map(([number]) => number - start),
      own.map(([, target]) => places.get(target!)!),
    );
    yield { sort, subject: TARGETS, value: String(row), data: textOf(bytes) };
  }
}

/** The smallest and the largest text of each resource. */
export function extremesOf(rows: readonly ReferenceRow[]): Values {
  const values = noValues();
  for (const [number, own] of Map.groupBy(rows, ([number]) => number)) {
    const texts = own.map(([, , text]) => text).sort(compareValues);
    const [smallest, largest] = [texts[0]!, texts.at(-1)!];
    values.smallest.push({ number, value: smallest });
    values.largest.push({ number, value: largest });
    if (smallest !== largest) values.several.push(number);
  }
  return values;
}

export function noValues(): Values {
  return { smallest: [], largest: [], several: [] };
}
