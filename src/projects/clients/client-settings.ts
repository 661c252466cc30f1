import type { Caller } from '../../access/caller.js';
import { isSystemBot } from '../../access/write/decide-trusted.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource, JsonObject } from '../../fhir/resource.js';
import { validateResource } from '../../fhir/validate-resource.js';
import { type BodyReader, own } from '../body/body-reader.js';

/** The types of members that are not people. */
export type ClientType = 'ClientApplication' | 'Bot';

/** Elements that cannot be set: the secrets have their own operations, the others belong to the store. */
const FIXED: ReadonlySet<string> = new Set([
  'contained',
  'id',
  'implicitRules',
  'meta',
  'resourceType',
  'retiringSecret',
  'secret',
]);

/** The elements of a client or Bot that administrators choose. */
export function clientFields(model: FhirModel, type: ClientType): readonly string[] {
  return [...model.typeDefinition(type)!.elements.keys()].filter((name) => !FIXED.has(name));
}

/**
 * Reads the elements of a client or Bot from a body.
 *
 * @param removable true if null removes an element; otherwise null is the same as leaving it out
 */
export function readClientSettings(
  model: FhirModel,
  reader: BodyReader,
  type: ClientType,
  body: JsonObject,
  removable: boolean,
): { readonly [name: string]: unknown } {
  const settings: { [name: string]: unknown } = {};
  for (const name of clientFields(model, type)) {
    if (!Object.hasOwn(body, name) || body[name] === undefined) continue;
    if (name === 'name' || name === 'description') {
      const text = reader.text(body, name, '', name === 'name' ? 256 : 4_000);
      if (text !== undefined) settings[name] = text;
      if (body[name] !== null) continue;
    }
    if (body[name] !== null) settings[name] = own(body, name);
    else if (name === 'name' && removable) reader.fault('name', 'name must not be empty');
    else if (removable) settings[name] = null;
  }
  return settings;
}

/** Adds an issue, by field of the body, for each violation of the type's definition. */
export function checkClient(model: FhirModel, reader: BodyReader, client: { readonly resourceType: ClientType }): void {
  const prefix = `${client.resourceType}.`;
  for (const issue of validateResource(model, client, { strict: true })) {
    const expression = issue.expression?.map((path) => (path.startsWith(prefix) ? path.slice(prefix.length) : path));
    reader.issues.push({ ...issue, expression: expression ?? [] });
  }
}

/**
 * Only the operator's code (`serverCaller()`) and unrestricted super administrators can create or change a Bot with
 * `system: true`, which may use the operator's secrets (`Project.systemSecret`).
 *
 * @throws FhirError `forbidden`
 */
export function assertMayMakeSystemBot(caller: Caller, ...versions: readonly AnyResource[]): void {
  if (caller.kind === 'server') return;
  if (caller.kind === 'member' && caller.superAdmin && caller.powers === undefined) return;
  if (!versions.some(isSystemBot)) return;
  throw new FhirError(
    'forbidden',
    'Only unrestricted super administrators and trusted code may make or change a system Bot',
  );
}
