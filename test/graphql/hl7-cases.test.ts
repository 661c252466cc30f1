import { describe, expect, test } from 'vitest';
import { executeFhirGraphql } from '../../src/index.js';
import { hasShared, sharedJson, sharedText } from '../support/shared.js';
import { HL7_CALLER, readHl7Cases, storeForHl7Case } from './hl7-manifest.js';

/** Cases in which HL7's mocked answer pages, scores and counts differently from any search: those members are ignored. */
function withoutMockedPaging(name: string, answer: Record<string, unknown>): unknown {
  if (name !== 'search-full') return answer;
  const { edges } = answer['PatientConnection'] as { edges: { resource: unknown }[] };
  return edges.map(({ resource }) => ({ resource }));
}

describe("HL7's cases in dialect hl7, as written", () => {
  const cases = readHl7Cases();

  test('there are 29 cases, and 12 in the excerpt', () => {
    expect(cases.length).toBe(hasShared ? 29 : 12);
  });

  test.each(cases)('$name', async (entry) => {
    const { name, source, output, context, operation } = entry;
    const store = await storeForHl7Case(entry);
    const answer = await executeFhirGraphql(sharedText(`hl7-graphql/cases/${source}`), {
      store,
      caller: HL7_CALLER,
      dialect: 'hl7',
      focus: context === '' ? undefined : context.replace('/$graphql', ''),
      operationName: operation,
      variables: operation === undefined ? undefined : { var: true },
    });
    if (output === '$error') {
      expect(answer.errors?.length).toBeGreaterThan(0);
      expect(answer.data).toBeUndefined();
      return;
    }
    expect(answer.errors).toBeUndefined();
    const expected = sharedJson<Record<string, unknown>>(`hl7-graphql/cases/${output}`);
    expect(withoutMockedPaging(name, answer.data!)).toEqual(withoutMockedPaging(name, expected));
  });
});
