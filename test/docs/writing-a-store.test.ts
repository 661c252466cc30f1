import type { Patient } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { indexEntries, R4 } from '../../src/store.js';
import { readPage } from '../support/pages.js';

const GUIDE = readPage('writing-a-store');

test('the index entries in the guide equal the real entries', () => {
  const patient: Patient = { resourceType: 'Patient', birthDate: '1970-05', name: [{ family: 'Müller' }] };
  const entries = indexEntries(R4, patient);
  for (const shown of [
    { parameter: 'birthdate', group: 0, value: { kind: 'date', low: 10368000000, high: 13046400000 } },
    { parameter: 'family', group: 0, value: { kind: 'string', text: 'Müller', folded: 'muller' } },
  ]) {
    expect(entries).toContainEqual(shown);
    const { parameter, value } = shown;
    const fields = Object.entries(value).map(
      ([name, one]) => `${name}: ${typeof one === 'string' ? `'${one}'` : String(one)}`,
    );
    expect(GUIDE).toContain(`{ parameter: '${parameter}', group: 0, value: { ${fields.join(', ')} } }`);
  }
});
