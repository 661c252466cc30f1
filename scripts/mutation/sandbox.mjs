// A copy of the project in which every mutant is present at once, each behind a switch.
import '../ensure-definitions.mjs';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { instrument as withMutants } from '../../tools/instrument.mjs';

const MUTATED = [
  'src/{access,interactions,projects,repository}/**/*.ts',
  'src/search/evaluate/**/*.ts',
  'src/search/**/{chain,date-span,number-span}.ts',
];
/** They decide when a request runs, not what it may. Over most of their mutants a test waits for its turn for ever. */
const NOT_MUTATED = /^src\/access\/(limits|turns)\//;
/** Made by `npm install`, so not among the files of the repository. */
const GENERATED = ['src/fhir/r4-definitions.js', 'src/stores/sqlite/threads/thread-text.js'];
const LEFT_OUT = /^(docs|bench)\//;

/**
 * Makes the copy, or finds that of an earlier run over the same files.
 *
 * @returns its folder, and what each mutant changes: `{ id, file, line, code, mutant }`
 */
export async function makeSandbox() {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
    .trim()
    .split('\n');
  const files = [...listed.filter((file) => !LEFT_OUT.test(file) && existsSync(file)), ...GENERATED];
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(readFileSync(file));
  const folder = join(tmpdir(), 'fhirgraph-mutation', hash.digest('hex').slice(0, 16));
  const list = join(folder, 'mutants.json');
  if (existsSync(list)) return { folder, mutants: JSON.parse(readFileSync(list, 'utf8')) };
  rmSync(folder, { recursive: true, force: true });
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(file, join(folder, file), { preserveTimestamps: true });
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const mutants = await instrument(folder);
  writeFileSync(list, JSON.stringify(mutants));
  return { folder, mutants };
}

async function instrument(folder) {
  const sources = MUTATED.flatMap((pattern) => globSync(pattern))
    .filter((file) => !NOT_MUTATED.test(file))
    .sort()
    .map((name) => ({ name, mutate: true, content: readFileSync(name, 'utf8') }));
  const { files, mutants } = await withMutants(sources);
  for (const { name, content } of files) writeFileSync(join(folder, name), content);
  const lines = new Map(sources.map(({ name, content }) => [name, content.split('\n')]));
  return mutants.map(({ id, fileName, location, replacement }) => {
    return { id, file: fileName, ...describe(lines.get(fileName), location, replacement) };
  });
}

/** The line that a mutant changes, and the line as it is then. */
function describe(source, { start, end }, replacement) {
  const lines = source.slice(start.line, end.line + 1);
  const before = lines[0].slice(0, start.column);
  const after = lines.at(-1).slice(end.column);
  const text = (value) => value.replace(/\s+/g, ' ').trim();
  return { line: start.line + 1, code: text(lines.join('\n')), mutant: text(`${before}${replacement}${after}`) };
}
