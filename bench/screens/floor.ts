import type {
  CarePlan,
  CodeableConcept,
  Condition,
  DiagnosticReport,
  Encounter,
  HumanName,
  Immunization,
  Location,
  Medication,
  MedicationAdministration,
  MedicationRequest,
  Observation,
  Patient,
  Practitioner,
  Procedure,
  Quantity,
  Reference,
  Resource,
  Task,
} from '@medplum/fhirtypes';
import type Database from 'better-sqlite3';
import type { Variant } from '../queries.js';
import type { SCREENS } from './queries.js';

/**
 * The least work that gives the screens: resources as JSON texts, and one index per kind of list, in the order in which a
 * screen shows it. The statements and projections are written by hand.
 *
 * ```text
 * shown   list                       parent (key)   status        date            id
 *         Observation of Patient     17             final         1767254400000   o7   ─► resource (key, text)
 *         Encounter                  0              in-progress   1767254400000   e1   ─► resource
 * ```
 */
export function screensFloor(database: Database.Database, resources: Iterable<Resource>): Variant {
  fill(database, resources);
  const byId = database.prepare<[string], Row>('SELECT key, text FROM resource WHERE reference = ?').raw();
  const latest = database
    .prepare<[number, number, string, number], Row>(
      `SELECT key, text FROM (SELECT resource, date, id FROM shown WHERE list = ? AND parent = ? AND status = ?
         ORDER BY date DESC, id LIMIT ?) AS page
       JOIN resource ON resource.key = page.resource ORDER BY page.date DESC, page.id`,
    )
    .raw();
  const read = <Shown extends Resource>(reference: string): Keyed<Shown> => parsed(byId.get(reference)!);
  const list = <Shown extends Resource>(kind: List, parent: number, status: string, count: number): Keyed<Shown>[] =>
    latest.all(LISTS.indexOf(kind), parent, status, count).map((row) => parsed<Shown>(row));
  /** Reads each resource once per answer. */
  const reader = (): (<Shown extends Resource>(reference: Reference | undefined) => Shown) => {
    const found = new Map<string, Resource>();
    return <Shown extends Resource>(reference: Reference | undefined): Shown => {
      const name = reference!.reference!;
      const known = found.get(name);
      if (known !== undefined) return known as Shown;
      const [, resource] = read<Shown>(name);
      found.set(name, resource);
      return resource;
    };
  };

  const answers: Readonly<Record<(typeof SCREENS)[number]['name'], (patient: string) => object>> = {
    chart: (patient) => {
      const [parent, { id, gender, birthDate, name }] = read<Patient>(`Patient/${patient}`);
      return {
        Patient: {
          id,
          gender: gender ?? null,
          birthDate: birthDate ?? null,
          name: name?.map(names) ?? null,
          ObservationList: list<Observation>('Observation of Patient', parent, 'final', 20).map(([, observation]) =>
            result(observation),
          ),
          ConditionList: list<Condition>('Condition of Patient', parent, 'active', 10).map(([, condition]) => ({
            id: condition.id,
            code: text(condition.code),
            recordedDate: condition.recordedDate ?? null,
          })),
          MedicationRequestList: list<MedicationRequest>('MedicationRequest of Patient', parent, 'active', 10).map(
            ([, request]) => ({ id: request.id, authoredOn: request.authoredOn ?? null, ...dosage(request) }),
          ),
          EncounterList: list<Encounter>('Encounter of Patient', parent, 'finished', 5).map(([, encounter]) => ({
            id: encounter.id,
            class: { code: encounter.class?.code ?? null },
            period: { start: encounter.period?.start ?? null },
          })),
          ProcedureList: list<Procedure>('Procedure of Patient', parent, 'completed', 5).map(([, procedure]) => ({
            id: procedure.id,
            code: text(procedure.code),
            performedDateTime: procedure.performedDateTime ?? null,
          })),
          ImmunizationList: list<Immunization>('Immunization of Patient', parent, 'completed', 5).map(([, given]) => ({
            id: given.id,
            vaccineCode: text(given.vaccineCode),
            occurrenceDateTime: given.occurrenceDateTime ?? null,
          })),
          DiagnosticReportList: list<DiagnosticReport>('DiagnosticReport of Patient', parent, 'final', 5).map(
            ([, report]) => ({ id: report.id, code: text(report.code), issued: report.issued ?? null }),
          ),
          CarePlanList: list<CarePlan>('CarePlan of Patient', parent, 'active', 5).map(([, plan]) => ({
            id: plan.id,
            title: plan.title ?? null,
            period: { start: plan.period?.start ?? null },
          })),
        },
      };
    },
    'ward-board': () => {
      const readOnce = reader();
      return {
        EncounterList: list<Encounter>('Encounter', 0, 'in-progress', 30).map(([key, encounter]) => {
          const patient = readOnce<Patient>(encounter.subject);
          return {
            id: encounter.id,
            period: { start: encounter.period?.start ?? null },
            subject: {
              resource: {
                id: patient.id,
                birthDate: patient.birthDate ?? null,
                name: patient.name?.map(names) ?? null,
              },
            },
            location: encounter.location!.map(({ location }) => {
              const ward = readOnce<Location>(location);
              return { location: { resource: { id: ward.id, name: ward.name ?? null } } };
            }),
            ObservationList: list<Observation>('Observation of Encounter', key, 'vital-signs', 4).map(
              ([, observation]) => result(observation),
            ),
            TaskList: list<Task>('Task of Encounter', key, 'requested', 5).map(([, task]) => ({
              id: task.id,
              description: task.description ?? null,
              authoredOn: task.authoredOn ?? null,
            })),
          };
        }),
      };
    },
    medications: (patient) => {
      const readOnce = reader();
      const [parent, { id }] = read<Patient>(`Patient/${patient}`);
      return {
        Patient: {
          id,
          MedicationRequestList: list<MedicationRequest>('MedicationRequest of Patient', parent, 'active', 20).map(
            ([key, request]) => {
              const medication = readOnce<Medication>(request.medicationReference);
              const prescriber = readOnce<Practitioner>(request.requester);
              return {
                id: request.id,
                status: request.status ?? null,
                authoredOn: request.authoredOn ?? null,
                ...dosage(request),
                medicationReference: { resource: { id: medication.id, code: text(medication.code) } },
                requester: { resource: { id: prescriber.id, name: prescriber.name?.map(names) ?? null } },
                MedicationAdministrationList: list<MedicationAdministration>(
                  'MedicationAdministration of MedicationRequest',
                  key,
                  'completed',
                  3,
                ).map(([, administration]) => ({
                  id: administration.id,
                  effectiveDateTime: administration.effectiveDateTime ?? null,
                  dosage: { text: administration.dosage?.text ?? null },
                })),
              };
            },
          ),
        },
      };
    },
  };
  return {
    name: 'floor',
    prepare({ name }, { patient }) {
      const answer = answers[name as keyof typeof answers];
      return () => JSON.stringify({ data: answer(patient) });
    },
  };
}

