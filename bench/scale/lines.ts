import { generateSample } from '../../examples/sample-data.js';
import type { AnyResource } from 'fhirgraph';

/** The variables of queries about one patient of the data. */
export interface Known {
  readonly patient: string;
  readonly identifier: string;
  readonly family: string;
  readonly birthDate: string;
  /** Of one encounter of the patient. */
  readonly encounter: string;
  readonly visited: string;
  /** LOINC code of one observation of the patient. */
  readonly code: string;
}

/** Generated resources as endless lines of NDJSON. Remembers the first patients for later queries. */
export class Lines {
  readonly known: Known[] = [];
  count = 0;
  bytes = 0;
  readonly #texts: Iterator<string>;

  constructor() {
    this.#texts = this.#generate();
  }

  /** The next lines, in pieces of about 64 kB. */
  *take(count: number): Generator<string> {
    let piece = '';
    for (let taken = 0; taken < count; taken++) {
      const text = this.#texts.next().value as string;
      this.count += 1;
      this.bytes += text.length;
      piece += text;
      if (piece.length > 1 << 16) {
        yield piece;
        piece = '';
      }
    }
    yield piece;
  }

  *#generate(): Generator<string> {
    for (const { entry = [] } of generateSample({ patients: Number.MAX_SAFE_INTEGER, seed: 'scale' })) {
      const resources = entry.map(({ resource }) => resource as AnyResource);
      const types = new Map(resources.map(({ resourceType, id }) => [id, resourceType]));
      if (this.known.length < MOST_KNOWN) this.#note(resources);
      for (const resource of resources) {
        const text = JSON.stringify(resource);
        // References between resources of a Bundle are rewritten to type and id.
        yield `${text.replace(/urn:uuid:([0-9a-f-]{36})/g, (_, id: string) => `${types.get(id)}/${id}`)}\n`;
      }
    }
  }

  #note(resources: readonly AnyResource[]): void {
    const find = (type: string, path: RegExp): RegExpExecArray | null =>
      path.exec(JSON.stringify(resources.find(({ resourceType }) => resourceType === type) ?? {}));
    const patient = resources.find(({ resourceType }) => resourceType === 'Patient');
    const identifier = find('Patient', /"value":"([^"]+)"/)?.[1];
    const family = find('Patient', /"family":"([^"]+)"/)?.[1];
    const birthDate = find('Patient', /"birthDate":"([^"]+)"/)?.[1];
    const encounter = resources.find(({ resourceType }) => resourceType === 'Encounter');
    const visited = find('Encounter', /"start":"(\d{4}-\d{2}-\d{2})/)?.[1];
    const code = find('Observation', /"code":"([\d-]+)"/)?.[1];
    if (!patient?.id || !identifier || !family || !birthDate || !encounter?.id || !visited || !code) return;
    this.known.push({ patient: patient.id, identifier, family, birthDate, encounter: encounter.id, visited, code });
  }
}

/** A few more than the patients in the smallest size of the bench. */
const MOST_KNOWN = 30;
