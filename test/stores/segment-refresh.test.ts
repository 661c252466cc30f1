import { expect, test } from 'vitest';
import { FhirError } from '../../src/index.js';
import { type RefreshPort, SegmentRefresh } from '../../src/stores/sql/segment-refresh.js';

test('a type whose work fails keeps no other type from its segments', async () => {
  const seen: string[] = [];
  const port = {
    progressOf({ type }) {
      seen.push(type);
      if (type === 'Patient') throw new Error('A text is damaged');
      return 'done';
    },
    meaningOf: () => undefined,
    storeError: () => new FhirError('corrupt', 'A text is damaged'),
  } satisfies Partial<RefreshPort> as unknown as RefreshPort;
  const refresh = new SegmentRefresh(port, 8_192);
  refresh.note(['Patient', 'Observation', 'Encounter'].map((type) => ({ project: 'clinic', type })));
  await refresh.finish();
  expect(seen).toEqual(expect.arrayContaining(['Patient', 'Observation', 'Encounter']));
  await refresh.close();
});
