// Changes the code that decides who may do what and what a search finds, piece by piece, and looks whether a test fails
// (https://stryker-mutator.io). Goes through the groups of mutation-groups.mjs, prints the score of each as it ends, then
// what survived and the score of each folder. A survivor in src/access needs a reason in test/mutation/survivors.json;
// without one this fails, and so does a reason that explains nothing any more.
//
//   npm run test:mutation                                     everything
//   npm run test:mutation -- src/access/explain src/projects  files and folders
//   npm run test:mutation -- --force                          forgets what earlier runs learned
//
// What a run learned is kept in the temporary folder of the system, so that the next one goes on where it ended and tries
// only what has changed since: mutants in changed code, and survivors where tests have changed.
// FHIRGRAPH_MUTATION_WORKERS=1 leaves the other cores alone.
import './assert-node.mjs';
import { Stryker } from '@stryker-mutator/core';
import { globSync, mkdirSync, readFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GROUPS } from './mutation-groups.mjs';

const MUTATED = [
  'src/{access,interactions,projects,repository}/**/*.ts',
  'src/search/evaluate/**/*.ts',
  'src/search/**/{chain,date-span,number-span}.ts',
];
/** Where each survivor needs a reason. */
const GUARDED = 'src/access/';
const KEPT = join(tmpdir(), 'fhirgraph-mutation');
const FOUND = new Set(['Killed', 'Timeout']);
const MISSED = new Set(['Survived', 'NoCoverage']);

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { force: { type: 'boolean', default: false } },
});
const reasons = JSON.parse(readFileSync(new URL('../test/mutation/survivors.json', import.meta.url), 'utf8'));
const usedReasons = new Set();

mkdirSync(KEPT, { recursive: true });
const groups = chosenGroups();
const results = [];
for (const [index, group] of groups.entries()) {
  const began = Date.now();
  const files = await tryGroup(group);
  const found = Object.entries(files).map(([file, mutated]) => resultOf(file, mutated));
  results.push(...found);
  const minutes = ((Date.now() - began) / 60_000).toFixed(1);
  console.log(`[${index + 1}/${groups.length}] ${group.name}  ${minutes} min  ${summary(found)}`);
}

for (const { file, survivors } of results) {
  for (const { line, code, mutant } of survivors) console.log(`${file}:${line}  ${code}  →  ${mutant}`);
}
console.log('\nfolder               found  survived  with a reason  score');
for (const [folder, found] of Map.groupBy(results, (one) => one.folder)) {
  console.log(`${folder.padEnd(19)}  ${summary(found)}`);
}

const unexplained = results.flatMap(({ file, survivors }) => (file.startsWith(GUARDED) ? survivors : []));
if (unexplained.length > 0) {
  console.error(`${unexplained.length} survivors in ${GUARDED} without a reason in test/mutation/survivors.json`);
  process.exitCode = 1;
}
const idle = reasons.filter((reason) => !usedReasons.has(reason) && results.some(({ file }) => isAbout(reason, file)));
for (const { file, code, mutant } of idle) {
  console.error(`test/mutation/survivors.json explains what did not survive: ${file}  ${code}  →  ${mutant}`);
  process.exitCode = 1;
}

/** The groups with the files to change: of those named on the command line, or all. */
function chosenGroups() {
  const chosen = new Map(GROUPS.map((group) => [group, []]));
  for (const file of MUTATED.flatMap((pattern) => globSync(pattern)).sort()) {
    const isIn = (place) => file === place || file.startsWith(place.endsWith('/') ? place : `${place}/`);
    const group = GROUPS.find(({ files }) => files.some(isIn));
    if (group === undefined) throw new Error(`${file} belongs to no group of scripts/mutation-groups.mjs`);
    if (wanted.length === 0 || wanted.some(isIn)) chosen.get(group).push(file);
  }
  return [...chosen].flatMap(([group, mutate]) => (mutate.length === 0 ? [] : { ...group, mutate }));
}

/** The mutants of each file, with what became of them. */
async function tryGroup({ name, mutate, tests }) {
  const place = join(KEPT, name.replaceAll('/', '-'));
  const report = `${place}-report.json`;
  process.env.FHIRGRAPH_MUTATION_TESTS = tests.join(';');
  const stryker = new Stryker({
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'vitest.mutation.config.ts', related: false },
    mutate,
    coverageAnalysis: 'perTest',
    // What runs while modules are loaded would need all tests once more for each mutant.
    ignoreStatic: true,
    concurrency: Number(process.env.FHIRGRAPH_MUTATION_WORKERS ?? availableParallelism()),
    timeoutMS: 10_000,
    dryRunTimeoutMinutes: 60,
    tempDirName: `${place}-sandbox`,
    ignorePatterns: ['/docs', '/bench', '/dist', '/api-reference', '/coverage'],
    incremental: true,
    force: values.force,
    incrementalFile: `${place}-learned.json`,
    logLevel: 'warn',
    reporters: ['json'],
    jsonReporter: { fileName: report },
  });
  await stryker.runMutationTest();
  const { files } = JSON.parse(readFileSync(report, 'utf8'));
  return Object.fromEntries(mutate.flatMap((file) => (file in files ? [[file, files[file]]] : [])));
}

function resultOf(file, { source, mutants }) {
  const missed = mutants.filter(({ status }) => MISSED.has(status)).map((mutant) => describe(source, mutant));
  const survivors = missed.filter((survivor) => !hasReason(file, survivor));
  const found = mutants.filter(({ status }) => FOUND.has(status)).length;
  const folder = file.split('/').slice(0, -1).join('/');
  return { file, folder, found, survivors, explained: missed.length - survivors.length };
}

function hasReason(file, { code, mutant }) {
  const reason = reasons.find((one) => isAbout(one, file) && one.code === code && one.mutant === mutant);
  if (reason !== undefined) usedReasons.add(reason);
  return reason !== undefined;
}

/** Reasons name a file by the end of its path, so that they outlive its move to another folder. */
function isAbout(reason, file) {
  return file.endsWith(`/${reason.file}`);
}

/** The line that a mutant changes, and what became of the part that was changed. */
function describe(source, { location: { start, end }, replacement }) {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const before = lines[0].slice(0, start.column - 1);
  const after = lines.at(-1).slice(end.column - 1);
  const text = (value) => value.replace(/\s+/g, ' ').trim();
  return { line: start.line, code: text(lines.join('\n')), mutant: text(`${before}${replacement}${after}`) };
}

function summary(results) {
  const sum = (count) => results.reduce((total, result) => total + count(result), 0);
  const found = sum((result) => result.found);
  const survived = sum(({ survivors }) => survivors.length);
  const score = found + survived === 0 ? 100 : (100 * found) / (found + survived);
  const explained = sum((result) => result.explained);
  return [
    `${String(found).padStart(5)}  ${String(survived).padStart(8)}  ${String(explained).padStart(13)}`,
    `${score.toFixed(1).padStart(5)} %`,
  ].join('  ');
}
