import { expect, test } from 'vitest';
import { readPage, readResources } from '../../support/pages.js';
import { guideExamples, shownAnswer } from '../guide-examples.js';
import { openClinic, type Sample } from '../harness.js';

const guide = readPage('mutations');
const examples = guideExamples(guide);

test('the guide has an example for each of its sections', () => {
  expect(new Set(examples.map(({ section }) => section)).size).toBe(guide.match(/^## /gm)!.length - 1);
});

test.each(examples)('$section: $query', async ({ query, variables, answer }) => {
  const clinic = await openClinic(readResources<Sample>('mutations'));
  expect(shownAnswer(await clinic.ask(query, variables))).toEqual(answer);
});
