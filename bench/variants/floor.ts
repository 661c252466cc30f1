import type { DiagnosticReport, Encounter, Observation, Patient } from '@medplum/fhirtypes';
import type Database from 'better-sqlite3';
import { createHash } from 'node:crypto';
import type { QueryName, Variables, Variant } from '../queries.js';
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
import type { FloorAudit } from './floor-audit.js';
import { Tables } from './tables.js';

/**
 * The least work that gives the answers: SQL written and prepared for each query, `JSON.parse`, a hand-written projection,
 * `JSON.stringify`. It has no GraphQL and no generality, and it knows the numbers of collections and parameters beforehand.
 *
 * @param audit writes the record of each answer before the answer is released
 */
export function floor(database: Database.Database, project: string, audit?: FloorAudit): Variant {
  const tables = new Tables(database, project, audit === undefined ? undefined : (resource) => audit.show(resource));
  const answers: Readonly<Record<QueryName, (variables: Variables) => () => object>> = {
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
      const patients = tables.firstWithKeys<Patient>('Patient', 5);
      const encounters = tables.byReferences<Encounter>('Encounter', 'subject', 10);
      const observations = tables.byReferences<Observation>('Observation', 'encounter', 10);
      return () => {
        const parents = patients();
        const visits = encounters(parents.map(({ key }) => key));
        const findings = observations([...visits.values()].flat().map(({ key }) => key));
        return {
          PatientList: parents.map(({ key, resource }) =>
            patientWithEncounters(
              resource,
              visits.get(key)!.map((visit) =>
                encounterWithObservations(
                  visit.resource,
                  findings.get(visit.key)!.map((finding) => briefObservation(finding.resource)),
                ),
              ),
            ),
          ),
        };
      };
    },
    references: () => {
      const reports = tables.first<DiagnosticReport>('DiagnosticReport', 50);
      const read = tables.readMany<Observation>('Observation');
      const idOf = (reference = '') => reference.slice('Observation/'.length);
      return () => {
        const page = reports();
        const ids = page.flatMap(({ result }) => result?.map(({ reference }) => idOf(reference)) ?? []);
        const observations = read(ids);
        const resolve = (reference: string) => observations.get(idOf(reference))!;
        return { DiagnosticReportList: page.map((report) => reportWithResults(report, resolve)) };
      };
    },
    wide: () => {
      const observations = tables.first<Observation>('Observation', 1000);
      return () => ({ ObservationList: observations().map(wideObservation) });
    },
  };
  return {
    name: audit === undefined ? 'floor' : 'floor, own audit',
    prepare(query, variables) {
      const answer = answers[query.name as QueryName](variables);
      if (audit === undefined) return () => JSON.stringify({ data: answer() });
      const hash = createHash('sha256').update(query.text).digest('hex');
      return () => {
        const text = JSON.stringify({ data: answer() });
        audit.record(hash);
        return text;
      };
    },
  };
}
