import { compareTexts } from '../../platform/texts.js';
import {
  testedCodes,
  type DateTest,
  type NumberTest,
  type QuantityTest,
  type ValueTest,
  wordParts,
} from '../../search/criteria/value-test.js';
import { fitsDate, narrowerTypes, testValue } from '../../search/evaluate/test-value.js';
import { fold } from '../../search/index/fold.js';
import { firstPlace } from '../../platform/collections.js';
import { Matches } from './matches.js';
import { type RunPart, SIZES } from './run-format.js';
import type { Run } from './segment.js';
import { cutText, isCut, isInterval, type Qualifier, readQualifier, valueOf } from './value.js';

/** A test of the values of a run. */
interface RunTest {
  readonly test: ValueTest;
  /** Of a composite: the test of the first value of a pair. */
  readonly first?: ValueTest | undefined;
}

/**
 * Adds the resources with a value that passes. `testValue` decides on each value; ranges of texts and bounds of blocks
 * only save reading values that all pass or all fail.
 */
export function addRunMatches(run: Run, given: RunTest, into: Matches): void {
  const { directory, kind } = run;
  const tests = [given.test, given.first];
  if (tests.some((test) => test?.kind === 'text')) return void into.addUnsure(directory.present);
  into.addUnsure(directory.partial);
  const isWeak = tests.some((test) => test?.kind === 'string' && test.comparator === 'exact');
  const test = { ...given, test: weaker(given.test), first: given.first && weaker(given.first) };
  if (test.test.kind !== kind) return;
  const found = isWeak ? new Matches(into.unsure, into.unsure) : into;
  for (const [part, { size }] of directory.parts.entries()) {
    if (size === 0) continue;
    if (isInterval(kind)) addIntervals(run, part, test, found);
    else addTexts(run, part, test, found);
  }
}

/** Texts are stored folded, so a literal comparison is left to a test per resource. Words of names end with a blank. */
function weaker(test: ValueTest): ValueTest {
  if (test.kind !== 'string' || test.comparator !== 'exact') return test;
  return { kind: 'string', comparator: 'starts-with', text: fold(test.text) };
}

/** Undefined: values with the qualifier cannot pass. */
type Verdict = 'sure' | 'unsure' | undefined;

/** Judges values by their qualifiers and texts. */
class Judge {
  readonly #test: RunTest;
  readonly #run: Run;
  readonly #known: (Qualifier | undefined)[] = [];

  constructor(run: Run, test: RunTest) {
    this.#run = run;
    this.#test = test;
  }

