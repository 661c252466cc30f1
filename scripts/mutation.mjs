// Changes the code that decides who may do what and what a search finds, piece by piece, and looks whether a test fails:
// see test/mutation/README.md. Prints what survived and the score of each folder. A survivor in src/access needs a reason
// in test/mutation/survivors.json; without one this fails, and so does a reason that explains nothing any more.
//
//   npm run test:mutation                                     everything
//   npm run test:mutation -- src/access/explain src/projects  files and folders
//
// FHIRGRAPH_MUTATION_WORKERS=1 leaves the other cores alone.
import './assert-node.mjs';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { makeSandbox } from './mutation/sandbox.mjs';
import { PHASES } from './mutation/phases.mjs';
import { assertPassAlone, isKilledAlone, tryMutants } from './mutation/trials.mjs';

/** Where each survivor needs a reason: what decides who may do what. */
const GUARDED = /^src\/access\//;

const began = Date.now();
const workers = Number(process.env.FHIRGRAPH_MUTATION_WORKERS ?? availableParallelism());
const places = process.argv.slice(2);
const isWanted = ({ file }) =>
  places.length === 0 || places.some((place) => `${file}/`.startsWith(`${place.replace(/\/$/, '')}/`));
const reasons = JSON.parse(readFileSync(new URL('../test/mutation/survivors.json', import.meta.url), 'utf8'));

const { folder, mutants } = await makeSandbox();
const wanted = mutants.filter(isWanted);
say(`${wanted.length} mutants`);
const phases = PHASES.map((patterns) => patterns.flatMap((pattern) => globSync(pattern)).sort());
const found = await Promise.all(
  Array.from({ length: workers }, (_, worker) => {
    const ids = wanted.flatMap(({ id }, index) => (index % workers === worker ? id : []));
    return tryMutants(folder, phases, ids, `${worker + 1} of ${workers}${places.length === 0 ? '' : ' in part'}`, say);
  }),
);
const killed = Object.assign({}, ...found.map((state) => state.killed));
const covered = Object.assign({}, ...found.map((state) => state.covered));
const atLoad = new Set(found.flatMap((state) => state.atLoad));

const results = wanted.filter(({ id }) => !atLoad.has(id) || id in covered);
const open = results.filter(({ id, file }) => !(id in killed) && id in covered && GUARDED.test(file));
const again = open.filter((one) => reasonFor(one) === undefined);
if (again.length > 0) {
  say(`${again.length} survivors once more, each in a process of its own`);
  await assertPassAlone(folder, [...new Set(again.flatMap(({ id }) => covered[id]))].sort());
}
for (const { id } of again) {
  if (await isKilledAlone(folder, covered[id], id)) killed[id] = 'in a process of its own';
}

const survivors = results.filter((one) => !(one.id in killed) && reasonFor(one) === undefined);
for (const { id, file, line, code, mutant } of survivors) {
  console.log(`${file}:${line}  ${code}  →  ${mutant}${id in covered ? '' : '  (no test runs it)'}`);
}
console.log('\nfolder                 found  survived  with a reason  score');
for (const [name, all] of Map.groupBy(results, ({ file }) => file.split('/').slice(0, -1).join('/')))
  printScore(name, all);
printScore('all', results);
say('done');

const unexplained = survivors.filter(({ file }) => GUARDED.test(file));
if (unexplained.length > 0) {
  console.error(`${unexplained.length} survivors in src/access without a reason in test/mutation/survivors.json`);
  process.exitCode = 1;
}
const idle = reasons.filter(
  (reason) =>
    wanted.some(({ file }) => isAbout(reason, file)) &&
    !wanted.some((one) => !(one.id in killed) && reasonFor(one) === reason),
);
for (const { file, code, mutant } of idle) {
  console.error(`test/mutation/survivors.json explains what did not survive: ${file}  ${code}  →  ${mutant}`);
  process.exitCode = 1;
}

function reasonFor({ file, code, mutant }) {
  return reasons.find((reason) => isAbout(reason, file) && reason.code === code && reason.mutant === mutant);
}

/** Reasons name a file by the end of its path, so that they outlive its move to another folder. */
function isAbout(reason, file) {
  return file.endsWith(`/${reason.file}`);
}

function printScore(name, all) {
  const count = all.filter(({ id }) => id in killed).length;
  const survived = all.filter((one) => survivors.includes(one)).length;
  const score = count + survived === 0 ? 100 : (100 * count) / (count + survived);
  const numbers = [
    String(count).padStart(5),
    String(survived).padStart(8),
    String(all.length - count - survived).padStart(13),
  ];
  console.log(`${name.padEnd(21)}  ${numbers.join('  ')}  ${score.toFixed(1).padStart(5)} %`);
}

function say(text) {
  console.log(`${((Date.now() - began) / 60_000).toFixed(1)} min  ${text}`);
}
