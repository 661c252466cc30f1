import type { AnyResource } from '../../src/index.js';
import { createRandom } from '../support/kit.js';

/** Old Observations are corrected and low, and no value follows the order of writing. */
export function correlatedObservations(count: number): AnyResource[] {
  const random = createRandom(7);
  return Array.from({ length: count }, (_, index) => {
    const day = Math.floor(random() * 3_000);
    const old = day < 600;
    return {
      resourceType: 'Observation',
      id: `o${String((index * 7919) % 100_003).padStart(6, '0')}`,
      status: old ? 'corrected' : 'final',
      code: { coding: [{ code: `c${Math.floor(random() * 4)}` }] },
      ...(old ? {} : { subject: { reference: 'Patient/p' } }),
      effectiveDateTime: new Date(Date.UTC(2010, 0, 1 + day)).toISOString(),
      valueQuantity: { value: day / 10 + random() },
    } as AnyResource;
  });
}
