import { isJsonObject, isResourceId, type JsonObject } from '../resource.js';
import { type Findings, kindOf } from './findings.js';

/**
 * Finds faults that would break storage or search, independently of the definitions: a bad id, a `meta` or `contained`
 * of the wrong shape.
 */
export function checkStorableShape(resource: JsonObject, findings: Findings): void {
  if (resource.id !== undefined && !isResourceId(resource.id)) {
    findings.error('value', 'id must be 1 to 64 letters, digits, hyphens and full stops', 'id');
  }
  checkMeta(resource.meta, findings);
  checkContained(resource.contained, findings);
}

/** The parts of `meta` that stores and search read. */
const META_SHAPES: readonly (readonly [name: string, shape: (value: unknown) => string | undefined])[] = [
  ['versionId', text],
  ['lastUpdated', text],
  ['source', text],
  ['profile', listOf((item) => item === null || typeof item === 'string', 'strings')],
  ['security', listOf(isJsonObject, 'Codings')],
  ['tag', listOf(isJsonObject, 'Codings')],
];

function checkMeta(meta: unknown, findings: Findings): void {
  if (meta === undefined) return;
  if (!isJsonObject(meta)) return findings.error('structure', `meta must be an object, not ${kindOf(meta)}`, 'meta');
  findings.enter('meta');
  for (const [name, shape] of META_SHAPES) {
    const expectation = meta[name] === undefined ? undefined : shape(meta[name]);
    if (expectation !== undefined) findings.error('structure', `meta.${name} must be ${expectation}`, name);
  }
  findings.leave();
}

function checkContained(contained: unknown, findings: Findings): void {
  if (contained === undefined) return;
  findings.enter('contained');
  if (!Array.isArray(contained)) {
    findings.error('structure', `contained must be an array of resources, not ${kindOf(contained)}`);
  } else {
    contained.forEach((item: unknown, index) => {
      if (isJsonObject(item) && typeof item.resourceType === 'string') return;
      findings.error('structure', 'a contained resource must be an object with a resourceType', index);
    });
  }
  findings.leave();
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? undefined : `a string, not ${kindOf(value)}`;
}

function listOf(isItem: (item: unknown) => boolean, items: string): (value: unknown) => string | undefined {
  return (value) => (Array.isArray(value) && value.every(isItem) ? undefined : `an array of ${items}`);
}
