import { beforeAll, describe, expect, test } from 'vitest';
import type { ResourceStore } from '../../../src/store/store.js';
import type { Dialect } from '../../../src/graphql/dialect.js';
import { DEFAULT_LIMITS } from '../../../src/graphql/limits.js';
import { expectedOutcome, outcomeOf, send } from './attack.js';
import { HOSTILE_DOCUMENTS } from './corpus.js';
import { openHostileClinic } from './hostile-clinic.js';

let store: ResourceStore;
beforeAll(async () => {
  store = await openHostileClinic();
});

test('names tell the attacks apart, of which there are more than enough', () => {
  const names = new Set(HOSTILE_DOCUMENTS.map(({ name }) => name));
  expect(names.size).toBe(HOSTILE_DOCUMENTS.length);
  expect(names.size).toBeGreaterThanOrEqual(60);
});

// On graphql 16 every fourth attack, in one dialect, is enough to see that its parser is bounded as well.
const IS_16 = process.env['GRAPHQL_MAJOR'] === '16';
const DIALECTS: readonly Dialect[] = IS_16 ? ['standard'] : ['standard', 'hl7'];
const ATTACKS = HOSTILE_DOCUMENTS.filter((_, index) => !IS_16 || index % 4 === 0);

describe.each(DIALECTS)('dialect %s', (dialect) => {
  test.each(ATTACKS)('$name', async (attack) => {
    const result = await send(attack.make(), dialect, store);
    expect(outcomeOf(result)).toBe(expectedOutcome(attack, dialect));
    const { errors = [] } = result;
    if (attack.limit !== undefined) expect(errors[0]!.extensions.details).toMatchObject({ limit: attack.limit });
    // Nothing of what was sent comes back in bulk.
    expect(JSON.stringify(errors.slice(0, 20)).length).toBeLessThan(60_000);
    expect(errors.length).toBeLessThanOrEqual(DEFAULT_LIMITS.errors);
    for (const { message } of errors.slice(0, 20)) expect(message.length).toBeLessThanOrEqual(500);
  });
});
