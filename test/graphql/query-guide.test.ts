import { beforeAll, expect, test } from 'vitest';
import { readPage, readResources } from '../support/pages.js';
import { guideExamples, shownAnswer } from './guide-examples.js';
import { openClinic, type Clinic, type Sample } from './harness.js';

const guide = readPage('queries');
const examples = guideExamples(guide);

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic(readResources<Sample>('queries'));
});

test('the guide has an example for each of its sections', () => {
  expect(new Set(examples.map(({ section }) => section)).size).toBe(guide.match(/^## /gm)!.length);
});

test.each(examples)('$section: $query', async ({ query, focus, variables, answer }) => {
  expect(shownAnswer(await clinic.ask(query, variables, { focus }))).toEqual(answer);
});
