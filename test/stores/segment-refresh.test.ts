import { expect, test } from 'vitest';
import { FhirError } from '../../src/index.js';
import { type RefreshPort, SegmentRefresh } from '../../src/stores/sql/segment-refresh.js';

test.each(['finish', 'close'] as const)(
  'a type whose work fails keeps no other type from its segments: %s',
  async (end) => {
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
    const types = ['Patient', 'Observation', 'Encounter'];
    // A search lacks them, so that a store that closes has time for them.
    refresh.stale('clinic', types, 'Patient');
    await refresh[end]();
    expect(seen).toEqual(expect.arrayContaining(['Patient', 'Observation', 'Encounter']));
    await refresh.close();
  },
);
