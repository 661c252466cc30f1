import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** These files run first. Vitest knows the durations of files from the last run, but not in a fresh clone. */
const LONGEST = [
  'test/stores/questions/component-pairs.test.ts',
  'test/stores/postgres/postgres.test.ts',
  'test/stores/postgres/segments.slow.test.ts',
  'test/bench/random-judge.slow.test.ts',
  'test/stores/segments/random-trees.test.ts',
  'test/stores/questions/values.test.ts',
  'test/live/fold-property.test.ts',
  'test/live/killed-deliveries.slow.test.ts',
  'test/stores/questions/periods.test.ts',
  'test/stores/postgres/details.slow.test.ts',
  'test/stores/sqlite/threads.slow.test.ts',
  'test/stores/sqlite/threads.test.ts',
  'test/frame/compiled.slow.test.ts',
  'test/stores/sqlite/store.test.ts',
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
