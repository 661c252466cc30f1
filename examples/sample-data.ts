import type { Bundle } from 'fhirgraph/types';
import { transaction } from './sample/bundle.js';
import { createFacilities } from './sample/facilities.js';
import { createRandom } from './sample/random.js';
import { createRecord } from './sample/record.js';

export interface SampleOptions {
  /** Number of patients; each brings about 280 resources. Default 20. */
  readonly patients?: number;
  /** Other seeds give other people. Default `fhirgraph`. */
  readonly seed?: string;
}

/**
 * Made-up clinical data, linked and valid R4: the same for the same seed, whenever and wherever it is made.
 *
 * First comes a Bundle with organizations, locations, practitioners, their roles, schedules and free slots, then one
 * Bundle per patient. All are transactions, made one by one as they are asked for. Patient number n is the same however
 * many there are.
 */
export function* generateSample({ patients = 20, seed = 'fhirgraph' }: SampleOptions = {}): Generator<Bundle, void> {
  const facilities = createFacilities(createRandom(`${seed}/facilities`));
  yield transaction(facilities.resources);
  for (let position = 1; position <= patients; position++) {
    yield transaction(createRecord(createRandom(`${seed}/patient/${position}`), facilities, position));
  }
}
