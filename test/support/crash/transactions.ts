import type { AnyResource } from '../../../src/index.js';
import { below, oneOf, resourceOf } from '../kit.js';

/** A write of the crash tests. Its name and mark determine the content of the resource. A mark of null is a deletion. */
export interface MarkedWrite {
  readonly type: 'Observation' | 'Patient';
  readonly id: string;
  readonly mark: string | null;
}

/** A message of a writer on its standard output, a line of JSON each. */
export type WriterLine =
  /** Sent just before the file is opened. */
  | { readonly kind: 'opening' }
  /** Sent just before a commit. */
  | { readonly kind: 'try'; readonly writes: readonly MarkedWrite[] }
  /** The commit has resolved, with a version per write. */
  | { readonly kind: 'done'; readonly versions: readonly string[] }
  /** The commit was refused. */
  | { readonly kind: 'failed'; readonly code: string };

/** Types that are written. */
export const MARKED_TYPES = ['Patient', 'Observation'] as const;

/** A resource with values in every kind of index. */
export function markedResource({ type, id, mark }: MarkedWrite): AnyResource {
  const number = [...`${id}${mark}`].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 9973, 7);
  const identifier = [{ system: 'urn:mark', value: mark }];
  if (type === 'Patient') return resourceOf(type, id, { identifier, name: [{ family: `Lee ${mark}` }], active: true });
  return resourceOf(type, id, {
    identifier,
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: String(number % 40) }] },
    subject: { reference: `Patient/p${number % 10}` },
    effectiveDateTime: `20${10 + (number % 10)}-0${1 + (number % 9)}-01T12:00:00Z`,
    valueQuantity: { value: number, unit: 'mg', system: 'http://unitsofmeasure.org', code: 'mg' },
    note: [{ text: 'x'.repeat(number % 700) }],
  });
}

/**
 * The writes of one transaction: creations, updates and deletions of several resources, always with `Patient/ledger`, which
 * has the number of the transaction. One in thirty is large.
 *
 * @param living ids of the existing Observations; changed as if the transaction had been committed
 * @param name unique to the transaction
 */
export function nextTransaction(living: string[], name: string, random: () => number): readonly MarkedWrite[] {
  const writes: MarkedWrite[] = [{ type: 'Patient', id: 'ledger', mark: name }];
  writes.push({ type: 'Patient', id: `p${below(10, random)}`, mark: name });
  const taken = new Set<string>();
  const take = (): string | undefined => {
    const id = living.length === 0 ? undefined : oneOf(living, random);
    return id === undefined || taken.has(id) ? undefined : (taken.add(id), id);
  };
  for (let count = below(4, random); count > 0; count--) {
    const id = take();
    if (id !== undefined) writes.push({ type: 'Observation', id, mark: name });
  }
  for (let count = below(3, random); count > 0; count--) {
    const id = take();
    if (id === undefined) continue;
    writes.push({ type: 'Observation', id, mark: null });
    living.splice(living.indexOf(id), 1);
  }
  for (let count = below(30, random) === 0 ? 150 : 1 + below(3, random); count > 0; count--) {
    const id = `${name}-${count}`;
    writes.push({ type: 'Observation', id, mark: name });
    living.push(id);
  }
  return writes;
}
