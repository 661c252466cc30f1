import { expect, test } from 'vitest';
import { PostgresStore } from '../../../src/postgres.js';
import { projectTerminology, withTerminology } from '../../../src/terminology.js';
import { IS_LONG } from '../../support/chance.js';
import { addLargeSet, CONCEPT_SEARCHES, fill, idsOf } from '../../terminology/concept-cases.js';
import { SETS } from '../../terminology/resources.js';
import { postgresPool } from './pool.js';

test('value sets and hierarchies of codes find the same as in other stores', async () => {
  const store = withTerminology(new PostgresStore(await postgresPool()), projectTerminology());
  await fill(store);
  for (const [type, query, expected] of CONCEPT_SEARCHES) {
    expect([query, await idsOf(store, type, query)]).toEqual([query, expected]);
  }
  if (!IS_LONG) return;
  await addLargeSet(store);
  expect(await idsOf(store, 'Observation', `code:in=${SETS}large`)).toEqual(['bird']);
  expect(await idsOf(store, 'Observation', `code:not-in=${SETS}large&subject:missing=false`)).toEqual([
    'cat',
    'poodle',
  ]);
});
