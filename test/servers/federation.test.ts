import { buildASTSchema, parse, validateSchema } from 'graphql';
import { expect, test } from 'vitest';
import { createFhirGraphql, MemoryStore } from '../../src/index.js';
import { PACE } from '../../src/platform/pace.js';
import { countCalls } from '../graphql/counting-store.js';
import { caller, openClinic } from '../graphql/harness.js';
import { countTurns } from '../support/count-turns.js';

const counting = countCalls(new MemoryStore());
const service = createFhirGraphql({
  store: counting.store,
  federation: true,
  introspection: { types: ['Patient', 'Practitioner'] },
  fields: { Patient: { risk: { type: 'Float', resolve: (all) => all.map(() => 0.5) } } },
});

test('_entities is one read for all representations, with null for missing resources', async () => {
  await openClinic(
    [
      { resourceType: 'Patient', id: 'a', gender: 'female' },
      { resourceType: 'Practitioner', id: 'p', gender: 'male' },
    ],
    counting.store,
  );
  const query = `query ($representations: [_Any!]!) {
    _entities(representations: $representations) { __typename ... on Patient { id risk } ... on Practitioner { gender } }
  }`;
  const representations = [
    { __typename: 'Practitioner', id: 'p' },
    { __typename: 'Patient', id: 'none' },
    { __typename: 'Patient', id: 'a' },
    { __typename: 'Ward', id: 'a' },
    { __typename: 'Patient', id: 'no id' },
    { __typename: 'Patient', id: 'a' },
  ];
  expect(await service.execute(query, { caller, variables: { representations } })).toEqual({
    data: {
      _entities: [
        { __typename: 'Practitioner', gender: 'male' },
        null,
        { __typename: 'Patient', id: 'a', risk: 0.5 },
        null,
        null,
        { __typename: 'Patient', id: 'a', risk: 0.5 },
      ],
    },
  });
  expect(counting.takeCalls()).toEqual(['read Practitioner/p Patient/none Patient/a']);
});

test('_service returns the SDL of printSchema, in which resource types are entities', async () => {
  const sdl = service.printSchema({ federation: true });
  expect(await service.execute('{ _service { sdl } }', { caller })).toEqual({ data: { _service: { sdl } } });
  expect(sdl).toContain('extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])');
  expect(sdl).toContain('type Patient implements Resource @key(fields: "id") {');
  expect(sdl).toContain('  risk: Float\n');
  for (const own of ['_entities', '_service', '@flatten', '_Any']) expect(sdl).not.toContain(own);
  const plain = sdl.replace(/^extend schema.*$/m, 'directive @key(fields: String!) on OBJECT');
  expect(validateSchema(buildASTSchema(parse(plain)))).toEqual([]);
});

test('_service builds the SDL in turns with other work, and once', async () => {
  const { turnMs } = PACE;
  PACE.turnMs = 0;
  try {
    const types = ['Group', 'Location'];
    const limits = { timeout: Infinity };
    const other = createFhirGraphql({ store: counting.store, federation: true, introspection: { types }, limits });
    const ask = () => countTurns(() => other.execute('{ _service { sdl } }', { caller }));
    const first = await ask();
    const sdl = other.printSchema({ federation: true });
    expect(first.result).toEqual({ data: { _service: { sdl } } });
    // A type is defined in one turn and printed in another.
    expect(first.turns).toBeGreaterThanOrEqual(2 * sdl.match(/^(type|input) /gm)!.length);
    const second = await ask();
    expect(second.result).toEqual(first.result);
    expect(second.turns).toBeLessThan(5);
  } finally {
    PACE.turnMs = turnMs;
  }
});

test('without the option a service has neither', async () => {
  const { errors } = await createFhirGraphql({ store: counting.store }).execute('{ _service { sdl } }', { caller });
  expect(errors).toMatchObject([{ extensions: { code: 'invalid' } }]);
});
