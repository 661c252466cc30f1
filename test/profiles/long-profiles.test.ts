import { afterEach, beforeAll, expect, test } from 'vitest';
import type { FhirModel } from '../../src/fhir/model/fhir-model.js';
import { R4 } from '../../src/fhir/r4.js';
import { createRepository, MemoryStore, systemCaller } from '../../src/index.js';
import { PACE } from '../../src/platform/loop-turn.js';
import { validateResource } from '../../src/profiles/validate-resource.js';
import { extendDefinitions } from '../../src/search/extend/extend-definitions.js';
import { countTurns } from '../support/count-turns.js';
import { amy, nickname, usCore, usCorePatient } from './us-core.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

let model: FhirModel;
beforeAll(async () => {
  model = await extendDefinitions(R4, { ...usCore, profiles: [...usCore.profiles, nickname] });
});

const ITEMS = 900;

/** Every third identifier lacks what the profile requires. */
const long = {
  ...amy,
  identifier: Array.from({ length: ITEMS }, (_, n) => ({
    ...(n % 3 === 0 ? {} : { system: 'http://x' }),
    value: `${n}`,
  })),
};

function validate(): ReturnType<typeof validateResource> {
  return validateResource(long, { definitions: model, profiles: [usCorePatient.url], maxIssues: ITEMS });
}

test('other work runs between the values that a profile is checked on, and the findings are the same', async () => {
  PACE.turnMs = 1e9;
  const atOnce = await countTurns(validate);
  expect(atOnce.result.outcome.issue).toHaveLength(ITEMS / 3);
  PACE.turnMs = 0;
  const inTurns = await countTurns(validate);
  expect(inTurns.result).toEqual(atOnce.result);
  // The definitions look at the identifiers, too. The profile asks several questions about each, in steps of 64.
  const basic = await countTurns(() => validateResource(long, { definitions: model }));
  expect(inTurns.turns - basic.turns).toBeGreaterThanOrEqual((2 * ITEMS) / 64);
});

test('a write that must conform to a profile lets other work run between its values', async () => {
  const context = { store: new MemoryStore({ model }), caller: systemCaller('clinic') };
  const identifier = long.identifier.map(({ value }) => ({ system: 'http://x', value }));
  const update = (profiles: true | undefined) => () =>
    createRepository({ ...context, ...(profiles === undefined ? {} : { profiles }) }).update({
      ...amy,
      id: 'amy',
      identifier,
    } as never);
  await update(true)();
  PACE.turnMs = 0;
  const plain = await countTurns(update(undefined));
  const checked = await countTurns(update(true));
  expect(checked.turns - plain.turns).toBeGreaterThanOrEqual((2 * ITEMS) / 64);
});

const PARAGRAPHS = 30_000;

/** Its last element is not allowed. */
const narrative = {
  status: 'generated',
  div: `<div xmlns="http://www.w3.org/1999/xhtml">${'<p>a</p>'.repeat(PARAGRAPHS)}<script/></div>`,
};

test.each([
  ['of a resource', { ...amy, text: narrative }, 'Patient.text.div'],
  [
    'of a resource inside another',
    { resourceType: 'Bundle', type: 'collection', entry: [{ resource: { ...amy, text: narrative } }] },
    'Bundle.entry[0].resource.text.div',
  ],
])('a long narrative %s is checked in turns, with the same findings', async (_, resource, place) => {
  const check = (): ReturnType<typeof validateResource> => validateResource(resource, { definitions: R4 });
  PACE.turnMs = 1e9;
  const atOnce = await countTurns(check);
  expect(atOnce.result.outcome.issue).toMatchObject([{ expression: [place] }]);
  PACE.turnMs = 0;
  const inTurns = await countTurns(check);
  expect(inTurns.result).toEqual(atOnce.result);
  // Two tags of each paragraph, a thousand tags in a step.
  expect(inTurns.turns).toBeGreaterThanOrEqual((2 * PARAGRAPHS) / 1_000);
});

test('the entries of a Bundle without profiles are visited in turns', async () => {
  const entry = Array.from({ length: ITEMS }, (_, index) => ({ resource: { ...amy, id: `a${index}` } }));
  const bundle = { resourceType: 'Bundle', type: 'collection', entry };
  PACE.turnMs = 0;
  const basic = await countTurns(() => validateResource(bundle, { definitions: R4 }));
  const { turns } = await countTurns(() => validateResource(bundle, { definitions: R4, profiles: true }));
  expect(turns - basic.turns).toBeGreaterThanOrEqual(ITEMS);
});
