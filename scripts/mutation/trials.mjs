// Runs tests over the mutants of a sandbox, in processes that are started again where a mutant hangs or breaks them.
import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { endGroup, spawnGroup } from './process-groups.mjs';

/** Longest time for one test over one mutant, in milliseconds, before the mutant counts as hanging. */
const LONGEST = 30_000;
/** The same for all that comes before the first test, such as loading the library, over a mutant that is on from the start. */
const LONGEST_START = 300_000;
/** What the switches of the mutants know as no mutant. */
const NONE = '-';

/**
 * What the tests find of a share of the mutants. Kept in the sandbox after each few seconds, so that an interrupted run
 * goes on where it ended.
 *
 * @param {string} folder the sandbox
 * @param {readonly (readonly string[])[]} phases test files that run one after the other, those that take least first
 * @param {readonly string[]} ids of the mutants
 * @param {string} name of the share
 * @returns killed: by mutant, the test that found it; covered: by mutant, the test files that run it
 */
export async function tryMutants(folder, phases, ids, name, report) {
  const file = join(folder, `state-${name}.json`);
  const wanted = join(folder, `wanted-${name}.json`);
  writeFileSync(wanted, JSON.stringify(ids));
  for (const [index, tests] of phases.entries()) {
    const env = { FHIRGRAPH_MUTATION_STATE: file, FHIRGRAPH_MUTATION_WANTED: wanted };
    for (;;) {
      const { code, output, hung } = await vitest(folder, tests, env, `${file}.now`);
      if (code === 0) break;
      const state = read(file);
      if (!hung && state.restart !== true) throw new Error(`Tests fail without a mutant:\n${output.slice(-4000)}`);
      writeFileSync(file, JSON.stringify({ ...state, restart: false }));
    }
    report(
      `share ${name}, ${index + 1} of ${phases.length}: ${Object.keys(read(file).killed).length} of ${ids.length} found`,
    );
  }
  return read(file);
}

/** Whether tests fail over one mutant in a process of its own, where nothing is remembered from before it. */
export async function isKilledAlone(folder, tests, id) {
  return (await alone(folder, tests, id)).code !== 0;
}

/** @throws Error - the tests fail in a process of their own without a mutant, too, so that a failure would tell nothing */
export async function assertPassAlone(folder, tests) {
  const { code, output } = await alone(folder, tests, NONE);
  if (code !== 0) throw new Error(`Tests fail without a mutant:\n${output.slice(-4000)}`);
}

function alone(folder, tests, id) {
  const file = join(folder, 'alone');
  writeFileSync(`${file}.now`, 'null');
  return vitest(folder, tests, { FHIRGRAPH_MUTATION_STATE: file, FHIRGRAPH_MUTANT: id }, `${file}.now`);
}

function read(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { killed: {}, covered: {} };
}

function vitest(folder, tests, more, now) {
  const env = { ...process.env, ...more, NO_COLOR: '1', FHIRGRAPH_MUTATION_TESTS: tests.join(';') };
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.mutation.config.ts', '--reporter=dot'];
  if (existsSync(now)) utimesSync(now, new Date(), new Date());
  else writeFileSync(now, 'null');
  return new Promise((resolve, reject) => {
    const child = spawnGroup(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let hung = false;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => (output = `${output}${text}`.slice(-20_000)));
    const watch = setInterval(() => {
      const isTrying = readFileSync(now, 'utf8') !== 'null';
      if (!isTrying && more.FHIRGRAPH_MUTANT === undefined) return;
      if (Date.now() - statSync(now).mtimeMs < (isTrying ? LONGEST : LONGEST_START)) return;
      hung = true;
      endGroup(child);
    }, 1000);
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(watch);
      resolve({ code, output, hung });
    });
  });
}
