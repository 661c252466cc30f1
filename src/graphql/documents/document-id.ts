import { FhirError } from '../../fhir/error.js';

/** In UTF-16 code units. Relay's ids have 32, a SHA-256 with its prefix 71. */
const MAX_ID_LENGTH = 256;

/**
 * Normalizes a document id: a SHA-256 becomes lower case without prefix, other ids are unchanged.
 *
 * @throws FhirError `invalid` - empty, too long, or not a string
 */
export function documentIdOf(id: unknown): string {
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) {
    throw new FhirError('invalid', `The id of a document must be a string of 1 to ${MAX_ID_LENGTH} characters`);
  }
  const bare = id.startsWith('sha256:') ? id.slice('sha256:'.length) : id;
  return SHA256.test(bare) ? bare.toLowerCase() : id;
}

const SHA256 = /^[0-9a-f]{64}$/i;
