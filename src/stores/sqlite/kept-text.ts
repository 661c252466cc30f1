import { FhirError } from '../../fhir/error.js';
import type { StoredResource } from '../../store/store.js';
import { parseStored } from '../sql/parse-stored.js';
import { checksum } from './checksum.js';

/** What the table `version` holds of a resource; nulls where it should not. */
export interface KeptText {
  readonly text: string | null;
  readonly sum: number | null;
}

/**
 * A version's text as a resource.
 *
 * @throws FhirError `corrupt` - it is not what was written
 */
export function parseKept({ text, sum }: KeptText): StoredResource {
  if (text === null) throw new FhirError('corrupt', 'The database has lost the text of a version');
  if (checksum(text) !== sum) throw new FhirError('corrupt', 'The database holds a resource that was damaged');
  return parseStored(text);
}
