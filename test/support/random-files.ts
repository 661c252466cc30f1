import { globSync, readFileSync } from 'node:fs';

/** Imports that depend on the seed or on the effort: of chance.ts, or fast-check, which uses the seed. */
const CHANCE =
  /\{[^}]*\b(?:cases|someOf|SEED|IS_LONG|IS_WHOLE|KIT_EFFORT)\b[^}]*\} from '[./]+\/support\/chance\.js'|from 'fast-check'/;

/** The test files that run random cases, or more cases in `npm run test:long`, except for those in `test/long`. */
export function randomFiles(): readonly string[] {
  return globSync('test/**/*.test.ts', { exclude: ['test/long/**'] })
    .filter((file) => CHANCE.test(readFileSync(file, 'utf8')))
    .sort();
}
