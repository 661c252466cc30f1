import { homeOf } from '../../access/caller.js';
import type { GuardedQuery } from '../../access/contract.js';
import { decide } from '../../access/decide.js';
import { explainQuery, rulesAskedAfterRead, rulesAskedAfterSearch } from '../../access/explain/explain-query.js';
import type { AccessRule } from '../../access/rule.js';
import { maskError } from '../../fhir/error.js';
import { childrenOf, type Criteria } from '../../search/criteria/criteria.js';
import { describeCriteria } from '../../search/criteria/describe-criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchQuery } from '../../store/search-query.js';
import type { ResourceStore, StoreCall } from '../../store/store.js';
import { readId } from '../execute/fill-level.js';
import type { RunOptions } from '../execute/run.js';
import { cursorOf, searchRequest } from '../execute/search-request.js';
import type { HostEdge, HostReferenceEdge, ReadEdge, ReferenceEdge, SearchEdge } from '../plan/plan.js';
import { fieldName } from '../schema/host/host-schema.js';
import { broadWarnings, openRangeWarnings } from './broad-warnings.js';
import type { ExplainedCall, ExplainedCriteria, ExplainedRule } from './explained-plan.js';
import { type PlacedEdge, typesOf } from './walk-plan.js';

/** The context of an explanation. The store is only called for its plans. */
export interface Explaining {
  readonly store: ResourceStore;
  readonly options: RunOptions;
  /** The options of each call to the store. */
  readonly call: CallOptions;
}

/** Edges of one level that share a call, represented by the first. */
export type SharingEdges = readonly [PlacedEdge, ...PlacedEdge[]];

/**
 * Explains the calls of such edges: one call, except for canonicals and logical references, which need one search per
 * type.
 */
export async function explainEdges(edges: SharingEdges, explaining: Explaining): Promise<readonly ExplainedCall[]> {
  const [first, ...others] = edges;
  const calls = await explainFirst(first, edges, explaining);
  if (others.length === 0) return calls;
  const sharedWith = others.map(({ edge, path }) => ({
    path,
    location: edge.location,
    ...(edge.kind === 'read' ? { id: idOf(edge, explaining) } : {}),
  }));
  return calls.map((call) => ({ ...call, sharedWith }));
}

async function explainFirst(
  placed: PlacedEdge,
  edges: SharingEdges,
  explaining: Explaining,
): Promise<readonly ExplainedCall[]> {
  const { edge } = placed;
  try {
    switch (edge.kind) {
      case 'read':
        return [await explainRead(placed, edge, edges, explaining)];
      case 'search':
        return [await explainSearch(placed, edge, explaining)];
      case 'reference':
        return await explainReference(placed, edge, explaining);
      case 'host-reference':
        return [await explainHostReference(placed, edge, explaining)];
      case 'host':
        return [explainHost(placed, edge)];
    }
  } catch (error) {
    const kind = FAILED_KINDS[edge.kind === 'search' && edge.reverse !== undefined ? 'reverse' : edge.kind];
    const types = edge.kind === 'read' || edge.kind === 'search' ? [edge.type] : [];
    return [{ ...placeOf(placed), kind, types, rules: [], asked: false, fault: maskError(error).message }];
  }
}

async function explainRead(
  placed: PlacedEdge,
  edge: ReadEdge,
  edges: SharingEdges,
  explaining: Explaining,
): Promise<ExplainedCall> {
  const { type } = edge;
  const project = homeOf(type, explaining.options.store.caller);
  const ids = new Set(edges.map((one) => idOf(one.edge as ReadEdge, explaining)));
  const rules = readRules(type, explaining);
  const asked = rules.length > 0;
  return {
    ...placeOf(placed),
    kind: 'read',
    types: [type],
    id: idOf(edge, explaining),
    rules,
    asked,
    ...(asked
      ? await statementsOf({ kind: 'read', keys: Array.from(ids, (id) => ({ project, type, id })) }, explaining)
      : {}),
  };
}

function idOf(edge: ReadEdge, { options }: Explaining): string {
  return readId(edge, options.variables);
}

