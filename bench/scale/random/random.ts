import { duration, table } from '../../table.js';
import type { Home } from '../broad-store.js';
import { quantilesOf } from '../measured.js';
import { openStore } from '../open-store.js';
import { type Asked, Asker, isLate } from './ask-random.js';
import { checkRandom } from './check-random.js';
import { randomQuestions } from './questions.js';
import { randomDataOf } from './random-contents.js';
import type { RandomSource } from './random-data.js';

export interface RandomOptions {
  readonly source: RandomSource;
  readonly sizes: readonly number[];
  readonly questions: number;
  /** Number of values of each question. */
  readonly runs: number;
  /** Asks only questions with one of these in their texts. */
  readonly only: readonly string[];
  /** Compares the answers with those of a search that reads everything. */
  readonly check: boolean;
}

/** The longest turn of the event loop that is not reported, in microseconds. */
const LONGEST_TURN = 50_000;

/** Asks random questions about random data, in one process per store. Prints a table of their kinds for each size. */
export async function askRandomQuestions(name: string, home: Home, options: RandomOptions): Promise<void> {
  const { source } = options;
  const data = `${source.sparse ? 'sparse data, ' : ''}seed ${source.seed}`;
  for (const size of options.sizes) {
    const place = await home.open(size);
    const questions = randomQuestions(randomDataOf(source, size), source.seed, options.questions).filter(
      ({ text }) => options.only.length === 0 || options.only.some((part) => text(0).includes(part)),
    );
    const opened = await openStore(place);
    const asker = new Asker(opened.store);
    try {
      if (options.check) {
        const differences = await checkRandom(opened.store, source, size, questions, options.runs);
        for (const difference of differences) console.log(JSON.stringify(difference).slice(0, 2_000));
        console.log(`${name}, ${size} resources, ${data}: ${differences.length} answers differ.`);
        continue;
      }
      const asked: Asked[] = [];
      for (const question of questions) {
        const answered = await asker.measure(question, options.runs, opened);
        asked.push(answered);
        if (isLate(question, answered.p95)) console.error(linesOf(answered));
      }
      print(`Random questions over ${size} resources on ${name}, ${data}`, asked);
    } finally {
      await opened.close();
    }
  }
}

function print(title: string, asked: readonly Asked[]): void {
  console.log(`\n${title}, in CPU time of the process and of a database server\n`);
  console.log(`${tableOf('form', asked, ({ question }) => question.form)}\n`);
  console.log(`${tableOf('about', asked, ({ question }) => kindOf(question.about))}\n`);
  const late = asked.filter(({ question, p95 }) => isLate(question, p95));
  console.log(`${late.length} of ${asked.length} are late${late.length === 0 ? '.' : ':'}`);
  for (const one of late) console.log(linesOf(one));
  const turns = asked.map(({ turn }) => turn);
  const long = asked.filter(({ turn }) => turn > LONGEST_TURN);
  console.log(
    `Longest turn of the event loop: ${duration(Math.max(0, ...turns))}; ${long.length} took more than 50 ms.`,
  );
  for (const { question, turn } of long) console.log(`    ${duration(turn)}  ${question.text(0)}`);
}

function linesOf({ question, p50, p95, worst }: Asked): string {
  const { number, form, about, target, member = 'all' } = question;
  const figures = `${duration(p50)}, ${duration(p95)} (≤ ${target} ms)`;
  return `${number}  ${form}  ${figures}  ${about}  by ${member}\n    ${(question.first ?? question.text)(worst)}`;
}

/** For each group: the median of medians, the value that 95 % of the 95th percentiles do not exceed, and the largest of them. */
function tableOf(head: string, asked: readonly Asked[], groupOf: (asked: Asked) => string): string {
  const groups = Map.groupBy(asked, groupOf);
  const rows = [...groups.keys()].sort().map((name) => {
    const group = groups.get(name)!;
    const median = quantilesOf(group.map(({ p50 }) => p50)).p50;
    const times = group.map(({ p95 }) => p95);
    const late = group.filter(({ question, p95 }) => isLate(question, p95)).length;
    const { p95 } = quantilesOf(times);
    return [name, String(group.length), ...[median, p95, Math.max(...times)].map(duration), String(late)];
  });
  return table([[head, 'questions', 'median', '95 % at most', 'largest', 'late'], ...rows]);
}

/** Combines all questions with several conditions into one kind. */
function kindOf(about: string): string {
  return about.includes(' + ') ? 'several' : about;
}
