// A process that writes commits which readers must see as a whole, until it is killed: `node --import tsx tides.ts FILE`.
// Patient/low and Patient/high always have the same language; there are 10 Observations or 20.

import { SqliteStore } from '../../../src/sqlite.js';
import { keyOf, put, resourceOf } from '../kit.js';

const store = new SqliteStore(process.argv[2]!, { synchronous: 'off' });
for (let count = 0; ; count++) {
  const numbers = Array.from({ length: 10 }, (_, index) => `o${10 + index}`);
  await store.commit([
    ...['low', 'high'].map((id) => put(resourceOf('Patient', id, { language: `l${count}` }))),
    ...numbers.map((id) =>
      count % 2 === 0
        ? put(resourceOf('Observation', id, { subject: { reference: 'Patient/low' } }))
        : ({ kind: 'delete', key: keyOf('Observation', id) } as const),
    ),
  ]);
  await new Promise((resolve) => setImmediate(resolve));
}
