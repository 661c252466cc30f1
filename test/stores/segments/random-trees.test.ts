import { afterEach, describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import { type FhirModel, pageEdgeOf, R4, type SearchQuery } from '../../../src/store.js';
import { below, createRandom, oneOf, randomResources } from '../../support/kit.js';
import { runNow } from '../../../src/stores/ask.js';
import { SIZES } from '../../../src/stores/segments/run-format.js';
import { SegmentIndex, type SegmentPage, type SegmentQuery } from '../../../src/stores/segments/segment-search.js';
import { SegmentUpkeep } from '../../../src/stores/segments/upkeep.js';
import { RandomQueries } from '../../../src/testing/random-queries.js';
import { skewedResources } from '../../../src/testing/suites/random-searches.js';
import { cases, IS_WHOLE, SEED } from '../../support/chance.js';
import { fingerprintsOf, MemoryPort } from './memory-port.js';

/** Of both tests together: 10,240 searches in `npm run test:all`. */
const LIVES = IS_WHOLE ? Math.max(40, cases(40)) : 2;
const SEARCHES = IS_WHOLE ? 16 : 8;

const USUAL = { ...SIZES };
const SMALL = { block: 8, row: 32, frequent: 16, ids: 16 };
afterEach(() => Object.assign(SIZES, USUAL));

/** One project over time: writes, flushes, merges and erasures, in random order. */
class Life {
  readonly port: MemoryPort;
  readonly index = new SegmentIndex(fingerprintsOf);
  readonly upkeep = new SegmentUpkeep(fingerprintsOf, this.index.cache);

  constructor(
    readonly random: () => number,
    model: FhirModel,
  ) {
    this.port = new MemoryPort(model);
  }

  get types(): readonly string[] {
    return [...this.port.current.keys()];
  }

  /** Random resources. Later ones change earlier ones. */
  write(): void {
    const made = this.random() < 0.5 ? randomResources(this.random) : skewedResources(40, this.random);
    for (const resource of made) {
      if (this.random() < 0.6) this.put(resource);
      if (this.random() < 0.6) this.put({ ...resource, id: `${resource.id!}x${below(20, this.random)}` });
    }
  }

  put(resource: AnyResource): void {
    const lastUpdated = new Date(1.6e12 + below(50, this.random)).toISOString();
    const extra = resource.resourceType === 'Patient' && this.random() < 0.2 ? longNames(this.random) : {};
    this.port.put({ ...resource, ...extra, meta: { ...resource.meta, lastUpdated } });
  }

  build(size: number): void {
    for (const type of this.types)
      while (
        !runNow(
          this.upkeep.build(type, () => size),
          this.port,
        )
      );
  }

  change(): void {
    const type = oneOf(this.types, this.random);
    const ids = [...this.port.current.get(type)!.keys()];
    const way = below(5, this.random);
    if (way === 0) this.write();
    else if (way === 1) for (const id of ids) if (this.random() < 0.2) this.port.delete(type, id);
    if (way === 2) runNow(this.upkeep.flush(type), this.port);
    else if (way === 3) runNow(this.upkeep.merge(type), this.port);
    else if (way === 4 && ids.length > 3) {
      const erased = ids.filter(() => this.random() < 0.1);
      const prepared = this.random() < 0.5 ? runNow(this.upkeep.prepareErase(type, erased), this.port) : undefined;
      if (this.random() < 0.5) this.change();
      for (const id of erased) this.port.delete(type, id);
      expect(runNow(this.upkeep.erase(type, erased, prepared), this.port)).toBe(true);
    }
    // Types that came later.
    this.build(20);
  }

  answer(query: SearchQuery): SegmentPage | undefined {
    const { type, criteria, sort, offset, limit, total } = query;
    const asked: SegmentQuery = { type, criteria, sort, offset, limit, total, edge: pageEdgeOf(R4, query) };
    return runNow(this.index.search(asked), this.port);
  }
}

/** Texts, codes and systems that are equal in what a segment keeps of them. */
function longNames(random: () => number): object {
  const long = (end: number): string =>
    `${'a'.repeat(254)}😀${'b'.repeat(below(3, random))}${oneOf(['', 'c', '!d'], random)}`.slice(0, end).toWellFormed();
  const text = (): string => long(oneOf([255, 256, 300], random));
  const family = text();
  return { name: [{ family, given: [text(), 'Jim'] }], identifier: [{ system: text(), value: text() }] };
}

describe(`segments answer random searches like the reference search (seed ${SEED})`, () => {
  test.each([
    ['relative references', undefined],
    ['references below the base of the service', 'https://own.base/fhir'],
  ])('with %s', (_, base) => {
    const random = createRandom(SEED);
    let [answered, unknown] = [0, 0];
    for (let life = 0; life < LIVES; life++) {
      // Blocks that are full, and rows of several blocks.
      Object.assign(SIZES, life % 2 === 0 ? SMALL : USUAL);
      const one = new Life(random, R4.withBaseUrl(base));
      one.write();
      one.build(3 + below(30, random));
      for (let round = 0; round < 8; round++) {
        for (let left = below(4, random); left > 0; left--) one.change();
        const reference = one.port.world;
        const queries = new RandomQueries('clinic', reference, random);
        for (let run = 0; run < SEARCHES; run++) {
          const query = queries.search();
          const answer = one.answer(query);
          if (answer?.ids === undefined) unknown++;
          else answered++;
          if (answer === undefined) continue;
          // Whatever the order, the matches are counted.
          const { ids, total } = reference.search(query);
          const expected = { ids: answer.ids && ids, ...(query.total === true && { total }) };
          expect(answer, JSON.stringify(query)).toEqual(expected);
        }
      }
      for (const type of one.types) expect(runNow(one.upkeep.verify(type), one.port)).toEqual([]);
    }
    // Only an unknown order, which most lives never have, leaves a search without an answer.
    expect(answered).toBeGreaterThan(2 * unknown);
  });
});
