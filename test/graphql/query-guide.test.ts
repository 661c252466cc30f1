import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import type { ResponseError } from '../../src/graphql/execute/response-errors.js';
import type { Limits } from '../../src/graphql/limits.js';
import { blocksOf } from '../support/markdown.js';
import { openClinic, type Clinic, type Sample, type Variables } from './harness.js';

interface Example {
  readonly section: string;
  readonly query: string;
  readonly focus: string | undefined;
  readonly limits: Partial<Limits> | undefined;
  readonly variables: Variables | undefined;
  readonly answer: { readonly data?: unknown; readonly errors?: readonly object[] };
}

const guide = readFileSync(new URL('../../docs/queries.md', import.meta.url), 'utf8');
const examples = guide.split(/^## /m).slice(1).flatMap(examplesOf);

let clinic: Clinic;
beforeAll(async () => {
  const { text } = blocksOf(guide).find(({ info }) => info === 'resources')!;
  clinic = await openClinic(JSON.parse(text) as Sample[]);
});

test('the guide has an example for each of its sections', () => {
  expect(new Set(examples.map(({ section }) => section)).size).toBe(guide.match(/^## /gm)!.length - 1);
});

test.each(examples)('$section: $query', async ({ query, focus, limits, variables, answer }) => {
  const actual = await clinic.ask(query, variables, { focus, limits });
  const errors = actual.errors?.map(shown);
  expect({ ...actual, ...(errors === undefined ? {} : { errors }) }).toEqual(answer);
});

/** A section's queries, each with the variables and the answer that follow it. */
function examplesOf(section: string): Example[] {
  const blocks = blocksOf(section);
  return blocks.flatMap(({ language, info, text: query }, index): Example[] => {
    if (language !== 'graphql') return [];
    const [next, afterNext] = blocks.slice(index + 1);
    const variables = next?.info === 'variables' ? next : undefined;
    const answer = variables === undefined ? next : afterNext;
    return [
      {
        section: section.slice(0, section.indexOf('\n')),
        query,
        focus: /^focus=(.+)$/.exec(info)?.[1],
        limits: parse<Partial<Limits>>(/^limits=(.+)$/.exec(info)?.[1]),
        variables: parse<Variables>(variables?.text),
        answer: parse<Example['answer']>(answer?.text)!,
      },
    ];
  });
}

function parse<Content>(json: string | undefined): Content | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as Content);
}

/** What the guide shows of an error. */
function shown({ message, path, extensions }: ResponseError): object {
  return { message, ...(path === undefined ? {} : { path }), extensions: { code: extensions.code } };
}
