import { hash } from 'node:crypto';

// Names are made into numbers without asking the database: a search or a write never waits for a look-up, and no process
// has to know what another one has named. 128 bits of SHA-256: nobody finds two names with the same key.

/** The shard of a project: 32 hexadecimal digits, a uuid of PostgreSQL. */
export function projectKey(project: string): string {
  return hash('sha256', project, 'hex').slice(0, 32);
}

/** A resource, whether it exists or not: unique over all projects. */
export function resourceKey(project: string, type: string, id: string): string {
  return hash('sha256', JSON.stringify([project, type, id]), 'hex').slice(0, 32);
}

/**
 * A search parameter of a type: 48 bits. Codes come from the R4 definitions, not from clients; a test holds that no two of
 * them share a key.
 */
export function parameterKey(type: string, code: string): number {
  const name = `${type}?${code}`;
  let key = parameters.get(name);
  if (key === undefined) {
    if (parameters.size >= MAX_PARAMETERS) parameters.clear();
    key = Number.parseInt(hash('sha256', name, 'hex').slice(0, 12), 16);
    parameters.set(name, key);
  }
  return key;
}

const parameters = new Map<string, number>();

/** Parameters whose keys are remembered; one takes about 100 bytes. */
const MAX_PARAMETERS = 10_000;
