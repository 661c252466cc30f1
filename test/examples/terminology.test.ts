import { expect, test } from 'vitest';
import { clinicWithTerminology, searchByConcepts } from '../../examples/terminology.js';

test('the example finds by hierarchy and by value set', async () => {
  expect(await searchByConcepts(await clinicWithTerminology())).toEqual({
    diabetes: ['type-2'],
    chronic: [{ id: 'asthma' }, { id: 'type-2' }],
  });
});
