// `npm run test:coverage` runs the quick tests, then prints which share of the code of each folder of src they run: of its
// characters without types, by the ranges that V8 reports. What only threads of SqliteStore run does not count.
import './assert-node.mjs';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = new URL('../src/', import.meta.url);

const reports = mkdtempSync(join(tmpdir(), 'fhirgraph-coverage-'));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  env: { ...process.env, NODE_V8_COVERAGE: reports },
  stdio: 'inherit',
});

/** By file of src: for each character, 1 if a test ran it. */
const ran = new Map();
for (const name of readdirSync(reports)) {
  const { result } = JSON.parse(readFileSync(join(reports, name), 'utf8'));
  for (const { url, functions } of result) {
    if (url.startsWith(SOURCE.href) && url.endsWith('.ts')) add(url.slice(SOURCE.href.length), functions);
  }
}
rmSync(reports, { recursive: true });

const files = globSync('*/**/*.ts', { cwd: fileURLToPath(SOURCE) }).sort();
const folders = Map.groupBy(files, (file) => /^(?:stores\/(?=.+\/))?[^/]+/.exec(file)[0]);
console.log('\nfolder            run  files that no test loads');
for (const [folder, all] of folders) print(folder, all);
print('all', files);
process.exit(status ?? 1);

/** A range inside another one is the more exact one. */
function add(file, functions) {
  const ranges = functions.flatMap((one) => one.ranges);
  ranges.sort((one, other) => one.startOffset - other.startOffset || other.endOffset - one.endOffset);
  const characters = new Uint8Array(ranges[0].endOffset);
  for (const { startOffset, endOffset, count } of ranges) characters.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  const before = ran.get(file);
  ran.set(file, before === undefined ? characters : characters.map((one, index) => one | (before[index] ?? 0)));
}

function print(name, all) {
  const loaded = all.flatMap((file) => ran.get(file) ?? []);
  const size = loaded.reduce((sum, { length }) => sum + length, 0);
  const count = loaded.reduce((sum, characters) => sum + characters.reduce((total, one) => total + one, 0), 0);
  const share = size === 0 ? '' : `${((100 * count) / size).toFixed(1)} %`;
  console.log(`${name.padEnd(14)} ${share.padStart(7)}  ${all.length - loaded.length || ''}`);
}