async function explainSearch(placed: PlacedEdge, edge: SearchEdge, explaining: Explaining): Promise<ExplainedCall> {
  const cursor = await cursorOf(edge, explaining.options);
  const { query, reference, target } = searchRequest(edge, cursor, explaining.options);
  const kind = reference === undefined ? 'search' : 'reverse';
  const parent = target ?? { type: placed.parent, id: ANY_ID };
  const call = await explainQueried({ ...placeOf(placed), kind }, query, explaining, reference, parent);
  return reference === undefined ? call : { ...call, parameter: reference };
}

/** One read for the references, and searches for those without an id. */
async function explainReference(
  placed: PlacedEdge,
  edge: ReferenceEdge,
  explaining: Explaining,
): Promise<readonly ExplainedCall[]> {
  const { options } = explaining;
  const types = typesOf(edge, options.variables);
  if (edge.canonical) return explainKeyed(placed, 'canonical', types, explaining);
  const project = options.store.caller.project;
  const keys = ['1', '2'].map((id) => ({ project, type: types[0] ?? placed.parent, id }));
  const rules = types.flatMap((type) => readRules(type, explaining));
  const asked = types.length === 0 || rules.length > 0;
  const read: ExplainedCall = {
    ...placeOf(placed),
    kind: 'reference',
    types,
    rules,
    asked,
    ...(asked ? await statementsOf({ kind: 'read', keys }, explaining) : {}),
  };
  if (options.resolveIdentifiers !== true) return [read];
  return [read, ...(await explainKeyed(placed, 'identifier', types, explaining))];
}

/** One read for all the resources that values of the host name. */
async function explainHostReference(
  placed: PlacedEdge,
  edge: HostReferenceEdge,
  explaining: Explaining,
): Promise<ExplainedCall> {
  const types = edge.type === undefined ? [] : [edge.type];
  const { project } = explaining.options.store.caller;
  const rules = types.flatMap((type) => readRules(type, explaining));
  const asked = types.length === 0 || rules.length > 0;
  const key = { project, type: edge.type ?? 'Patient', id: '1' };
  const statements = asked ? await statementsOf({ kind: 'read', keys: [key] }, explaining) : {};
  return { ...placeOf(placed), kind: 'reference', types, rules, asked, ...statements };
}

function explainHost(placed: PlacedEdge, { field }: HostEdge): ExplainedCall {
  const needs = field.needs === '*' ? ['*'] : field.needs;
  const host = { field: fieldName(field), needs, cost: field.cost };
  return { ...placeOf(placed), kind: 'host', types: [], rules: [], asked: true, host };
}

const FAILED_KINDS = {
  read: 'read',
  search: 'search',
  reverse: 'reverse',
  reference: 'reference',
  'host-reference': 'reference',
  host: 'host',
} as const;

/** One search per type by a business key that only the data has. */
function explainKeyed(
  placed: PlacedEdge,
  kind: 'canonical' | 'identifier',
  types: readonly string[],
  explaining: Explaining,
): Promise<readonly ExplainedCall[]> {
  const criteria = KEYED[kind];
  const parameter = criteria.kind === 'match' ? criteria.parameter : '';
  const searched = (types.length === 0 ? explaining.store.model.resourceTypes : types).filter(
    (type) => explaining.store.model.searchParameter(type, parameter)?.type === KEY_TYPES[kind],
  );
  return Promise.all(
    searched.map((type) =>
      explainQueried(
        { ...placeOf(placed), kind },
        { type, criteria, limit: explaining.options.limits.listSize },
        explaining,
      ),
    ),
  );
}

const KEYED: { readonly [Kind in 'canonical' | 'identifier']: Criteria } = {
  canonical: {
    kind: 'match',
    parameter: 'url',
    test: { kind: 'uri', comparator: 'equals', value: '(each canonical)' },
  },
  identifier: { kind: 'match', parameter: 'identifier', test: { kind: 'token', code: '(each identifier)' } },
};
const KEY_TYPES = { canonical: 'uri', identifier: 'token' } as const;

