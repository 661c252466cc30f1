import { FhirError } from '../fhir/error.js';
import { Kind, type DocumentNode, type ASTNode } from './graphql-js.js';
import { LimitError, tooDeep, type Limits } from './limits.js';

/**
 * Rejects objects that are not well-formed documents, and documents with more text than a query may have. Hosts may
 * pass on client input, and JSON can have any shape: values of the wrong type would reach execution, and impossible
 * nesting would exhaust the stack.
 *
 * Validation rejects non-executable definitions.
 *
 * @throws FhirError `invalid` - names the kind of the first node that is malformed
 * @throws LimitError `queryLength` - its names and values are longer than the text of a query may be; `tokens`, `depth`
 */
export function assertDocument(document: DocumentNode, limits: Limits): void {
  const { queryLength } = limits;
  let characters = CHARACTERS.get(document);
  if (characters === undefined) {
    // Nodes may be shared, so a few of them can unfold to billions.
    assertDocumentSize(document, limits);
    CHARACTERS.set(document, (characters = charactersOf(document)));
  }
  if (characters <= queryLength) return;
  throw new LimitError(
    'queryLength',
    queryLength,
    `The names and values of the query have ${characters} characters; at most ${queryLength} are allowed`,
  );
}

/**
 * Rejects a document that nests too deep or has too many tokens, before any recursive code visits it.
 *
 * @returns the number of its tokens
 * @throws LimitError `tokens`, `depth`
 */
export function assertDocumentSize(document: DocumentNode, limits: Limits): number {
  const bounds = { tokens: limits.tokens, nesting: NESTING_PER_LEVEL * limits.depth };
  const { tokens, nesting } = measureDocument(document, bounds);
  if (nesting > bounds.nesting) throw tooDeep(limits);
  if (tokens > bounds.tokens) throw tooManyTokens(limits);
  return tokens;
}

/** Inline fragments and values nest without deepening the answer, so documents may nest deeper than answers. */
const NESTING_PER_LEVEL = 2;

export function tooManyTokens({ tokens }: Limits): LimitError {
  return new LimitError('tokens', tokens, `The query has more than ${tokens} tokens; ask for less, or split it`);
}

/** Well-formed documents. Hosts keep their documents and pass them in repeatedly. */
const CHARACTERS = new WeakMap<DocumentNode, number>();

type Node = { readonly [name: string]: unknown };

/** The child nodes of a kind: `one`, `optional`, or a `list`, which may be absent. */
type Children = { readonly [name: string]: readonly ['one' | 'optional' | 'list', ReadonlySet<string>] };

const NAME = new Set<string>([Kind.NAME]);
const DIRECTIVES = ['list', new Set<string>([Kind.DIRECTIVE])] as const;
const ARGUMENTS = ['list', new Set<string>([Kind.ARGUMENT])] as const;
const SELECTION_SET = new Set<string>([Kind.SELECTION_SET]);
const NAMED_TYPE = new Set<string>([Kind.NAMED_TYPE]);
const NULLABLE = new Set<string>([Kind.NAMED_TYPE, Kind.LIST_TYPE]);
const TYPE = new Set<string>([...NULLABLE, Kind.NON_NULL_TYPE]);
const VALUE = new Set<string>([
  Kind.VARIABLE,
  Kind.INT,
  Kind.FLOAT,
  Kind.STRING,
  Kind.BOOLEAN,
  Kind.NULL,
  Kind.ENUM,
  Kind.LIST,
  Kind.OBJECT,
]);

/** Includes definitions of schemas, which validation refuses by name. */
const DEFINITION = new Set<string>(Object.values(Kind).filter((kind) => /(?:Definition|Extension)$/.test(kind)));

const CHILDREN: ReadonlyMap<string, Children> = new Map<string, Children>([
  [
    Kind.OPERATION_DEFINITION,
    {
      name: ['optional', NAME],
      variableDefinitions: ['list', new Set([Kind.VARIABLE_DEFINITION])],
      directives: DIRECTIVES,
      selectionSet: ['one', SELECTION_SET],
    },
  ],
  [
    Kind.FRAGMENT_DEFINITION,
    {
      name: ['one', NAME],
      typeCondition: ['one', NAMED_TYPE],
      directives: DIRECTIVES,
      selectionSet: ['one', SELECTION_SET],
    },
  ],
  [
    Kind.VARIABLE_DEFINITION,
    {
      variable: ['one', new Set([Kind.VARIABLE])],
      type: ['one', TYPE],
      defaultValue: ['optional', VALUE],
      directives: DIRECTIVES,
    },
  ],
  [Kind.SELECTION_SET, { selections: ['list', new Set([Kind.FIELD, Kind.FRAGMENT_SPREAD, Kind.INLINE_FRAGMENT])] }],
  [
    Kind.FIELD,
    {
      alias: ['optional', NAME],
      name: ['one', NAME],
      arguments: ARGUMENTS,
      directives: DIRECTIVES,
      selectionSet: ['optional', SELECTION_SET],
    },
  ],
  [Kind.FRAGMENT_SPREAD, { name: ['one', NAME], directives: DIRECTIVES }],
  [
    Kind.INLINE_FRAGMENT,
    { typeCondition: ['optional', NAMED_TYPE], directives: DIRECTIVES, selectionSet: ['one', SELECTION_SET] },
  ],
  [Kind.DIRECTIVE, { name: ['one', NAME], arguments: ARGUMENTS }],
  [Kind.ARGUMENT, { name: ['one', NAME], value: ['one', VALUE] }],
  [Kind.VARIABLE, { name: ['one', NAME] }],
  [Kind.LIST, { values: ['list', VALUE] }],
  [Kind.OBJECT, { fields: ['list', new Set([Kind.OBJECT_FIELD])] }],
  [Kind.OBJECT_FIELD, { name: ['one', NAME], value: ['one', VALUE] }],
  [Kind.NAMED_TYPE, { name: ['one', NAME] }],
  [Kind.LIST_TYPE, { type: ['one', TYPE] }],
  [Kind.NON_NULL_TYPE, { type: ['one', NULLABLE] }],
]);

