import { expect, test } from 'vitest';
import { R4 } from '../../src/fhir/r4.js';
import { indexEntries } from '../../src/search/index/index-resource.js';
import { type MarkedEntries, markEntries } from '../../src/stores/sql/extremes.js';
import { shapeText } from '../../src/stores/sql/shape-text.js';
import { KnownShapes } from '../../src/stores/sqlite/rows/known-shapes.js';
import { createRandom } from '../../src/testing/random.js';
import { randomResources } from '../../src/testing/random-resources.js';
import { cases, SEED } from '../support/chance.js';

const NAMES = new Map<string, number>();

/** Numbers of shapes by their texts, as the dictionary has them. */
class Numbers {
  readonly #numbers = new Map<string, number>();
  asked = 0;

  of(collection: number, marked: MarkedEntries): number {
    this.asked += 1;
    const text = shapeText(marked, (code) => NAMES.get(code) ?? NAMES.set(code, NAMES.size + 1).size);
    const name = `${collection} ${text}`;
    return this.#numbers.get(name) ?? this.#numbers.set(name, this.#numbers.size + 1).size;
  }
}

test(`a cached shape equals the shape of its text (seed ${SEED})`, () => {
  const random = createRandom(SEED);
  const numbers = new Numbers();
  const known = new KnownShapes();
  let found = 0;
  for (let left = cases(20, 3); left > 0; left--) {
    for (const resource of randomResources(random)) {
      const marked = markEntries(indexEntries(R4, resource));
      const collection = Math.floor(random() * 3);
      const shape = known.find(1, collection, marked, () => numbers.of(collection, marked));
      const asked = numbers.asked;
      expect(shape).toBe(numbers.of(collection, marked));
      numbers.asked = asked;
      found += 1;
    }
  }
  expect(numbers.asked).toBeLessThan(found);
});

test('another generation discards the numbers', () => {
  const known = new KnownShapes();
  const marked = markEntries([{ parameter: 'a', group: 0, value: { kind: 'token', code: 'x' } }]);
  expect(known.find(0, 1, marked, () => 5)).toBe(5);
  expect(known.find(0, 1, marked, () => 6)).toBe(5);
  expect(known.find(0, 2, marked, () => 7)).toBe(7);
  expect(known.find(1, 1, marked, () => 8)).toBe(8);
});
