import type { AnyResource } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WrittenResources } from '../../src/access/evaluate/written-resources.js';
import { cases, SEED } from '../support/chance.js';

const NOW = Date.parse('2024-01-02T03:04:05Z');
const TYPES = ['Patient', 'Observation'] as const;
const IDS = ['a', 'b', 'c'] as const;

/** One write, based on the result of an earlier step: mostly the last step. */
const step = fc.record({
  type: fc.constantFrom(...TYPES),
  id: fc.constantFrom(...IDS),
  isDeleted: fc.boolean(),
  replaces: fc.boolean(),
  back: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(5)),
});

/** The results of the earlier steps, as plain data. */
interface Model {
  readonly resources: ReadonlyMap<string, AnyResource | null>;
  readonly replaced: ReadonlyMap<string, readonly string[]>;
}

function answersOf(written: WrittenResources): unknown {
  return TYPES.map((type) => ({
    get: IDS.map((id) => written.get(type, id)),
    find: IDS.map((id) => written.find(type, id) && [written.find(type, id)!.id, written.find(type, id)!.lastUpdated]),
    subjects: [...written.subjects(type)].map(({ id }) => id).sort(),
    replaced: written.replaced(type),
    isEmpty: written.isEmpty,
  }));
}

function expected({ resources, replaced }: Model): unknown {
  return TYPES.map((type) => {
    const all = IDS.map((id) => [id, resources.get(`${type}/${id}`)] as const);
    return {
      get: all.map(([, resource]) => resource),
      find: all.map(([id, resource]) => resource && [id, NOW]),
      subjects: all.flatMap(([id, resource]) => (resource ? [id] : [])),
      replaced: replaced.get(type) ?? [],
      isEmpty: resources.size === 0,
    };
  });
}

test('the resources of a commit are unchanged for each step, whatever is written later', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const values = [WrittenResources.none(R4, NOW)];
      const models: Model[] = [{ resources: new Map(), replaced: new Map() }];
      for (const [number, { type, id, isDeleted, replaces, back }] of steps.entries()) {
        const from = Math.max(0, values.length - 1 - back);
        const resource = isDeleted ? null : ({ resourceType: type, id, language: String(number) } as AnyResource);
        values.push(values[from]!.with(type, id, resource, replaces));
        const { resources, replaced } = models[from]!;
        const isFirst = !resources.has(`${type}/${id}`);
        const ids = replaced.get(type) ?? [];
        models.push({
          resources: new Map([...resources, [`${type}/${id}`, resource]]),
          replaced: new Map([...replaced, [type, isFirst && replaces ? [...ids, id] : ids]]),
        });
      }
      expect(values.map(answersOf)).toEqual(models.map(expected));
    }),
    { numRuns: cases(1000, 150), seed: SEED },
  );
});

test('a version replaces no stored version by default', () => {
  const written = WrittenResources.none(R4, NOW).with('Patient', 'a', { resourceType: 'Patient', id: 'a' });
  expect(written.replaced('Patient')).toEqual([]);
});
