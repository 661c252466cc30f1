// `node scripts/lint/ceilings.mjs` fails if a folder of src has more files or exported names than ceilings.json allows.
// It also fails for a comment `PERF (row): …` whose row is no bench, query or screen of the folder bench.
// A ceiling only falls: `--lower` writes the present counts where they are smaller. A commit that raises one by hand says why.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));
const CEILINGS = fileURLToPath(new URL('ceilings.json', import.meta.url));
const BENCH = fileURLToPath(new URL('../../bench', import.meta.url));

/** The names that a file declares and exports. */
const EXPORTED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|type|interface|enum) +[\w$]+/gm;

/** Files and exported names of each folder; a store is a folder of its own. */
function countFolders() {
  const counts = new Map();
  for (const name of readdirSync(SOURCE, { recursive: true })) {
    if (!name.endsWith('.ts') || dirname(name) === '.') continue;
    const parts = dirname(name).split(/[\\/]/);
    const folder = parts.slice(0, parts[0] === 'stores' ? 2 : 1).join('/');
    const count = counts.get(folder) ?? { files: 0, names: 0 };
    count.files += 1;
    count.names += readFileSync(join(SOURCE, name), 'utf8').match(EXPORTED)?.length ?? 0;
    counts.set(folder, count);
  }
  return counts;
}

/** The names that a PERF comment can give: the benches, and the queries and screens that they measure. */
function benchRows() {
  const benches = readdirSync(BENCH).filter((name) => name.endsWith('.ts'));
  const measured = ['queries.ts', join('screens', 'queries.ts')].flatMap((name) =>
    [...readFileSync(join(BENCH, name), 'utf8').matchAll(/^ +name: '([\w-]+)'/gm)].map((match) => match[1]),
  );
  return new Set([...benches.map((name) => name.replace('.ts', '')), ...measured]);
}

/** The PERF comments that name no row of the benches. */
function unmeasured() {
  const rows = benchRows();
  const places = [];
  for (const name of readdirSync(SOURCE, { recursive: true })) {
    if (!name.endsWith('.ts')) continue;
    for (const [index, line] of readFileSync(join(SOURCE, name), 'utf8').split('\n').entries()) {
      if (!/\bPERF\b/.test(line)) continue;
      const row = /\bPERF \(([\w-]+)\): /.exec(line)?.[1];
      if (row === undefined || !rows.has(row)) places.push(`src/${name}:${index + 1}`);
    }
  }
  return places;
}

const ceilings = JSON.parse(readFileSync(CEILINGS, 'utf8'));
const counts = countFolders();
const exceeded = [...counts].flatMap(([folder, count]) =>
  Object.entries(count).flatMap(([what, number]) => {
    const ceiling = ceilings[folder]?.[what] ?? 0;
    return number > ceiling ? [`src/${folder} has ${number} ${what}, ${ceiling} are allowed`] : [];
  }),
);

if (process.argv.includes('--lower')) {
  const lowered = [...counts]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([folder, { files, names }]) => {
      const { files: maxFiles = 0, names: maxNames = 0 } = ceilings[folder] ?? {};
      return [folder, { files: Math.min(files, maxFiles), names: Math.min(names, maxNames) }];
    });
  const lines = lowered.map(([folder, count]) => `  ${JSON.stringify(folder)}: ${JSON.stringify(count)}`);
  writeFileSync(
    CEILINGS,
    `{\n${lines.join(',\n')}\n}\n`.replace(/([:,{])(?=["\d])/g, '$1 ').replace(/(\d)\}/g, '$1 }'),
  );
}
const places = unmeasured();
if (places.length > 0) {
  console.error(
    `${places.join('\n')}\nA PERF comment names what measures it: PERF (wide): …; else write a plain sentence.`,
  );
  process.exitCode = 1;
}
if (exceeded.length > 0) {
  console.error(`${exceeded.join('\n')}\nMerge what is one idea, or raise scripts/lint/ceilings.json and say why.`);
  process.exitCode = 1;
}