/** Represents the parents; only the data has their ids. */
const ANY_ID = '(each)';

async function explainQueried(
  place: Pick<ExplainedCall, 'level' | 'path' | 'location' | 'kind'>,
  asked: GuardedQuery,
  explaining: Explaining,
  reference?: string,
  target?: ReferenceTarget,
): Promise<ExplainedCall> {
  const { caller } = explaining.options.store;
  const { query, rules, origins, hiddenSort } = explainQuery(explaining.store.model, caller, asked, reference);
  const checked = rulesAskedAfterSearch(rules);
  const call: ExplainedCall = {
    ...place,
    types: [asked.type],
    rules: rules.map((rule) => explainRule(asked.type, rule, checked)),
    asked: query !== undefined,
  };
  if (query === undefined) return call;
  const warnings = [
    ...(reference === undefined ? broadWarnings(explaining.store.model, query) : []),
    ...openRangeWarnings(asked.criteria),
  ];
  return {
    ...call,
    ...(warnings.length === 0 ? {} : { warnings }),
    criteria: explainCriteria(query.criteria, origins),
    ...(query.sort === undefined ? {} : { sort: query.sort.map((key) => (key.descending ? '-' : '') + key.parameter) }),
    ...(hiddenSort.length === 0 ? {} : { hiddenSort }),
    page: {
      limit: query.limit,
      offset: query.offset ?? 0,
      total: query.total === true,
      cursor: query.after !== undefined || query.before !== undefined,
    },
    ...(await statementsOf(callOf(query, reference, target), explaining)),
  };
}

function callOf(query: SearchQuery, parameter: string | undefined, target: ReferenceTarget | undefined): StoreCall {
  if (parameter === undefined || target === undefined) return { kind: 'search', query };
  return { kind: 'search-by-reference', query, parameter, targets: [target] };
}

function readRules(type: string, { options }: Explaining): readonly ExplainedRule[] {
  const rules = decide(options.store.caller, type, 'read') ?? [];
  const checked = rulesAskedAfterRead(rules);
  return rules.map((rule) => explainRule(type, rule, checked));
}

function explainRule(type: string, rule: AccessRule, checked: readonly AccessRule[]): ExplainedRule {
  const { origin, criteria, hidden } = rule;
  return {
    type,
    origin: origin.text,
    criteria: describeCriteria(criteria),
    hidden,
    asksStore: checked.includes(rule),
  };
}

async function statementsOf(
  call: StoreCall,
  { store, call: options }: Explaining,
): Promise<Pick<ExplainedCall, 'statements'>> {
  if (store.explain === undefined) return {};
  return { statements: await store.explain(call, options) };
}

function placeOf({ edge, level, path }: PlacedEdge): Pick<ExplainedCall, 'level' | 'path' | 'location'> {
  return { level, path, location: edge.location };
}

/** Criteria as a tree with descriptions; parts added by access rules are in brackets. */
function explainCriteria(criteria: Criteria, origins: ReadonlyMap<Criteria, readonly AccessRule[]>): ExplainedCriteria {
  const rules = origins.get(criteria)?.map(({ origin }) => origin.text);
  const parts = childrenOf(criteria);
  const marked = outermost(criteria, origins);
  return {
    kind: criteria.kind,
    text: describeCriteria(criteria, (node, text) => {
      const bringing = marked.has(node) ? origins.get(node)! : [];
      return bringing.length === 0 ? text : `[${bringing.map(({ origin }) => origin.text).join('; ')}: ${text}]`;
    }),
    ...(parts.length === 0 ? {} : { of: parts.map((part) => explainCriteria(part, origins)) }),
    ...(rules === undefined ? {} : { rules }),
  };
}

/** Parts added by rules, without their own parts. */
function outermost(
  criteria: Criteria,
  origins: ReadonlyMap<Criteria, unknown>,
  found = new Set<Criteria>(),
): ReadonlySet<Criteria> {
  if (origins.has(criteria)) return found.add(criteria);
  for (const part of childrenOf(criteria)) outermost(part, origins, found);
  return found;
}
