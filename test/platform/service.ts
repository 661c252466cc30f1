import {
  createProject,
  createRepository,
  executeFhirGraphql,
  importNdjson,
  invite,
  MemoryStore,
  serverCaller,
  signIn,
  systemCaller,
} from 'fhirgraph';
import type { ResourceStore } from 'fhirgraph/store';

/** What a service does, from an empty store to a page by cursor: a program for bundlers, threads and browsers. */
export async function serve(store: ResourceStore = new MemoryStore()): Promise<unknown> {
  const { id } = await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller: serverCaller() });
  const body = { resourceType: 'Practitioner' as const, firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org' };
  const { membership } = await invite(id, body, { store, caller: systemCaller(id) });
  const caller = await signIn(store, { membership: membership.id });
  const repository = createRepository({ store, caller });
  const patient = await repository.create({ resourceType: 'Patient', name: [{ family: 'Müller', given: ['Zoë 🌿'] }] });
  const lines = [1, 2, 3].map((number) =>
    JSON.stringify({
      resourceType: 'Observation',
      status: 'final',
      code: { text: `Pulse ${number}` },
      effectiveDateTime: `2020-01-0${number}`,
      subject: { reference: `Patient/${patient.id}` },
    }),
  );
  const source = new Blob([lines.join('\n')]).stream();
  await importNdjson(source, { store, caller: systemCaller(id) });
  const first = await executeFhirGraphql(FIRST, { store, caller });
  const { next } = (first.data as unknown as FirstPage).PatientList[0].ObservationConnection;
  const second = await executeFhirGraphql(SECOND, { store, caller, variables: { next } });
  return JSON.parse(
    JSON.stringify([first, second], (key, value: unknown) => (key === 'next' ? value !== null : value)),
  );
}

interface FirstPage {
  readonly PatientList: readonly [{ readonly ObservationConnection: { readonly next: string } }];
}

const FIRST = `{
  PatientList(name: "muller") {
    name(fhirpath: "family.startsWith('M')") { family given }
    ObservationConnection(_reference: subject, _sort: "date", _count: 2) { next edges { resource { code { text } } } }
  }
}`;
const SECOND =
  'query($next: String!) { ObservationConnection(cursor: $next) { next edges { resource { code { text } } } } }';
