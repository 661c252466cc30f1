import { Kind, parse, type DocumentNode, type FieldNode, type SelectionNode } from 'graphql';
import type { HostileDocument } from './hostile-document.js';

/** Documents that no parser would create, passed as objects. */
export const HOSTILE_OBJECTS: readonly HostileDocument[] = [
  { name: 'object: a field inside itself', make: () => ({ query: document([ring()]) }), outcome: 'too-costly' },
  { name: 'object: 2^40 fields by sharing', make: () => ({ query: document([shared(40)]) }), outcome: 'too-costly' },
  {
    name: 'object: a million fields',
    make: () => ({ query: document(new Array<FieldNode>(1_000_000).fill(field('id'))) }),
    outcome: 'too-costly',
  },
  {
    name: 'object: a lie about the number of tokens',
    make: () => ({
      query: { ...document(new Array<FieldNode>(50_000).fill(field('id'))), tokenCount: 1 },
    }),
    outcome: 'too-costly',
  },
  {
    name: 'object: 10 MB of text as a value',
    make: () => ({ query: withValue('x'.repeat(10_000_000)) }),
    outcome: 'too-costly',
  },
  {
    name: 'object: no document',
    make: () => ({ query: { kind: 'Nonsense' } as unknown as DocumentNode }),
    outcome: 'invalid',
  },
  {
    name: 'object: definitions that are none',
    make: () => ({ query: { kind: Kind.DOCUMENT, definitions: [null, 1, {}] } as unknown as DocumentNode }),
    outcome: 'invalid',
  },
  {
    name: 'object: a field without a name',
    make: () => ({ query: document([{ kind: Kind.FIELD } as FieldNode]) }),
    outcome: 'invalid',
  },
];

function document(selections: readonly SelectionNode[]): DocumentNode {
  const inner = field('PatientList', selections);
  return {
    kind: Kind.DOCUMENT,
    definitions: [
      {
        kind: Kind.OPERATION_DEFINITION,
        operation: 'query',
        selectionSet: { kind: Kind.SELECTION_SET, selections: [inner] },
      },
    ],
  } as unknown as DocumentNode;
}

function field(name: string, selections?: readonly SelectionNode[]): FieldNode {
  const selectionSet = selections === undefined ? {} : { selectionSet: { kind: Kind.SELECTION_SET, selections } };
  return { kind: Kind.FIELD, name: { kind: Kind.NAME, value: name }, ...selectionSet } as FieldNode;
}

function ring(): FieldNode {
  const selections: SelectionNode[] = [];
  const extension = field('extension', selections);
  selections.push(extension);
  return extension;
}

/** Two references to one object per level. */
function shared(levels: number): FieldNode {
  let inner = field('url');
  for (let level = 0; level < levels; level += 1) inner = field('extension', [inner, inner]);
  return inner;
}

function withValue(value: string): DocumentNode {
  const text = '{ PatientList(name: "placeholder") { id } }';
  return JSON.parse(JSON.stringify(parse(text, { noLocation: true })).replace('placeholder', value)) as DocumentNode;
}
