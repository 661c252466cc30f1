import { extensionsOf, OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { and, NONE, not, type Criteria } from '../../search/criteria/criteria.js';
import { SECURITY_LABELS } from '../../search/index/index-resource.js';
import type { Clearance } from '../narrowing.js';

/** The resources that a clearance allows: without a label of the system that has another code or no code. */
export function clearanceCriteria(clearances: readonly Clearance[]): Criteria {
  return and(
    clearances.map(({ system, codes }) =>
      not({
        kind: 'match',
        parameter: SECURITY_LABELS,
        test: { kind: 'token', system, except: withLower(system, codes) },
      }),
    ),
  );
}

const CONFIDENTIALITY = 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality';

/** From the lowest up. */
const LEVELS = ['U', 'L', 'M', 'N', 'R', 'V'];

function withLower(system: string, codes: readonly string[]): readonly string[] {
  if (system !== CONFIDENTIALITY) return codes;
  const highest = Math.max(-1, ...codes.map((code) => LEVELS.indexOf(code)));
  return [...new Set([...codes, ...LEVELS.slice(0, highest + 1)])];
}

/**
 * The criteria of the clearances in a policy or membership; undefined if it has none.
 *
 * ```
 * { "url": "https://fhirgraph.org/fhir/StructureDefinition/clearance", "extension": [
 *   { "url": "system", "valueUri": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality" },
 *   { "url": "code", "valueCode": "N" } ] }
 * ```
 *
 * A malformed clearance clears nothing.
 */
export function clearanceOf(elements: JsonObject): Criteria | undefined {
  const extensions = extensionsOf(elements, OWN_EXTENSIONS.clearance);
  if (extensions.length === 0) return undefined;
  const clearances = extensions.map(readClearance);
  return clearances.some((one) => one === undefined) ? NONE : clearanceCriteria(clearances as readonly Clearance[]);
}

/** @returns undefined if it is not understood */
export function readClearance({ url: _, ...extension }: JsonObject): Clearance | undefined {
  const parts = extension['extension'];
  if (!Array.isArray(parts) || Object.keys(extension).length !== 1) return undefined;
  const systems: string[] = [];
  const codes: string[] = [];
  for (const part of parts as readonly unknown[]) {
    if (!isJsonObject(part) || Object.keys(part).length !== 2) return undefined;
    const { url, valueUri, valueCode } = part;
    if (url === 'system' && typeof valueUri === 'string' && valueUri !== '') systems.push(valueUri);
    else if (url === 'code' && typeof valueCode === 'string' && valueCode !== '') codes.push(valueCode);
    else return undefined;
  }
  return systems.length === 1 ? { system: systems[0]!, codes } : undefined;
}

/** The extension that {@link readClearance} reads. */
export function clearanceExtension({ system, codes }: Clearance): JsonObject {
  return {
    extension: [{ url: 'system', valueUri: system }, ...codes.map((code) => ({ url: 'code', valueCode: code }))],
  };
}
