import { expect, test } from 'vitest';
import { type Holding, ProjectData } from '../../../src/stores/memory/project-data.js';
import { below, createRandom, oneOf } from '../../support/kit.js';
import { cases, SEED } from '../../support/chance.js';

/** A few resources of two types, with up to 300 versions that often share an instant. */
function filled(random: () => number): { data: ProjectData; holdings: readonly Holding[] } {
  const data = new ProjectData();
  const holdings = Array.from({ length: 6 }, (_, n) => data.addHolding(n % 2 ? 'Patient' : 'Group', `r${n}`));
  const count = 6 + below(oneOf([20, 300], random), random);
  for (let n = 0; n < count; n += 1) {
    const holding = n < 6 ? holdings[n]! : oneOf(holdings, random);
    const updated = Math.max(holding.versions.at(-1)?.updated ?? 0, below(10, random));
    data.addVersion(holding, {
      versionId: String(holding.versions.length + 1),
      updated,
      resource: undefined,
      bytes: 0,
    });
  }
  return { data, holdings };
}

function timelineOf(data: ProjectData): readonly string[] {
  return ['Patient', 'Group'].flatMap((type) =>
    data.timeline(type).map(({ holding, version }) => `${holding.id}/${version.versionId}`),
  );
}

test(`removed versions leave the timeline, and come back to their places (seed ${SEED})`, () => {
  const random = createRandom(SEED);
  const removals = { few: 0, many: 0 };
  for (let turn = 0; turn < cases(500, 150); turn += 1) {
    const { data, holdings } = filled(random);
    const before = timelineOf(data);
    const counts = holdings.map((holding) => [holding, below(holding.versions.length + 1, random)] as const);
    const gone = new Set(
      counts.flatMap(([{ id, versions }, count]) => versions.slice(0, count).map((one) => `${id}/${one.versionId}`)),
    );
    const takeBack = data.removeOldest(counts);
    expect(timelineOf(data)).toEqual(before.filter((one) => !gone.has(one)));
    removals[gone.size > 100 ? 'many' : 'few'] += 1;
    takeBack();
    expect(timelineOf(data)).toEqual(before);
    expect(holdings.map(({ versions }) => versions.map(({ versionId }) => versionId))).toEqual(
      holdings.map(({ versions }) => versions.map((_, index) => String(index + 1))),
    );
  }
  expect(Math.min(removals.few, removals.many)).toBeGreaterThan(5);
});

test('an erasure among many resources keeps the timeline that the store has', () => {
  const data = new ProjectData();
  const holdings = Array.from({ length: 200 }, (_, n) => data.addHolding('Patient', `p${n}`));
  for (const holding of holdings)
    data.addVersion(holding, { versionId: '1', updated: 5, resource: undefined, bytes: 0 });
  const timeline = data.timeline('Patient');
  data.removeOldest([[holdings[70]!, 1]]);
  // Not a copy for each of the thousands of resources of a patient.
  expect(data.timeline('Patient')).toBe(timeline);
  expect(timeline).toHaveLength(199);
});
