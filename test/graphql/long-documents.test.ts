import { afterEach, expect, test } from 'vitest';
import { R4 } from '../../src/store.js';
import { prepareDocument } from '../../src/graphql/prepare-document.js';
import { DocumentErrors } from '../../src/graphql/prepared-document.js';
import { DEFAULT_LIMITS, executeFhirGraphql, MemoryStore, systemCaller } from '../../src/index.js';
import { PACE } from '../../src/platform/pace.js';
import { countTurns } from '../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

/** Fragments are checked by the rules. Each text is a document of its own. */
function prepare(name: string, tokens = 10, field = 'id') {
  const text = `{ PatientList { ${'id '.repeat(tokens - 10)} ...${name} } } fragment ${name} on Patient { ${field} }`;
  return countTurns(async () => prepareDocument(R4, text, DEFAULT_LIMITS));
}

test('a long document takes a turn each for parsing, validation and merging', async () => {
  await prepare('first');
  PACE.turnMs = 1e9;
  const atOnce = await prepare('second');
  PACE.turnMs = 0;
  const inTurns = await prepare('third');
  expect(inTurns.result.operations).toHaveLength(1);
  expect(inTurns.turns - atOnce.turns).toBe(3);
});

test('a document of 3,000 tokens has a turn for each of four parts of the rules, and the errors of all of them', async () => {
  await prepare('before');
  PACE.turnMs = 0;
  const short = await prepare('short', 2_900);
  const long = await prepare('long', 3_010);
  expect(long.turns - short.turns).toBe(3);

  const errorsOf = async (name: string, tokens: number): Promise<readonly string[]> => {
    const failed = await prepare(name, tokens, 'nmae @includ id(a: 1) @include(if: $b)').catch(
      (error: unknown) => error,
    );
    expect(failed).toBeInstanceOf(DocumentErrors);
    return (failed as DocumentErrors).errors.map(({ message }) => message).sort();
  };
  expect(await errorsOf('few', 2_900)).toHaveLength(4);
  expect(await errorsOf('many', 3_010)).toEqual(await errorsOf('few', 2_900));
});

test('a plan of 4,000 selections is executed in another turn', async () => {
  const store = new MemoryStore();
  const wide = Array.from({ length: 200 }, (_, index) => `w${index}: use`).join(' ');
  let isOther = false;
  let isAskedInOther: boolean | undefined;
  const ask = (aliases: number) => {
    const names = Array.from({ length: aliases }, (_, index) => `a${index}: name { ...wide }`).join(' ');
    const query = `{ PatientList { ${names} } } fragment wide on HumanName { ${wide} }`;
    return executeFhirGraphql(query, { store, caller: systemCaller('clinic') });
  };
  // Loads the rules.
  await ask(1);
  PACE.turnMs = 1e9;
  const { search } = store;
  store.search = (...call) => {
    isAskedInOther = isOther;
    return search.apply(store, call);
  };
  setImmediate(() => (isOther = true));
  expect(await ask(20)).toEqual({ data: { PatientList: [] } });
  expect(isAskedInOther).toBe(true);
});
