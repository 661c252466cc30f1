// Changes the code that decides who may do what and what a search finds, piece by piece, and looks whether a test fails
// (https://stryker-mutator.io). Prints the score of each folder and what survived. A survivor in src/access needs a reason
// in test/mutation/survivors.json; without one this fails.
//
// FHIRGRAPH_MUTATE=src/access/decide.ts,… changes only these files, FHIRGRAPH_MUTATION_TESTS=test/access/*.test.ts;… asks
// only these tests, FHIRGRAPH_MUTATION_WORKERS=2 takes two cores. What a run learned is kept in the temporary folder of
// the system, so that the next one tries what has changed since.
import './assert-node.mjs';
import { Stryker } from '@stryker-mutator/core';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const MUTATED = [
  'src/{access,interactions,projects,repository}/**/*.ts',
  'src/search/evaluate/**/*.ts',
  'src/search/**/{chain,date-span,number-span}.ts',
];
const REPORT = join(tmpdir(), 'fhirgraph-mutation.json');

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
const options = {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'vitest.mutation.config.ts', related: false },
  mutate: process.env.FHIRGRAPH_MUTATE?.split(',') ?? MUTATED,
  coverageAnalysis: 'perTest',
  // What runs while modules are loaded would need all tests anew for each mutant.
  ignoreStatic: true,
  concurrency: Number(process.env.FHIRGRAPH_MUTATION_WORKERS ?? 1),
  timeoutMS: 60_000,
  dryRunTimeoutMinutes: 60,
  tempDirName: join(tmpdir(), 'fhirgraph-stryker'),
  ignorePatterns: ['/docs', '/bench', '/dist', '/api-reference', '/coverage'],
  incremental: true,
  incrementalFile: join(tmpdir(), 'fhirgraph-stryker-incremental.json'),
  reporters: ['json'],
  jsonReporter: { fileName: REPORT },
};

const FOUND = new Set(['Killed', 'Timeout']);
const MISSED = new Set(['Survived', 'NoCoverage']);
/** Where each survivor needs a reason. */
const GUARDED = 'src/access/';

const reasons = JSON.parse(readFileSync(new URL('../test/mutation/survivors.json', import.meta.url), 'utf8'));
await new Stryker(options).runMutationTest();
const { files } = JSON.parse(readFileSync(REPORT, 'utf8'));

const folders = new Map();
const unexplained = [];
for (const [file, { source, mutants }] of Object.entries(files)) {
  const folder = file.split('/').slice(0, 2).join('/');
  const count = folders.get(folder) ?? { found: 0, missed: 0, explained: 0 };
  folders.set(folder, count);
  for (const mutant of mutants) {
    if (FOUND.has(mutant.status)) count.found += 1;
    if (!MISSED.has(mutant.status)) continue;
    const survivor = describe(file, source, mutant);
    if (
      reasons.some((one) => one.file === basename(file) && one.code === survivor.code && one.mutant === survivor.mutant)
    ) {
      count.explained += 1;
      continue;
    }
    count.missed += 1;
    if (file.startsWith(GUARDED)) unexplained.push(survivor);
    console.log(`${file}:${survivor.line}  ${survivor.code}  →  ${survivor.mutant}`);
  }
}
console.log('\nfolder            found  survived  with a reason  score');
for (const [folder, { found, missed, explained }] of [...folders].sort()) {
  const score = found + missed === 0 ? 100 : (100 * found) / (found + missed);
  const numbers = [String(found).padStart(5), String(missed).padStart(8), String(explained).padStart(13)];
  console.log(`${folder.padEnd(16)}  ${numbers.join('  ')}  ${score.toFixed(1)} %`);
}
if (unexplained.length > 0) {
  console.error(`${unexplained.length} survivors in ${GUARDED} without a reason in test/mutation/survivors.json`);
  process.exitCode = 1;
}

/** The line that a mutant changes, and what became of the part that was changed. */
function describe(file, source, { location: { start, end }, replacement }) {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const before = lines[0].slice(0, start.column - 1);
  const after = lines.at(-1).slice(end.column - 1);
  const text = (value) => value.replace(/\s+/g, ' ').trim();
  return { file, line: start.line, code: text(lines.join('\n')), mutant: text(`${before}${replacement}${after}`) };
}
