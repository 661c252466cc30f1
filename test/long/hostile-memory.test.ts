import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { HOSTILE_DOCUMENTS } from '../graphql/hostile/corpus.js';
import type { AttackReport } from '../graphql/hostile/run-attacks.js';
import { tallyOf } from '../support/long-report.js';

const PROGRAM = fileURLToPath(new URL('../graphql/hostile/run-attacks.ts', import.meta.url));
const tally = tallyOf('hostile requests in a small heap');

test('all requests, one after the other, fit into a small heap, and none takes 100 MB', () =>
  tally.trial(() => {
    const flags = [`--max-old-space-size=${HEAP}`, '--expose-gc', '--import', 'tsx'];
    const output = execFileSync(process.execPath, [...flags, PROGRAM], { encoding: 'utf8', maxBuffer: 2 ** 24 });
    const reports = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AttackReport);
    tally.addFaults(reports.length);
    expect(reports.length).toBe(2 * HOSTILE_DOCUMENTS.length);
    expect(reports.filter(({ outcome, expected }) => outcome !== expected)).toEqual([]);
    expect(reports.filter(({ memory }) => memory !== null && memory >= 100)).toEqual([]);
  }));

/** In MB: the definitions, the schemas and the bounded caches take most of it. */
const HEAP = 400;