  /** The qualifier of all entries of a part, or of an entry of the mixed part. */
  read(text: string): Qualifier {
    return readQualifier(text, this.#run.directory.isPair);
  }

  numbered(number: number): Qualifier {
    return (this.#known[number] ??= this.read(this.#run.directory.qualifiers[number]!));
  }

  text(qualifier: Qualifier, text: string): Verdict {
    const { test } = this.#test;
    if (qualifier.isCut || isCut(text)) return 'unsure';
    if (!this.#firstPasses(qualifier)) return undefined;
    return testValue(test, valueOf(this.#run.kind, qualifier.parts, { text })) ? 'sure' : undefined;
  }

  /** Of an interval: whether its unit passes, whatever its bounds. */
  unit(qualifier: Qualifier): Verdict {
    if (qualifier.isCut) return 'unsure';
    if (!this.#firstPasses(qualifier)) return undefined;
    const anywhere = { ...this.#test.test, prefix: 'po', low: -Infinity, high: Infinity } as IntervalTest;
    return testValue(anywhere, valueOf(this.#run.kind, qualifier.parts, { low: 0, high: 0 })) ? 'sure' : undefined;
  }

  #firstPasses({ first }: Qualifier): boolean {
    return first === undefined || (this.#test.first !== undefined && testValue(this.#test.first, first));
  }
}

/** A range of texts: one text, or all that begin with it. */
interface TextRange {
  readonly from: string;
  readonly isPrefix: boolean;
}

function addTexts(run: Run, part: number, test: RunTest, into: Matches): void {
  const judge = new Judge(run, test);
  const own = run.directory.parts[part]!;
  const ranges = rangesOf(test);
  if (own.qualifier === undefined) {
    for (const range of ranges) addMixedTexts(run, part, range, judge, into);
    return;
  }
  const qualifier = judge.read(own.qualifier);
  for (const range of ranges) {
    if (!range.isPrefix) {
      const verdict = judge.text(qualifier, range.from);
      if (verdict === undefined) continue;
      if (own.frequent.has(range.from)) {
        run.addSet(part, range.from, into[verdict]);
        continue;
      }
    }
    let before: string | undefined;
    forTexts(
      run,
      part,
      range,
      (text, from, to) => {
        const verdict = judge.text(qualifier, text);
        if (verdict === undefined) return;
        if (!own.frequent.has(text)) run.addEntries(part, from, to, into[verdict]);
        else if (text !== before) run.addSet(part, (before = text), into[verdict]);
      },
      true,
    );
  }
}

function addMixedTexts(run: Run, part: number, range: TextRange, judge: Judge, into: Matches): void {
  forTexts(
    run,
    part,
    range,
    (text, from, to) => {
      for (let entry = from; entry < to; entry++) {
        const number = run.values(part, Math.floor(entry / SIZES.block)).qualifiers![entry % SIZES.block]!;
        const verdict = judge.text(judge.numbered(number), text);
        if (verdict !== undefined) run.addEntries(part, entry, entry + 1, into[verdict]);
      }
    },
    true,
  );
}

/**
 * Visits the texts of a part in a range, with their entries. A text whose entries are in several blocks is visited for
 * each of them.
 *
 * @param readsPositions whether the visits read the positions of entries of texts that have no set
 */
export function forTexts(
  run: Run,
  part: number,
  { from, isPrefix }: TextRange,
  visit: (text: string, from: number, to: number) => void,
  readsPositions = false,
): void {
  const { firsts, qualifier, frequent } = run.directory.parts[part]!;
  const isBeyond = (text: string): boolean =>
    (isPrefix ? !text.startsWith(from) : text !== from) && compareTexts(text, from) > 0;
  // The block before the first one that begins in the range may end there.
  const start = Math.max(0, firstPlace(firsts.length, (place) => compareTexts(firsts[place]!, from) < 0) - 1);
  let end = start;
  while (end < firsts.length && (end === start || !isBeyond(firsts[end]!))) end++;
  const isOfOne = (block: number): boolean => qualifier !== undefined && firsts[block] === firsts[block + 1];
  for (let block = start; block < end; block++) {
    if (!isOfOne(block)) run.noteValues(part, block);
    if (readsPositions && !(isOfOne(block) && frequent.has(firsts[block]!))) {
      run.notePositions(part, block * SIZES.block);
    }
  }
  for (let block = start; block < end; block++) {
    const { texts, ends } = isOfOne(block) ? { texts: [firsts[block]!], ends: [SIZES.block] } : run.values(part, block);
    for (let index = 0; index < texts.length; index++) {
      const text = texts[index]!;
      if (isPrefix ? !text.startsWith(from) : text !== from) continue;
      const first = block * SIZES.block;
      visit(text, first + (index === 0 ? 0 : ends[index - 1]!), first + ends[index]!);
    }
  }
}

const EVERY: readonly TextRange[] = [{ from: '', isPrefix: true }];

/** Where the texts of passing values are. */
function rangesOf({ test }: RunTest): readonly TextRange[] {
  switch (test.kind) {
    case 'token': {
      const codes = testedCodes(test);
      if (codes === undefined || test.negated === true) return EVERY;
      const narrower = test.below === true ? narrowerTypes(test.code!) : [];
      return distinct([...codes.map(only), ...narrower.map(startingWith)]);
    }
    case 'string':
      switch (test.comparator) {
        case 'equals':
          return [only(test.text)];
        case 'starts-with':
          return [startingWith(test.text)];
        case 'words-start-with':
        case 'words-equal':
          return [startingWith(wordParts(test).start)];
        default:
          return EVERY;
      }
    case 'uri':
      switch (test.comparator) {
        case 'equals':
          return [only(test.value)];
        case 'canonical':
          return canonicalRanges(test.value);
        case 'below':
          return [only(test.value), startingWith(test.value.endsWith('/') ? test.value : `${test.value}/`)];
        case 'starts-with':
          return [startingWith(test.value)];
        default:
          return EVERY;
      }
    case 'reference': {
      const { types, id, url, version, negated } = test;
      if (negated === true) return EVERY;
      if (url !== undefined && version === 'below') return [only(url), startingWith(`${url}.`)];
      if (url !== undefined) return canonicalRanges(url);
      if (types === undefined) return EVERY;
      const names = types.map((type) => `${type}/${id ?? ''}`);
      return distinct(names.map(id === undefined ? startingWith : only));
    }
    default:
      return EVERY;
  }
}

function canonicalRanges(url: string): readonly TextRange[] {
  return url.includes('|') ? [only(url)] : [only(url), startingWith(`${url}|`)];
}

function only(text: string): TextRange {
  return { from: cutText(text), isPrefix: false };
}

export function startingWith(text: string): TextRange {
  // What begins with a text too long to be stored is stored as that text, cut.
  const from = cutText(text);
  return { from, isPrefix: from === text };
}

function distinct(ranges: readonly TextRange[]): readonly TextRange[] {
  return [...new Map(ranges.map((one) => [`${one.isPrefix} ${one.from}`, one])).values()];
}

type IntervalTest = DateTest | NumberTest | QuantityTest;

/**
 * By which values a test passes more likely: 1: larger, -1: smaller, 0: any. Each test is monotonic in the start and
 * in the end of the stored interval, so the extremes of a block decide for all its values.
 */
const DIRECTIONS: { readonly [Prefix in IntervalTest['prefix']]: readonly [low: number, high: number] } = {
  eq: [1, -1],
  ne: [-1, 1],
  gt: [0, 1],
  lt: [-1, 0],
  ge: [1, 1],
  le: [-1, -1],
  sa: [1, 0],
  eb: [0, -1],
  ap: [-1, 1],
  po: [-1, 1],
};

function addIntervals(run: Run, part: number, test: RunTest, into: Matches): void {
  const judge = new Judge(run, test);
  const { qualifier, bounds, size }: RunPart = run.directory.parts[part]!;
  const verdict = qualifier === undefined ? undefined : judge.unit(judge.read(qualifier));
  if (qualifier !== undefined && verdict === undefined) return;
  const asked = test.test as IntervalTest;
  const blocks = Array.from({ length: bounds.length / 4 }, (_, block) => {
    return partOfBlock(asked, bounds.subarray(4 * block, 4 * block + 4));
  });
  for (const [block, some] of blocks.entries()) {
    if (some !== 'none') run.notePositions(part, block * SIZES.block);
    if (some === 'some' || (some === 'all' && verdict === undefined)) run.noteValues(part, block);
  }
  for (let block = 0; block < blocks.length; block++) {
    const from = block * SIZES.block;
    if (blocks[block] === 'none') continue;
    if (blocks[block] === 'all' && verdict !== undefined) {
      while (blocks[block + 1] === 'all') block++;
      run.addEntries(part, from, Math.min(size, (block + 1) * SIZES.block), into[verdict]);
      continue;
    }
    const { lows, highs, qualifiers } = run.values(part, block);
    for (let index = 0; index < lows.length; index++) {
      if (!fits(asked, lows[index]!, highs[index]!)) continue;
      const one = verdict ?? judge.unit(judge.numbered(qualifiers![index]!));
      if (one !== undefined) run.addEntries(part, from + index, from + index + 1, into[one]);
    }
  }
}

/** Whether all values of a block pass, none, or maybe some. */
function partOfBlock(test: IntervalTest, bounds: Float64Array): 'all' | 'some' | 'none' {
  const [minLow, maxLow, minHigh, maxHigh] = bounds as unknown as [number, number, number, number];
  const [low, high] = DIRECTIONS[test.prefix];
  // Bounds of different values: an interval that ends before it starts.
  if (fitsBounds(test, low > 0 ? minLow : maxLow, high > 0 ? minHigh : maxHigh)) return 'all';
  return fitsBounds(test, low > 0 ? maxLow : minLow, high > 0 ? maxHigh : minHigh) ? 'some' : 'none';
}

function fitsBounds(test: IntervalTest, low: number, high: number): boolean {
  // A point equals one value only, which is monotonic in this form.
  const isPoint = test.kind !== 'date' && test.low === test.high;
  if (isPoint && test.prefix === 'eq') return low >= test.low && high <= test.low;
  if (isPoint && test.prefix === 'ne') return low < test.low || high > test.low;
  return fits(test, low, high);
}

/** Whether an interval passes, whatever its unit. */
function fits(test: IntervalTest, low: number, high: number): boolean {
  if (test.kind === 'date') return fitsDate(test, low, high);
  const { prefix } = test;
  return testValue({ kind: 'number', prefix, low: test.low, high: test.high }, { kind: 'number', low, high });
}
