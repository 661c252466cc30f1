import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** These files run first. Vitest knows the durations of files from the last run, but not in a fresh clone. */
const LONGEST = [
  'test/stores/postgres/postgres.test.ts',
  'test/frame/compiled.slow.test.ts',
  'test/stores/postgres/segments.slow.test.ts',
  'test/graphql/hostile/hostile-corpus.slow.test.ts',
  'test/examples/quickstart.slow.test.ts',
  'test/stores/postgres/pages.slow.test.ts',
  'test/stores/sqlite/threads.slow.test.ts',
  'test/stores/sqlite/threads.test.ts',
  'test/stores/sqlite/store.test.ts',
  'test/access/non-interference.test.ts',
];

/** The longest files first, so that no worker runs one at the end while the other is idle. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = (file: TestSpecification): number => {
      const position = LONGEST.indexOf(relative(this.ctx.config.root, file.moduleId));
      return position === -1 ? LONGEST.length : position;
    };
    return sorted.sort((one, other) => rank(one) - rank(other));
  }
}
