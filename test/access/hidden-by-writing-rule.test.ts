import type { Patient } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { member, overStores, system } from '../repository/harness.js';

overStores('a field that one rule shows and the rule for writing hides', (open) => {
  test.each([
    ['changed', { birthDate: '2000-02-02' }],
    ['removed', { birthDate: undefined }],
  ])('is unchanged if an update has it %s', async (_, change) => {
    const store = open();
    const trusted = await system(store);
    const stored: Patient = { resourceType: 'Patient', id: 'p', active: true, birthDate: '1970-01-01' };
    await trusted.update(stored);
    const mine = await member(store, {
      rules: [
        { resourceType: 'Patient', interaction: ['read', 'search'] },
        { resourceType: 'Patient', interaction: ['update'], hiddenFields: ['birthDate'] },
      ],
    });
    expect(await mine.read('Patient', 'p')).toMatchObject({ birthDate: '1970-01-01' });
    // Refused, or written without that field; never with it.
    await mine.update({ ...stored, ...change, active: false } as Patient).catch(() => undefined);
    expect(await trusted.read('Patient', 'p')).toMatchObject({ birthDate: '1970-01-01' });
    // A shown element can be sent back unchanged.
    await mine.update({ ...stored, active: false });
    expect(await trusted.read('Patient', 'p')).toMatchObject({ birthDate: '1970-01-01', active: false });
  });
});
