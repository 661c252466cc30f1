import { beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS, type Dialect, type ResourceStore } from '../../../src/index.js';
import { expectedOutcome, outcomeOf, send } from './attack.js';
import { IS_GRAPHQL_16, IS_LONG } from '../../support/chance.js';
import { HOSTILE_DOCUMENTS, QUICK_DOCUMENTS } from './corpus.js';
import { openHostileClinic } from './hostile-clinic.js';
import type { HostileDocument } from './hostile-document.js';

let store: ResourceStore;
beforeAll(async () => {
  store = await openHostileClinic();
});

test('every attack has a distinct name, and there are enough attacks', () => {
  const names = new Set(HOSTILE_DOCUMENTS.map(({ name }) => name));
  expect(names.size).toBe(HOSTILE_DOCUMENTS.length);
  expect(names.size).toBeGreaterThanOrEqual(60);
});

const DIALECTS: readonly Dialect[] = IS_GRAPHQL_16 ? ['standard'] : ['standard', 'hl7'];

/**
 * Each attack in the standard dialect, as an object in one of two forms. The other dialect shares its limits, and
 * graphql 16 its parser's: those that end otherwise there and every tenth of the rest show that.
 * `npm run test:long` asks all of them.
 */
function attacksIn(dialect: Dialect): readonly HostileDocument[] {
  if (IS_LONG) return HOSTILE_DOCUMENTS;
  if (dialect === 'standard' && !IS_GRAPHQL_16) return QUICK_DOCUMENTS;
  return QUICK_DOCUMENTS.filter((attack, index) => index % 10 === 0 || (dialect === 'hl7' && attack.hl7 !== undefined));
}

describe.each(DIALECTS)('dialect %s', (dialect) => {
  test.each(attacksIn(dialect))('$name', async (attack) => {
    const result = await send(attack.make(), dialect, store);
    expect(outcomeOf(result)).toBe(expectedOutcome(attack, dialect));
    const { errors = [] } = result;
    if (attack.limit !== undefined) expect(errors[0]!.extensions.details).toMatchObject({ limit: attack.limit });
    // No answer repeats much of the input.
    expect(JSON.stringify(errors.slice(0, 20)).length).toBeLessThan(60_000);
    expect(errors.length).toBeLessThanOrEqual(DEFAULT_LIMITS.errors);
    for (const { message } of errors.slice(0, 20)) expect(message.length).toBeLessThanOrEqual(500);
  });
});
