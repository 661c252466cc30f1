import { LRUCache } from 'lru-cache';
import {
  GraphQLError,
  Kind,
  parse,
  validate,
  type DocumentNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from './graphql-js.js';
import { LimitError, type Limits } from './limits.js';
import { fragmentsOf } from './plan/collect-fields.js';
import { planOperation } from './plan/plan-operation.js';
import type { OperationPlan } from './plan/plan.js';
import { QUERY } from './schema/fields.js';
import { FhirSchema } from './schema/schema.js';
import { VALIDATION_RULES } from './validation/rules.js';

/** A document that was parsed and found valid, with the plans made of it so far. */
export interface PreparedDocument {
  readonly root: string;
  readonly operations: readonly OperationDefinitionNode[];
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Variables that `@skip` and `@include` ask about; each combination of their truth has a plan of its own. */
  readonly conditions: readonly string[];
  readonly plans: LRUCache<string, OperationPlan>;
}

/** A document that cannot be executed: what is wrong with it. */
export class DocumentErrors extends Error {
  constructor(readonly errors: readonly GraphQLError[]) {
    super('The document is not valid');
  }
}

/** Documents by root type and text. Bounded by number and by the length of the texts. */
const BY_TEXT = new LRUCache<string, PreparedDocument>({
  max: 1000,
  maxSize: 8_000_000,
  sizeCalculation: (_, key) => key.length,
});
const BY_DOCUMENT = new WeakMap<DocumentNode, Map<string, PreparedDocument>>();

/** One schema per root: `Query`, and the resource types whose instances were queried. */
const SCHEMAS = new Map<string, FhirSchema>();

/** The schema whose root fields are those of `root`. */
export function schemaFor(root: string): FhirSchema {
  let schema = SCHEMAS.get(root);
  if (schema === undefined) SCHEMAS.set(root, (schema = new FhirSchema(root)));
  return schema;
}

/**
 * Parses and validates a query, or finds it in the cache.
 *
 * @param root `Query`, or the type of the instance the query is about
 * @throws DocumentErrors - it is malformed or does not fit the schema
 * @throws LimitError `queryLength`, `tokens`, `depth`
 */
export function prepareDocument(query: string | DocumentNode, limits: Limits, root: string = QUERY): PreparedDocument {
  if (typeof query !== 'string') return prepareParsed(query, limits, root);
  if (query.length > limits.queryLength) {
    throw new LimitError(
      'queryLength',
      limits.queryLength,
      `The query has ${query.length} characters; at most ${limits.queryLength} are allowed`,
      query.length,
    );
  }
  const key = `${root}\n${query}`;
  let prepared = BY_TEXT.get(key);
  if (prepared === undefined) {
    prepared = checkDocument(parseQuery(query, limits), limits, root);
    BY_TEXT.set(key, prepared);
  }
  return prepared;
}

/**
 * The plan of one operation for the given truth of its `@skip` and `@include` variables, made at first use.
 *
 * @throws LimitError `fields`, `depth`
 */
export function planFor(
  document: PreparedDocument,
  operation: OperationDefinitionNode,
  variables: { readonly [name: string]: unknown },
  limits: Limits,
): OperationPlan {
  const truth = new Map(document.conditions.map((name) => [name, variables[name] === true]));
  const key = `${operation.name?.value ?? ''} ${[...truth.values()].map(Number).join('')}`;
  let plan = document.plans.get(key);
  if (plan === undefined) {
    const parts = { fragments: document.fragments, conditions: (name: string) => truth.get(name) === true };
    plan = planOperation(operation, document.root, parts, limits.fields);
    document.plans.set(key, plan);
  }
  if (plan.depth > limits.depth) throw tooDeep(limits);
  return plan;
}

function prepareParsed(document: DocumentNode, limits: Limits, root: string): PreparedDocument {
  let byRoot = BY_DOCUMENT.get(document);
  if (byRoot === undefined) BY_DOCUMENT.set(document, (byRoot = new Map<string, PreparedDocument>()));
  let prepared = byRoot.get(root);
  if (prepared === undefined) byRoot.set(root, (prepared = checkDocument(document, limits, root)));
  return prepared;
}

function parseQuery(query: string, limits: Limits): DocumentNode {
  try {
    return parse(query, { maxTokens: limits.tokens });
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(limits);
    if (!(error instanceof GraphQLError)) throw error;
    if (
      error.message.includes(`more that ${limits.tokens} tokens`) ||
      error.message.includes(`more than ${limits.tokens} tokens`)
    ) {
      throw new LimitError(
        'tokens',
        limits.tokens,
        `The query has more than ${limits.tokens} tokens; ask for less, or split it`,
      );
    }
    throw new DocumentErrors([error]);
  }
}

function checkDocument(document: DocumentNode, limits: Limits, root: string): PreparedDocument {
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      refuseDeep(definition.selectionSet, limits);
      operations.push(definition);
    } else if (definition.kind === Kind.FRAGMENT_DEFINITION) refuseDeep(definition.selectionSet, limits);
  }
  const errors = validate(schemaFor(root), document, VALIDATION_RULES, { maxErrors: 20 });
  if (errors.length > 0) throw new DocumentErrors(errors);
  const fragments = fragmentsOf(document);
  return {
    root,
    operations,
    fragments,
    conditions: conditionVariables([...operations, ...fragments.values()]),
    plans: new LRUCache({ max: 32 }),
  };
}

/** Refuses selections nested too deep before anything recursive looks at them; walks with a stack of its own. */
function refuseDeep(set: SelectionSetNode, limits: Limits): void {
  const open: [SelectionSetNode, number][] = [[set, 1]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [{ selections }, depth] = next;
    // Inline fragments nest without deepening the answer, so twice the depth is still reasonable here.
    if (depth > 2 * limits.depth) throw tooDeep(limits);
    for (const selection of selections) {
      if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet !== undefined) {
        open.push([selection.selectionSet, depth + 1]);
      }
    }
  }
}

function tooDeep(limits: Limits): LimitError {
  return new LimitError(
    'depth',
    limits.depth,
    `The query nests deeper than ${limits.depth} levels; ask for less at once`,
  );
}

function conditionVariables(
  definitions: readonly (OperationDefinitionNode | FragmentDefinitionNode)[],
): readonly string[] {
  const names = new Set<string>();
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      for (const directive of selection.directives ?? []) {
        for (const { value } of directive.arguments ?? [])
          if (value.kind === Kind.VARIABLE) names.add(value.name.value);
      }
      if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet !== undefined)
        visit(selection.selectionSet);
    }
  };
  for (const { selectionSet } of definitions) visit(selectionSet);
  return [...names].sort();
}
