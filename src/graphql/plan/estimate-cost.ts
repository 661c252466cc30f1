import { evaluate, type Variables } from './arguments.js';
import type {
  AnyTypeSelection,
  HostValuePlan,
  OperationPlan,
  PlannedField,
  ReadEdge,
  SearchEdge,
  Selection,
  WriteField,
} from './plan.js';
import { oncePer } from '../../platform/collections.js';

/** The cost of a store call, in resources. */
export const CALL_COST = 2;

/** The cost of the search for one parent of a reverse list, in resources, even if it finds nothing. */
export const LOOKUP_COST = 0.1;

/** Assumed numbers, if neither the query nor the definitions give one. */
const ASSUMED = {
  /** Matches of a list at the root without `_count`. */
  list: 100,
  /** Matches of a reverse list without `_count`, per parent. */
  reverse: 10,
  /** Items of a repeating element. */
  items: 3,
} as const;

/**
 * Estimates the cost of an operation from its plan and variables, before the first store call. The unit is one resource
 * fetched, with few fields. Queries are not refused by it, because only the data decides how long lists without `_count`
 * are; see {@link leastCost}.
 *
 * ```text
 * cost = sum over the store calls of the plan:  2 + parents / 10 (reverse lists) + resources x weight
 * resources = what the edges above it give x per parent:  _count, or 100 at the root and 10 in reverse lists;
 *             1 for a reference, read or write, x 3 for each repeating element on the way
 * weight    = 1 + fields of the resource / 20
 * fields of the host:  2 + parents x cost, and the selections of their values, x 10 for lists
 * ```
 *
 * Reads of one type at the root are one call. Below the root every edge counts as one call, although equal edges share
 * one.
 *
 * Fragments and aliases count expanded, as in the plan. A reference with several target types counts with the most
 * expensive selection. As long as lists have `_count` and repeating elements no more than three items, the query costs
 * no more than this.
 */
export function estimateCost({ root }: OperationPlan, variables: Variables, isInstance: boolean): number {
  const estimate = new Estimate(variables);
  // A query on one instance reads it first.
  return isInstance ? CALL_COST + estimate.resources(root, 1) : estimate.below(root, 1);
}

/** The cost of an operation over an empty store: the store calls that it makes for any data. */
export function leastCost({ root }: OperationPlan, isInstance: boolean): number {
  if (isInstance) return CALL_COST;
  const typesRead = new Set<string>();
  let calls = 0;
  let ofHost = 0;
  for (const field of root.fields) {
    if (field.kind === 'search') calls += 1;
    else if (field.kind === 'host') ofHost += CALL_COST + field.field.cost;
    else if (field.kind === 'read') typesRead.add(field.type);
  }
  return CALL_COST * (calls + typesRead.size) + ofHost;
}

/** The cost of one resource of an edge, growing with the number of selected fields. Computed once per selection. */
export const weightOf: (selection: Selection) => number = oncePer((selection) => 1 + countFields(selection) / 20);

/** The selection on the resources of an edge; for references, the selection for the type. */
export function selectionOf(edge: ReadEdge | SearchEdge): Selection | undefined {
  if (edge.kind === 'read') return edge.selection;
  if (edge.shape.kind === 'list') return edge.shape.selection;
  for (const field of edge.shape.fields) {
    if (field.part !== 'edges') continue;
    for (const part of field.fields) if (part.part === 'resource') return part.selection;
  }
  return undefined;
}

class Estimate {
  /** Types read at the root: all reads of one type share a call. */
  readonly #read = new Set<string>();

  constructor(private readonly variables: Variables) {}

  /** The cost of resources and everything below them. */
  resources(selection: Selection | undefined, count: number): number {
    return selection === undefined ? count : count * weightOf(selection) + this.below(selection, count);
  }

  /** The cost of everything below objects. */
  below({ fields }: Selection, count: number): number {
    return fields.reduce((sum, field) => sum + this.#field(field, count), 0);
  }

  #field(field: PlannedField, parents: number): number {
    switch (field.kind) {
      case 'object':
        return this.below(field.selection, parents * this.#items(field));
      case 'extension':
        return this.#field(field.field, parents);
      case 'choice':
        return Math.max(0, ...field.forms.map((form) => this.#field(form, parents)));
      case 'inline-resource':
        return this.#dearest(field.selections, (selection) => this.below(selection, parents * this.#items(field)));
      case 'write':
        return CALL_COST * callsOf(field) + this.resources(field.selection, parents);
      case 'read': {
        const call = this.#read.has(field.type) ? 0 : CALL_COST;
        this.#read.add(field.type);
        return call + this.resources(field.selection, parents);
      }
      case 'search':
        return CALL_COST + this.#search(field, parents);
      case 'changes':
        // Of an event: its resource comes with it.
        return this.resources(field.search.shape.selection, 1);
      case 'host':
      case 'host-write':
        return CALL_COST + parents * field.field.cost + this.#hostValue(field.value, parents, field.array);
      case 'host-property':
        return this.#hostValue(field.value, parents, field.array);
      case 'reference':
        return CALL_COST + this.#dearest(field.selections, (selection) => this.resources(selection, parents), parents);
      default:
        return 0;
    }
  }

  #hostValue(value: HostValuePlan, parents: number, array: boolean): number {
    const count = parents * (array ? ASSUMED.reverse : 1);
    if (value.kind === 'leaf') return 0;
    if (value.kind === 'object') return this.below(value.selection, count);
    const { selection, selections } = value.edge;
    if (selections === undefined) return CALL_COST + this.resources(selection, count);
    return CALL_COST + this.#dearest(selections, (one) => this.resources(one, count), count);
  }

  #search(edge: SearchEdge, parents: number): number {
    const reverse = edge.reverse !== undefined;
    const count = evaluate(edge.controls._count, this.variables);
    const each = typeof count === 'number' ? count : reverse ? ASSUMED.reverse : ASSUMED.list;
    const lookups = reverse ? parents * LOOKUP_COST : 0;
    if (edge.shape.kind === 'connection' && !edge.shape.matches) return lookups;
    // A connection with cursors reads one extra match.
    const more = edge.shape.kind === 'connection' && edge.shape.cursors && each > 0 ? 1 : 0;
    return lookups + this.resources(selectionOf(edge), parents * (each + more));
  }

  #items({ array, filter }: Pick<PlannedField & { kind: 'object' | 'inline-resource' }, 'array' | 'filter'>): number {
    if (!array) return 1;
    const count = evaluate(filter?.controls._count, this.variables);
    return typeof count === 'number' ? Math.min(count, ASSUMED.items) : ASSUMED.items;
  }

  #dearest({ named }: AnyTypeSelection, cost: (selection: Selection) => number, otherwise = 0): number {
    return Object.values(named).reduce((dearest, selection) => Math.max(dearest, cost(selection)), otherwise);
  }
}

/** Patches and conditional writes read first. */
function callsOf({ interaction, args }: WriteField): number {
  return interaction === 'patch' || Object.hasOwn(args, 'ifNoneExist') ? 2 : 1;
}

/** Includes fields of elements, but not those below references and lists. */
function countFields({ fields }: Selection): number {
  return fields.reduce((sum, field) => {
    switch (field.kind) {
      case 'object':
        return sum + 1 + countFields(field.selection);
      case 'extension':
        return sum + 1 + (field.field.kind === 'object' ? countFields(field.field.selection) : 0);
      case 'choice':
        return (
          sum + Math.max(1, ...field.forms.map((form) => (form.kind === 'object' ? countFields(form.selection) : 1)))
        );
      default:
        return sum + 1;
    }
  }, 0);
}
