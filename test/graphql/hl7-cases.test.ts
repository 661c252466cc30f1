import { describe, expect, test } from 'vitest';
import { systemCaller } from '../../src/access/caller.js';
import { guardStore } from '../../src/access/guarded-store.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import { executeFhirGraphql } from '../../src/graphql/execute-fhir-graphql.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { hasShared, sharedJson, sharedText } from '../support/shared.js';

interface Hl7Case {
  readonly name: string;
  readonly source: string;
  /** A file, or `$error`. */
  readonly output: string;
  /** `Patient/example/$graphql`; empty for the whole service. */
  readonly context: string;
  readonly operation: string | undefined;
  /** File of the resource that the context names; by default made of the context itself. */
  readonly resource: string | undefined;
}

/** What HL7's runner has at hand for every case; other cases name their own resource or have it as context. */
const COMMON = ['patient-example', 'patient-example-xds', 'observation-example', 'condition-example'];

/** The manifest is five attributes per line; see fhir-test-cases, r4/graphql. */
function readManifest(xml: string): Hl7Case[] {
  return [...xml.matchAll(/<test ([^>]*)\/>/g)].map(([, attributes]) => {
    const read = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(attributes!)?.[1];
    return {
      name: read('name')!,
      source: read('source')!,
      output: read('output')!,
      context: read('context')!,
      operation: read('operation'),
      resource: read('resource'),
    };
  });
}

/** Where HL7's mocked answer pages, scores and counts otherwise than any search would: those members are left out. */
function withoutMockedPaging(name: string, answer: Record<string, unknown>): unknown {
  if (name !== 'search-full') return answer;
  const { edges } = answer['PatientConnection'] as { edges: { resource: unknown }[] };
  return edges.map(({ resource }) => ({ resource }));
}

if (!hasShared) console.warn("HL7's GraphQL cases are not beside the repository: they are skipped.");

describe.skipIf(!hasShared)("HL7's cases in dialect hl7, as written", () => {
  const caller = systemCaller('hl7');
  const cases = hasShared ? readManifest(sharedText('hl7-graphql/cases/manifest.xml')) : [];

  /** A store with the resources of one case; what the context names stands under the id that it is named by. */
  async function storeFor({ resource, context }: Hl7Case): Promise<MemoryStore> {
    const store = new MemoryStore();
    const [type, id] = context.split('/');
    const named = resource ?? (id === undefined ? undefined : `${type!.toLowerCase()}-${id}`);
    const found = new Map(COMMON.map((file) => [file, sharedJson<AnyResource>(`hl7-graphql/resources/${file}.json`)]));
    if (named !== undefined) {
      found.set(named, { ...sharedJson<AnyResource>(`hl7-graphql/resources/${named}.json`), id: id! });
    }
    await guardStore(store, caller).commit(
      [...found.values()].map((one) => ({
        kind: 'put',
        key: { type: one.resourceType, id: one.id! },
        resource: one,
      })),
    );
    return store;
  }

  test('there are 29 of them', () => {
    expect(cases.length).toBe(29);
  });

  test.each(cases)('$name', async (entry) => {
    const { name, source, output, context, operation } = entry;
    const store = await storeFor(entry);
    const answer = await executeFhirGraphql(sharedText(`hl7-graphql/cases/${source}`), {
      store,
      caller,
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
