import type { GuardedKey } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { assertFewValues } from '../../fhir/json/json-values.js';
import { parseJson } from '../../fhir/json/parse-json.js';
import { DEFAULT_RESOURCE_VALUES } from '../../fhir/resource.js';
import { randomId } from '../../platform/node-crypto.js';
import { MAX_RESOURCE_BYTES } from '../../store/json-text.js';
import { checkResource } from '../entries/check-resource.js';
import type { WantedPut } from '../write/plan-puts.js';
import { deletionsOf } from './deletion-line.js';
import type { NdjsonContext } from './ndjson-types.js';

/** The request of a line: a resource to store, or resources to delete. */
export type Wanted = { readonly put: WantedPut } | { readonly deletes: readonly GuardedKey[] };

/**
 * @returns undefined for a blank line
 * @throws FhirError `too-costly` - the line has more values than a resource may have; `invalid`
 */
export function readLine(bytes: Uint8Array, context: NdjsonContext): Wanted | undefined {
  const text = decode(bytes);
  if (text.trim() === '') return undefined;
  assertFewValues(text, context.store.maxResourceValues ?? DEFAULT_RESOURCE_VALUES, 'The line');
  return wantedOf(parseJson(text), context);
}

/** The error of a line that is longer than the import reads. @param limit in bytes */
export function lineTooLong(limit: number): FhirError {
  const hint = limit < MAX_RESOURCE_BYTES ? '; raise maxLineBytes to import it' : ', the most that a resource may have';
  return new FhirError('too-costly', `The line is longer than ${limit} bytes${hint}`);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new FhirError('invalid', 'The line is not valid UTF-8', { cause });
  }
}

function wantedOf(value: unknown, context: NdjsonContext): Wanted {
  const resource = checkResource(context.store.model, value);
  const deletes = context.deletions === true ? deletionsOf(resource) : undefined;
  if (deletes !== undefined) return { deletes };
  const { resourceType: type, id } = resource;
  if (id !== undefined) return { put: { key: { type, id }, resource } };
  return { put: { key: { type, id: randomId() }, resource, expect: { version: null }, generatedId: true } };
}
