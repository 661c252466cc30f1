import { expect, test } from 'vitest';
import { blocksOf } from '../../support/markdown.js';
import { readPage } from '../../support/pages.js';
import { guideExamples, shownAnswer } from '../guide-examples.js';
import { openClinic, type Sample } from '../harness.js';

const guide = readPage('mutations');
const examples = guideExamples(guide);

test('the guide has an example for each of its sections', () => {
  expect(new Set(examples.map(({ section }) => section)).size).toBe(guide.match(/^## /gm)!.length - 1);
});

test.each(examples)('$section: $query', async ({ query, limits, variables, answer }) => {
  const { text } = blocksOf(guide).find(({ info }) => info === 'resources')!;
  const clinic = await openClinic(JSON.parse(text) as Sample[]);
  expect(shownAnswer(await clinic.ask(query, variables, { limits }))).toEqual(answer);
});
