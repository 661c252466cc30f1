import { defineField, type HostFields } from '../../src/index.js';

// Compiled by `npm run typecheck`: the types that are inferred from the SDL of a host's fields.

export const riskScore = defineField('Patient', {
  type: 'Float',
  args: { horizon: 'Int! = 10', bands: '[String!]', note: { type: 'String', description: 'A note' } },
  needs: ['birthDate', 'name'],
  resolve(patients, args, { caller, signal }) {
    const horizon: number = args.horizon;
    const bands: readonly string[] | null | undefined = args.bands;
    const note: string | null | undefined = args.note;
    // @ts-expect-error -- the argument does not exist
    void args.other;
    // @ts-expect-error -- it can be null
    const text: string = args.note;
    const project: string = caller.project;
    const ended: boolean = signal.aborted;
    void [bands, note, text, project, ended];
    return patients.map(({ id, birthDate, name, ...rest }) => {
      const known: string = id;
      // @ts-expect-error -- `needs` does not name it
      void rest.address;
      return known === '' || birthDate === undefined ? null : horizon + (name?.length ?? 0);
    });
  },
});

// @ts-expect-error -- a string is not a Float
export const wrongValue = defineField('Patient', { type: 'Float', resolve: (all) => all.map(() => 'high') });

// @ts-expect-error -- not an element of Patient
export const wrongNeed = defineField('Patient', { type: 'Float', needs: ['birthdate'], resolve: () => [] });

export const link = defineField('Patient', {
  type: '[Observation!]!',
  needs: '*',
  resolve: async (patients) =>
    patients.map(({ managingOrganization }) => [managingOrganization?.reference ?? 'Observation/1']),
});

export const own = defineField('RiskScore', {
  type: 'RiskBand',
  resolve: (scores) => scores.map(({ value }) => value as unknown),
});

export const root = defineField('Query', {
  type: 'Int!',
  args: { of: 'ID!' },
  resolve: ({ of }) => of.length,
});

export const admit = defineField('Mutation', {
  type: 'Encounter',
  args: { patient: 'ID!' },
  writes: ({ patient }) => [
    { interaction: 'create', resource: { resourceType: 'Encounter', subject: { reference: `Patient/${patient}` } } },
  ],
});

export const fields: HostFields = {
  Patient: {
    riskScore,
    link,
    inline: {
      type: 'String',
      args: { of: 'ID!' },
      needs: ['birthDate'],
      resolve: (patients, args) => patients.map(({ birthDate }) => [birthDate, args['of']].join()),
    },
  },
  HumanName: { letters: { type: 'Int', resolve: (names) => names.map((name) => name['family'] as unknown) } },
  RiskScore: { band: own },
  Query: { root, now: { type: 'String', resolve: () => new Date().toISOString() } },
  Mutation: { admit, notify: { type: 'Boolean', resolve: async (_, { signal }) => !signal.aborted } },
};
