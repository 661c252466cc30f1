import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { inlineNames } from '../../fhir/resources-inside.js';
import type { IndexWriter } from './index-writer.js';

/** The parameter under which the labels of a resource and of the resources that it contains are indexed. */
export const SECURITY_LABELS = '_security:labels';

/**
 * Adds the labels (`meta.security`) of a resource and of all resources that it contains, at any depth: a caller who is
 * not cleared for one of them does not see the resource. A label that is not a Coding has neither system nor code.
 */
export function addSecurityLabels(writer: IndexWriter): void {
  const { resource } = writer;
  const labels: unknown[] = [];
  collect(resource, labels);
  if (labels.length === 0) return;
  writer.begin('_security', 0);
  for (const label of labels) {
    const { system, code } = isJsonObject(label) ? label : {};
    writer.addBeside(':labels', {
      kind: 'token',
      ...(typeof system === 'string' ? { system } : {}),
      ...(typeof code === 'string' ? { code } : {}),
    });
  }
}

function collect(value: JsonObject, labels: unknown[]): void {
  const { meta } = value;
  const isResource = typeof value['resourceType'] === 'string';
  const security = isResource && isJsonObject(meta) ? meta.security : undefined;
  if (security !== undefined && security !== null) labels.push(...(Array.isArray(security) ? security : [security]));
  for (const name of inlineNames(value)) {
    const held = Object.hasOwn(value, name) ? value[name] : undefined;
    if (held === undefined) continue;
    for (const one of Array.isArray(held) ? (held as readonly unknown[]) : [held]) {
      if (isJsonObject(one)) collect(one, labels);
    }
  }
}
