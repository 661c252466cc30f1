import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { blocksOf } from '../../support/markdown.js';
import { guideExamples, shownAnswer } from '../guide-examples.js';
import { openClinic, type Sample } from '../harness.js';

const guide = readFileSync(new URL('../../../docs/mutations.md', import.meta.url), 'utf8');
const examples = guideExamples(guide);

test('the guide has an example for each of its sections', () => {
  expect(new Set(examples.map(({ section }) => section)).size).toBe(guide.match(/^## /gm)!.length - 1);
});

test.each(examples)('$section: $query', async ({ query, limits, variables, answer }) => {
  const { text } = blocksOf(guide).find(({ info }) => info === 'resources')!;
  const clinic = await openClinic(JSON.parse(text) as Sample[]);
  expect(shownAnswer(await clinic.ask(query, variables, { limits }))).toEqual(answer);
});
