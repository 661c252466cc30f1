import Database from 'better-sqlite3';
import { hash } from 'node:crypto';

interface Shown {
  readonly resourceType: string;
  readonly id: string;
  readonly meta: { readonly versionId: string };
  readonly subject?: { readonly reference?: string };
  readonly patient?: { readonly reference?: string };
}

/**
 * The audit that a host would write by hand, with the promises of the log. It records who saw which versions of which
 * resources, and their patients. Records are chained by hash, can be found by patient, person and time, and are in a SQLite file
 * of their own. Each record is a transaction with the durability of `synchronous`.
 */
export class FloorAudit {
  readonly #database: Database.Database;
  readonly #write: (time: number, text: string, sum: string, patients: ReadonlySet<string>) => void;
  #shown: Shown[] = [];
  #previous = '';

  constructor(file: string, synchronous: 'full' | 'normal') {
    this.#database = new Database(file);
    this.#database.pragma('journal_mode = WAL');
    this.#database.pragma(`synchronous = ${synchronous}`);
    this.#database.exec(`
      CREATE TABLE event (key INTEGER PRIMARY KEY, time INTEGER NOT NULL, person TEXT NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL);
      CREATE INDEX event_by_time ON event (time);
      CREATE INDEX event_by_person ON event (person, time);
      CREATE TABLE event_patient (patient TEXT NOT NULL, event INTEGER NOT NULL, PRIMARY KEY (patient, event)) WITHOUT ROWID;
    `);
    const event = this.#database.prepare('INSERT INTO event (time, person, text, hash) VALUES (?, ?, ?, ?)');
    const patient = this.#database.prepare('INSERT INTO event_patient (patient, event) VALUES (?, ?)');
    this.#write = this.#database.transaction((time, text, sum, patients) => {
      const { lastInsertRowid } = event.run(time, PERSON, text, sum);
      for (const id of patients) patient.run(id, lastInsertRowid);
    });
  }

  /** The answer shows it. */
  show(resource: object): void {
    this.#shown.push(resource as Shown);
  }

  /** Writes the record of an answer. */
  record(document: string): void {
    const patients = new Set<string>();
    const returned: string[] = [];
    for (const resource of this.#shown) {
      const { resourceType, id, meta } = resource;
      returned.push(`${resourceType}/${id}/${meta.versionId}`);
      const reference = (resource.subject ?? resource.patient)?.reference;
      if (resourceType === 'Patient') patients.add(id);
      else if (reference?.startsWith('Patient/') === true) patients.add(reference.slice('Patient/'.length));
    }
    this.#shown = [];
    const time = Date.now();
    const who = { project: 'bench', membership: 'ProjectMembership/1', user: 'User/1', profile: PERSON };
    const event = { action: 'graphql', who, purpose: 'TREAT', returned, patients: [...patients], document };
    const text = JSON.stringify({ ...event, outcome: 0, time: new Date(time).toISOString() });
    this.#previous = hash('sha256', `${this.#previous}\n${text}`);
    this.#write(time, text, this.#previous, patients);
  }

  close(): void {
    this.#database.close();
  }
}

const PERSON = 'Practitioner/1';
