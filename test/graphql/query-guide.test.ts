import { beforeAll, expect, test } from 'vitest';
import { blocksOf } from '../support/markdown.js';
import { readPage } from '../support/pages.js';
import { guideExamples, shownAnswer } from './guide-examples.js';
import { openClinic, type Clinic, type Sample } from './harness.js';

const guide = readPage('queries');
const examples = guideExamples(guide);

let clinic: Clinic;
beforeAll(async () => {
  const { text } = blocksOf(guide).find(({ info }) => info === 'resources')!;
  clinic = await openClinic(JSON.parse(text) as Sample[]);
});

test('the guide has an example for each of its sections', () => {
  expect(new Set(examples.map(({ section }) => section)).size).toBe(guide.match(/^## /gm)!.length - 1);
});

test.each(examples)('$section: $query', async ({ query, focus, limits, variables, answer }) => {
  expect(shownAnswer(await clinic.ask(query, variables, { focus, limits }))).toEqual(answer);
});
