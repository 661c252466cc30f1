import type { SortKey } from '../../../../search/criteria/criteria.js';
import { tablesOf } from '../../../sql/index-tables.js';
import { orderTerms } from '../../../sql/order.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import type { SkipKey } from '../../scans/order-index.js';
import type { Granule } from '../format/granule-rows.js';
import { SKIP_TUNING } from '../../rows/skip-row.js';

/** The sort key of an order by references, which no other index has. Undefined for other keys. */
export function referenceKeyOf(key: SortKey, scope: RowScope): SkipKey | undefined {
  const { parameter } = key;
  // With a base, absolute references have other texts.
  if (parameter.startsWith('_') || parameter.includes('$') || scope.baseUrl !== undefined) return undefined;
  const number = parameterKey(scope, parameter);
  if (number === undefined || tablesOf(scope.dialect.model, scope.type, parameter)[0] !== 'reference') return undefined;
  return { valueOf: orderTerms([key], scope)[0]!.value, isCut: true, isNumber: false, skip: number as number };
}

/** Orders resources by the places of their references in the order of texts: by the first of each, or by the last. */
export class ReferenceOrder {
  /** The place plus one; 0 without a reference. */
  readonly #smallest: Uint32Array;
  readonly #largest: Uint32Array;
  #end = 0;

  /** @param size number of resources */
  constructor(size: number) {
    this.#smallest = new Uint32Array(size);
    this.#largest = new Uint32Array(size);
  }

  /** @param places from 1 up */
  add(numbers: Int32Array, places: Int32Array): void {
    for (const [index, number] of numbers.entries()) {
      const place = places[index]!;
      const known = this.#smallest[number]!;
      if (known === 0 || place < known) this.#smallest[number] = place;
      if (place > this.#largest[number]!) this.#largest[number] = place;
      if (place > this.#end) this.#end = place;
    }
  }

  get several(): boolean {
    return this.#smallest.some((place, number) => this.#largest[number] !== place);
  }

  /** The granules. Equal places are never in two granules, and a place with many resources gets its own granule. */
  granules(descending: boolean): readonly (Omit<Granule, 'start'> & { readonly place: number })[] {
    const { granule } = SKIP_TUNING;
    const [numbers, ends] = sorted(descending ? this.#largest : this.#smallest, this.#end);
    const granules: { place: number; isTie: boolean; numbers: Int32Array }[] = [];
    let [start, from] = [0, 0];
    for (let place = 1; place <= this.#end; place++) {
      const [begin, end] = [ends[place - 1]!, ends[place]!];
      if (begin === end) continue;
      const isTie = end - begin >= Math.ceil(granule / 2);
      if (from < begin && (isTie || end - from > granule)) {
        granules.push({ place: start, isTie: false, numbers: numbers.slice(from, begin) });
        from = begin;
      }
      if (from === begin) start = place;
      if (isTie) {
        granules.push({ place, isTie, numbers: numbers.slice(begin, end) });
        from = end;
      }
    }
    if (from < numbers.length) granules.push({ place: start, isTie: false, numbers: numbers.slice(from) });
    return granules;
  }
}

/** The numbers of resources in the order of their places, and where each place ends among them. */
function sorted(places: Uint32Array, last: number): readonly [numbers: Int32Array, ends: Uint32Array] {
  const ends = new Uint32Array(last + 1);
  for (const place of places) if (place !== 0) ends[place]!++;
  for (let place = 1; place <= last; place++) ends[place]! += ends[place - 1]!;
  const numbers = new Int32Array(ends[last]!);
  const next = ends.slice();
  for (const [number, place] of places.entries()) if (place !== 0) numbers[next[place - 1]!++] = number;
  return [numbers, ends];
}
