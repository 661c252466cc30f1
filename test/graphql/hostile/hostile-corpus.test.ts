import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ResourceStore } from '../../../src/store/store.js';
import { DEFAULT_LIMITS } from '../../../src/graphql/limits.js';
import { expectedOutcome, outcomeOf, send } from './attack.js';
import { HOSTILE_DOCUMENTS } from './corpus.js';
import { openHostileClinic } from './hostile-clinic.js';
import type { AttackReport } from './run-attacks.js';

let store: ResourceStore;
beforeAll(async () => {
  store = await openHostileClinic();
});

test('names tell the attacks apart, of which there are more than enough', () => {
  const names = new Set(HOSTILE_DOCUMENTS.map(({ name }) => name));
  expect(names.size).toBe(HOSTILE_DOCUMENTS.length);
  expect(names.size).toBeGreaterThanOrEqual(60);
});

describe.each(['standard', 'hl7'] as const)('dialect %s', (dialect) => {
  test.each(HOSTILE_DOCUMENTS)('$name', async (attack) => {
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

// The child process has the graphql of the project itself.
test.runIf(process.env['GRAPHQL_MAJOR'] === '17')(
  'all of them, one after the other, fit into a small heap, and none takes 100 MB',
  { timeout: 600_000 },
  () => {
    const program = join(import.meta.dirname, 'run-attacks.ts');
    const flags = [`--max-old-space-size=${HEAP}`, '--expose-gc', '--import', 'tsx'];
    const output = execFileSync(process.execPath, [...flags, program], { encoding: 'utf8', maxBuffer: 2 ** 24 });
    const reports = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AttackReport);
    expect(reports.length).toBe(2 * HOSTILE_DOCUMENTS.length);
    expect(reports.filter(({ outcome, expected }) => outcome !== expected)).toEqual([]);
    expect(reports.filter(({ memory }) => memory !== null && memory >= 100)).toEqual([]);
  },
);

/** In MB: the definitions, the schemas and the bounded caches take most of it. */
const HEAP = 400;
