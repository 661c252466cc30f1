import { forged } from './cursors.js';

/** Inputs that once caused a failure, by the surface that they came through. They are sent first. */
export const REGRESSIONS: { readonly [surface: string]: readonly unknown[] } = {
  // Positions with values of another kind than their key: the stores continued from different places. The last one is
  // a text that PostgreSQL cannot hold.
  cursors: [["'", 'dale'], ['dale', 502156800001], [true, 'dale'], [502156800001], [502156800000, '\u0000']].map(
    (values) =>
      forged(
        JSON.stringify([
          1,
          'Patient',
          { parameters: [], sort: ['-birthdate,name'], count: 1 },
          null,
          { values, id: 'bob' },
          null,
          1,
        ]),
      ),
  ),
  // Not URLs: a TypeError of the engine.
  requests: ['//', '//?=Q', 'http://', 'http://a:b/$graphql'].map((url) => ({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    body: { query: '{ PatientList { id } }' },
  })),
};
