import { hash } from 'node:crypto';

// Names are hashed to numbers without the database: searches and writes never wait for a look-up, and processes need
// not share state. 128 bits of SHA-256: finding two names with the same key is infeasible.

/** The shard of a project: 32 hexadecimal digits, a uuid of PostgreSQL. */
export function projectKey(project: string): string {
  return remembered(projects, project, () => digits(project));
}

/** The key of a resource, whether it exists or not: unique over all projects. */
export function resourceKey(project: string, type: string, id: string): string {
  return resourceKeyIn(projectKey(project), type, id);
}

/** Like {@link resourceKey}, for a project that is known only by its shard. */
export function resourceKeyIn(shard: string, type: string, id: string): string {
  return digits(JSON.stringify([shard, type, id]));
}

/**
 * The key of a search parameter of a type: 48 bits. Codes come from the R4 definitions, not from clients; a test checks
 * that no two of them share a key.
 */
export function parameterKey(type: string, code: string): number {
  // This runs for each row of an import, so no text is made for the look-up.
  const ofType = remembered(parameters, type, () => new Map<string, number>());
  return remembered(ofType, code, () => Number.parseInt(digits(`${type}?${code}`).slice(0, 12), 16));
}

/** The key of the system of a token, or of the system, code or display of a unit. */
export function textKey(text: string): string {
  return remembered(texts, text, () => digits(JSON.stringify([text])));
}

/** The key of a row as the driver reads it, in the form of {@link projectKey}. */
export function plainKey(uuid: unknown): string {
  return String(uuid).replaceAll('-', '');
}

function digits(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}

const projects = new Map<string, string>();
const parameters = new Map<string, Map<string, number>>();
const texts = new Map<string, string>();

/** Maximum cached keys of each kind; each takes about 100 bytes. */
const MAX_REMEMBERED = 10_000;

function remembered<Key>(known: Map<string, Key>, name: string, make: () => Key): Key {
  let key = known.get(name);
  if (key === undefined) {
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(name, (key = make()));
  }
  return key;
}
