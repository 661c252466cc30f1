import { type AnyResource, MemoryStore, systemCaller } from '../../src/index.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { sharedJson, sharedText } from '../support/shared.js';

/** One of HL7's GraphQL cases; see fhir-test-cases, r4/graphql. */
export interface Hl7Case {
  readonly name: string;
  readonly source: string;
  /** A file, or `$error`. */
  readonly output: string;
  /** `Patient/example/$graphql`; empty for the whole service. */
  readonly context: string;
  readonly operation: string | undefined;
  /** File of the resource that the context names. By default it is derived from the context. */
  readonly resource: string | undefined;
}

export const HL7_CALLER = systemCaller('hl7');

/** The resources that HL7's runner has for every case. Other cases name their own resource or have it as context. */
const COMMON = ['patient-example', 'patient-example-xds', 'observation-example', 'condition-example'];

/** The manifest is a few attributes per line. */
export function readHl7Cases(): Hl7Case[] {
  return [...sharedText('hl7-graphql/cases/manifest.xml').matchAll(/<test ([^>]*)\/>/g)].map(([, attributes]) => {
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

/** A store with the resources of one case. The resource of the context has the id that the context names. */
export async function storeForHl7Case({ resource, context }: Hl7Case): Promise<MemoryStore> {
  const store = new MemoryStore();
  const [type, id] = context.split('/');
  const named = resource ?? (id === undefined ? undefined : `${type!.toLowerCase()}-${id}`);
  const found = new Map(COMMON.map((file) => [file, sharedJson<AnyResource>(`hl7-graphql/resources/${file}.json`)]));
  if (named !== undefined) {
    found.set(named, { ...sharedJson<AnyResource>(`hl7-graphql/resources/${named}.json`), id: id! });
  }
  await guardStore(store, HL7_CALLER).commit(
    [...found.values()].map((one) => ({
      kind: 'put',
      key: { type: one.resourceType, id: one.id! },
      resource: one,
    })),
  );
  return store;
}