/** The syntax of a node's text by kind. See https://spec.graphql.org/October2021/#sec-Appendix-Grammar-Summary. */
const TEXTS: ReadonlyMap<string, RegExp> = new Map<string, RegExp>([
  [Kind.NAME, /^[_A-Za-z][_0-9A-Za-z]*$/],
  [Kind.ENUM, /^[_A-Za-z][_0-9A-Za-z]*$/],
  [Kind.INT, /^-?(?:0|[1-9][0-9]*)$/],
  [Kind.FLOAT, /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/],
  [Kind.STRING, /^/],
]);

/** Counts the characters of all names and values. Iterative, since hostile nodes may nest to any depth. */
function charactersOf(document: DocumentNode): number {
  const definitions: unknown = document.definitions;
  if (!Array.isArray(definitions)) throw malformed(Kind.DOCUMENT);
  const open: Node[] = definitions.map((definition: unknown) => nodeOf(definition, DEFINITION, Kind.DOCUMENT));
  let characters = 0;
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const kind = String(node['kind']);
    const { value } = node;
    const text = TEXTS.get(kind);
    if (text !== undefined) {
      if (typeof value !== 'string' || !text.test(value)) throw malformed(kind);
      characters += value.length;
    }
    if (kind === Kind.BOOLEAN && typeof value !== 'boolean') throw malformed(kind);
    for (const [name, [presence, kinds]] of Object.entries(CHILDREN.get(kind) ?? {})) {
      const child = node[name] ?? undefined;
      if (presence === 'list' && child !== undefined) {
        if (!Array.isArray(child)) throw malformed(kind);
        for (const one of child) open.push(nodeOf(one, kinds, kind));
      } else if (child !== undefined || presence === 'one') open.push(nodeOf(child, kinds, kind));
    }
  }
  return characters;
}

function nodeOf(value: unknown, kinds: ReadonlySet<string>, parent: string): Node {
  const kind: unknown = typeof value === 'object' && value !== null ? (value as Node)['kind'] : undefined;
  if (typeof kind === 'string' && kinds.has(kind)) return value as Node;
  throw malformed(parent);
}

function malformed(kind: string): FhirError {
  return new FhirError(
    'invalid',
    `The document is malformed at a node of kind ${kind}; pass its text, or the result of a GraphQL parser`,
  );
}

/** The size of a document, measured before any recursive code visits it. */
interface DocumentSize {
  /** Tokens counted by the parser; otherwise names and values, a lower bound. */
  readonly tokens: number;
  /** Deepest nesting of selection sets, list values, object values or list types. */
  readonly nesting: number;
}

/** Measures a document iteratively and stops beyond either of the bounds. Values other than nodes are skipped. */
function measureDocument(document: DocumentNode, bounds: DocumentSize): DocumentSize {
  let leaves = 0;
  let nesting = 0;
  let nodes = 0;
  const open: [ASTNode, number][] = [[document, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [node, outer] = next;
    nodes += 1;
    if (nodes > NODES_PER_TOKEN * bounds.tokens) return { tokens: bounds.tokens + 1, nesting };
    const depth = NESTING.has(node.kind) ? outer + 1 : outer;
    nesting = Math.max(nesting, depth);
    const known = open.length;
    pushChildren(node, depth, open);
    if (open.length === known) leaves += 1;
    // Each pending node has at least one leaf.
    if (nesting > bounds.nesting || leaves + open.length > bounds.tokens) {
      leaves += open.length;
      break;
    }
  }
  const { tokenCount } = document as { readonly tokenCount?: unknown };
  return { tokens: Number.isSafeInteger(tokenCount) ? Math.max(leaves, tokenCount as number) : leaves, nesting };
}

/** A parser creates about two nodes per token. Cyclic nodes would never end. */
const NODES_PER_TOKEN = 8;

const NESTING: ReadonlySet<string> = new Set([Kind.SELECTION_SET, Kind.LIST, Kind.OBJECT, Kind.LIST_TYPE]);

function pushChildren(node: ASTNode, depth: number, open: [ASTNode, number][]): void {
  // `Object.entries` takes four times as long.
  for (const key in node) {
    const value = (node as unknown as { readonly [key: string]: unknown })[key];
    // Locations reference the tokens, which are linked to one another.
    if (key === 'loc' || typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) open.push([value as ASTNode, depth]);
    else
      for (const child of value as readonly unknown[]) {
        if (typeof child === 'object' && child !== null) open.push([child as ASTNode, depth]);
      }
  }
}
