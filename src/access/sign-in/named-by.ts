import type { AuditedCaller, AuditTarget } from '../../audit/audit-record.js';
import { nameToId } from '../../fhir/reference.js';
import { isJsonObject } from '../../fhir/resource.js';

const NAMED = [
  ['project', 'Project'],
  ['membership', 'ProjectMembership'],
  ['user', 'User'],
  ['client', 'ClientApplication'],
  ['client', 'Bot'],
] as const;

/** The resources that an identity names, for audit records; external ids are left out. */
export function namedBy(identity: unknown): readonly AuditTarget[] {
  if (!isJsonObject(identity)) return [];
  return NAMED.flatMap(([name, type]) => {
    const id = nameToId(identity[name], type);
    return id === undefined ? [] : [{ type, id }];
  });
}

/** Nobody yet, with the project that the identity names. */
export function strangerOf(targets: readonly AuditTarget[]): AuditedCaller {
  const project = targets.find(({ type }) => type === 'Project')?.id;
  return { kind: 'unknown', project };
}
