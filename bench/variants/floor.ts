import type { DiagnosticReport, Encounter, Observation, Patient } from '@medplum/fhirtypes';
import type Database from 'better-sqlite3';
import type { BenchQuery, Variables, Variant } from '../queries.js';
import {
  briefObservation,
  codedObservation,
  encounterWithObservations,
  patientDetails,
  patientWithEncounters,
  patientWithObservations,
  reportWithResults,
  wideObservation,
} from './projections.js';

/**
 * The least work that gives the answers: SQL written and prepared for one query each, `JSON.parse`, a hand-written
 * projection, `JSON.stringify`. No GraphQL, no generality, numbers of collections and parameters known beforehand.
 */
export function floor(database: Database.Database, project: string): Variant {
  const tables = new Tables(database, project);
  const answers: Readonly<Record<BenchQuery['name'], (variables: Variables) => () => object>> = {
    'one-patient': ({ patient }) => {
      const read = tables.read<Patient>('Patient');
      return () => ({ Patient: patientDetails(read(patient)) });
    },
    patients: ({ gender }) => {
      const find = tables.byToken<Patient>('Patient', 'gender', 20);
      return () => ({ PatientList: find(gender).map(patientDetails) });
    },
    reverse: ({ patient }) => {
      const read = tables.read<Patient>('Patient');
      const observations = tables.byReference<Observation>('Observation', 'subject', 'Patient', 50);
      return () => ({
        Patient: patientWithObservations(read(patient), observations(patient).map(codedObservation)),
      });
    },
    'reverse-twice': () => {
      const patients = tables.first<Patient>('Patient', 5);
      const encounters = tables.byReference<Encounter>('Encounter', 'subject', 'Patient', 10);
      const observations = tables.byReference<Observation>('Observation', 'encounter', 'Encounter', 10);
      const withObservations = (encounter: Encounter) =>
        encounterWithObservations(encounter, observations(encounter.id!).map(briefObservation));
      return () => ({
        PatientList: patients().map((patient) =>
          patientWithEncounters(patient, encounters(patient.id!).map(withObservations)),
        ),
      });
    },
    references: () => {
      const reports = tables.first<DiagnosticReport>('DiagnosticReport', 50);
      const read = tables.read<Observation>('Observation');
      const resolve = (reference: string) => read(reference.slice('Observation/'.length));
      return () => ({ DiagnosticReportList: reports().map((report) => reportWithResults(report, resolve)) });
    },
    wide: () => {
      const observations = tables.first<Observation>('Observation', 1000);
      return () => ({ ObservationList: observations().map(wideObservation) });
    },
  };
  return {
    name: 'floor',
    prepare(query, variables) {
      const answer = answers[query.name](variables);
      return () => JSON.stringify({ data: answer() });
    },
  };
}

/** Prepared access to the tables of SqliteStore (src/stores/sqlite/schema.ts), each in the cheapest form that orders by id. */
class Tables {
  readonly #database: Database.Database;
  readonly #project: string;

  constructor(database: Database.Database, project: string) {
    this.#database = database;
    this.#project = project;
  }

  read<Resource>(type: string): (id: string) => Resource {
    const statement = this.#texts<[number, string]>(
      'SELECT text FROM version WHERE key = (SELECT content FROM resource WHERE collection = ? AND id = ?)',
    );
    const collection = this.#collection(type);
    return (id) => JSON.parse(statement.get(collection, id)!) as Resource;
  }

  first<Resource>(type: string, count: number): () => Resource[] {
    const statement = this.#texts<[number, number]>(`SELECT version.text FROM resource
      JOIN version ON version.key = resource.content WHERE collection = ? ORDER BY id LIMIT ?`);
    const collection = this.#collection(type);
    return () => statement.all(collection, count).map((text) => JSON.parse(text) as Resource);
  }

  byToken<Resource>(type: string, code: string, count: number): (value: string) => Resource[] {
    const statement = this.#texts<[number, string, number]>(`SELECT version.text FROM (
        SELECT content, id FROM token JOIN resource ON resource.key = token.resource
        WHERE parameter = ? AND code = ? ORDER BY id LIMIT ?) AS page
      JOIN version ON version.key = page.content ORDER BY page.id`);
    const parameter = this.#parameter(type, code);
    return (value) => statement.all(parameter, value, count).map((text) => JSON.parse(text) as Resource);
  }

  byReference<Resource>(type: string, code: string, target: string, count: number): (id: string) => Resource[] {
    const statement = this.#texts<[number, number, string, number]>(`SELECT version.text FROM (
        SELECT content, id FROM reference JOIN resource ON resource.key = reference.resource
        WHERE parameter = ? AND target = (SELECT key FROM resource WHERE collection = ? AND id = ?)
        ORDER BY id LIMIT ?) AS page
      JOIN version ON version.key = page.content ORDER BY page.id`);
    const parameter = this.#parameter(type, code);
    const collection = this.#collection(target);
    return (id) => statement.all(parameter, collection, id, count).map((text) => JSON.parse(text) as Resource);
  }

  #texts<Values extends unknown[]>(text: string): Database.Statement<Values, string> {
    return this.#database.prepare<Values, string>(text).pluck();
  }

  #collection(type: string): number {
    return this.#number('SELECT key FROM collection WHERE project = ? AND type = ?', this.#project, type);
  }

  #parameter(type: string, code: string): number {
    return this.#number('SELECT key FROM parameter WHERE collection = ? AND code = ?', this.#collection(type), code);
  }

  #number(text: string, ...values: (string | number)[]): number {
    return this.#database
      .prepare<(string | number)[], number>(text)
      .pluck()
      .get(...values)!;
  }
}