type Row = [key: number, text: string];
type Keyed<Shown> = readonly [key: number, resource: Shown];

function parsed<Shown extends Resource>([key, text]: Row): Keyed<Shown> {
  return [key, JSON.parse(text) as Shown];
}

/** The table `shown` has their positions. */
const LISTS = [
  ...(['Observation', 'Condition', 'MedicationRequest', 'Encounter', 'Procedure', 'Immunization'] as const).map(
    ofPatient,
  ),
  ...(['DiagnosticReport', 'CarePlan'] as const).map(ofPatient),
  'Encounter',
  'Observation of Encounter',
  'Task of Encounter',
  'MedicationAdministration of MedicationRequest',
] as const;
type List = (typeof LISTS)[number];

function ofPatient<Type extends string>(type: Type): `${Type} of Patient` {
  return `${type} of Patient`;
}

function fill(database: Database.Database, resources: Iterable<Resource>): void {
  database.exec(`
    CREATE TABLE resource (key INTEGER PRIMARY KEY, reference TEXT NOT NULL UNIQUE, text TEXT NOT NULL);
    CREATE TABLE shown (list INTEGER, parent INTEGER, status TEXT, date INTEGER, id TEXT, resource INTEGER NOT NULL,
      PRIMARY KEY (list, parent, status, date DESC, id)) WITHOUT ROWID;`);
  const add = database.prepare('INSERT INTO resource (reference, text) VALUES (?, ?)');
  const show = database.prepare('INSERT INTO shown VALUES (?, ?, ?, ?, ?, ?)');
  const keys = new Map<string, number | bigint>();
  database.transaction(() => {
    for (const resource of resources) {
      const reference = `${resource.resourceType}/${resource.id}`;
      const { lastInsertRowid } = add.run(reference, JSON.stringify(resource));
      keys.set(reference, lastInsertRowid);
      for (const { list, parent, status, date } of listsOf(resource)) {
        const key = parent === undefined ? 0 : keys.get(parent)!;
        show.run(LISTS.indexOf(list), key, status, Date.parse(date), resource.id, lastInsertRowid);
      }
    }
  })();
}

