import type { FhirGraphqlResult, ResponseError } from '../../src/index.js';
import { blocksOf } from '../support/markdown.js';
import type { Variables } from './harness.js';

/** A query of a guide and the answer that the guide shows. */
export interface Example {
  readonly section: string;
  readonly query: string;
  readonly focus: string | undefined;
  readonly variables: Variables | undefined;
  readonly answer: { readonly data?: unknown; readonly errors?: readonly object[] };
}

/** The queries of a guide, section by section: headings of the second level. */
export function guideExamples(guide: string): Example[] {
  return guide.split(/^## /m).slice(1).flatMap(examplesOf);
}

/** An answer as guides show it: of errors the message, path and code. */
export function shownAnswer(answer: FhirGraphqlResult): object {
  return { ...answer, ...(answer.errors === undefined ? {} : { errors: answer.errors.map(shown) }) };
}

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
        variables: parse<Variables>(variables?.text),
        answer: parse<Example['answer']>(answer?.text)!,
      },
    ];
  });
}

function parse<Content>(json: string | undefined): Content | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as Content);
}

function shown({ message, path, extensions }: ResponseError): object {
  return { message, ...(path === undefined ? {} : { path }), extensions: { code: extensions.code } };
}