interface Entry {
  readonly list: List;
  readonly parent?: string | undefined;
  readonly status: string;
  readonly date: string;
}

/** The lists of the screens that a resource is in. */
function listsOf(resource: Resource): Entry[] {
  switch (resource.resourceType) {
    case 'Observation': {
      const { subject, encounter, status, category, effectiveDateTime } = resource;
      return [
        entry('Observation of Patient', subject, status, effectiveDateTime),
        entry('Observation of Encounter', encounter, category?.[0]?.coding?.[0]?.code, effectiveDateTime),
      ];
    }
    case 'Encounter':
      return [
        entry('Encounter of Patient', resource.subject, resource.status, resource.period?.start),
        entry('Encounter', undefined, resource.status, resource.period?.start),
      ];
    case 'MedicationAdministration': {
      const { request, status, effectiveDateTime } = resource;
      return [entry('MedicationAdministration of MedicationRequest', request, status, effectiveDateTime)];
    }
    case 'Task':
      return [entry('Task of Encounter', resource.encounter, resource.status, resource.authoredOn)];
    case 'Condition': {
      const { subject, clinicalStatus, recordedDate } = resource;
      return [entry('Condition of Patient', subject, clinicalStatus?.coding?.[0]?.code, recordedDate)];
    }
    case 'MedicationRequest':
      return [entry('MedicationRequest of Patient', resource.subject, resource.status, resource.authoredOn)];
    case 'Procedure':
      return [entry('Procedure of Patient', resource.subject, resource.status, resource.performedDateTime)];
    case 'Immunization':
      return [entry('Immunization of Patient', resource.patient, resource.status, resource.occurrenceDateTime)];
    case 'DiagnosticReport':
      return [entry('DiagnosticReport of Patient', resource.subject, resource.status, resource.issued)];
    case 'CarePlan':
      return [entry('CarePlan of Patient', resource.subject, resource.status, resource.period?.start)];
    default:
      return [];
  }
}

function entry(list: List, parent: Reference | undefined, status: string | undefined, date: string | undefined): Entry {
  return { list, parent: parent?.reference, status: status!, date: date! };
}

function result({ id, code, effectiveDateTime, valueQuantity }: Observation) {
  return {
    id,
    code: text(code),
    effectiveDateTime: effectiveDateTime ?? null,
    valueQuantity: quantity(valueQuantity),
  };
}

function names({ family, given }: HumanName) {
  return { family: family ?? null, given: given ?? null };
}

function text(concept: CodeableConcept | undefined) {
  return concept === undefined ? null : { text: concept.text ?? null };
}

function quantity(value: Quantity | undefined) {
  return value === undefined ? null : { value: value.value ?? null, unit: value.unit ?? null };
}

function dosage({ dosageInstruction }: MedicationRequest) {
  return { dosageInstruction: dosageInstruction?.map((entry) => ({ text: entry.text ?? null })) ?? null };
}
