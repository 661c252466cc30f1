import { evaluate, type Variables } from './arguments.js';
import type { AnyTypeSelection, Edge, OperationPlan, PlannedField, SearchEdge, Selection, WriteField } from './plan.js';

/** What a store call costs, in resources. */
export const CALL_COST = 2;

/** What is taken for granted where neither query nor definitions tell how many there are. */
const ASSUMED = {
  /** Matches of a list at the root without `_count`. */
  list: 100,
  /** Matches of a reverse list without `_count`, per parent. */
  reverse: 10,
  /** Items of a repeating element. */
  items: 3,
} as const;

/**
 * What an operation will cost, told from its plan and variables before anything is asked of a store. The unit is one
 * resource fetched, with few fields.
 *
 * ```text
 * cost = sum over the store calls of the plan:  2 + resources x weight
 * resources = what the edges above it give x per parent:  _count, or 100 at the root and 10 in reverse lists;
 *             1 for a reference, read or write, x 3 for each repeating element on the way
 * weight    = 1 + fields of the resource / 20
 * ```
 *
 * Reads of one type at the root are one call. Further down every edge counts as a call of its own, although equal ones share
 * theirs.
 *
 * Fragments and aliases count as what they stand for, since the plan has opened them. Where a reference may lead to several
 * types the dearest of those that fragments name counts. As long as lists have `_count` and repeating elements no more
 * than three items, the query costs no more than this.
 */
export function estimateCost({ root }: OperationPlan, variables: Variables, isInstance: boolean): number {
  const estimate = new Estimate(variables);
  // A query about one instance reads it first.
  return isInstance ? CALL_COST + estimate.resources(root, 1) : estimate.below(root, 1);
}

/** What one resource of an edge costs: the more fields are taken from it, the more. Made once per selection. */
export function weightOf(selection: Selection): number {
  let weight = WEIGHTS.get(selection);
  if (weight === undefined) WEIGHTS.set(selection, (weight = 1 + countFields(selection) / 20));
  return weight;
}

const WEIGHTS = new WeakMap<Selection, number>();

/** What the resources of an edge are made to; of references the selection for their type. */
export function selectionOf(edge: Exclude<Edge, { kind: 'reference' }>): Selection | undefined {
  if (edge.kind === 'read') return edge.selection;
  if (edge.shape.kind === 'list') return edge.shape.selection;
  for (const field of edge.shape.fields) {
    if (field.part !== 'edges') continue;
    for (const part of field.fields) if (part.part === 'resource') return part.selection;
  }
  return undefined;
}

class Estimate {
  /** Types that are read at the root: all reads of one type share a call. */
  readonly #read = new Set<string>();

  constructor(private readonly variables: Variables) {}

  /** So many resources with all that hangs on them. */
  resources(selection: Selection | undefined, count: number): number {
    return selection === undefined ? count : count * weightOf(selection) + this.below(selection, count);
  }

  /** What hangs on so many objects. */
  below({ fields }: Selection, count: number): number {
    return fields.reduce((sum, field) => sum + this.#field(field, count), 0);
  }

  #field(field: PlannedField, parents: number): number {
    switch (field.kind) {
      case 'object':
        return this.below(field.selection, parents * this.#items(field));
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
      case 'reference':
        return CALL_COST + this.#dearest(field.selections, (selection) => this.resources(selection, parents), parents);
      default:
        return 0;
    }
  }

  #search(edge: SearchEdge, parents: number): number {
    const reverse = edge.reverse !== undefined;
    const count = evaluate(edge.count, this.variables);
    const each = typeof count === 'number' ? count : reverse ? ASSUMED.reverse : ASSUMED.list;
    if (edge.shape.kind === 'connection' && !edge.shape.matches) return 0;
    // A connection with cursors looks for one more.
    const more = edge.shape.kind === 'connection' && edge.shape.cursors && each > 0 ? 1 : 0;
    return this.resources(selectionOf(edge), parents * (each + more));
  }

  #items({ array, filter }: Pick<PlannedField & { kind: 'object' | 'inline-resource' }, 'array' | 'filter'>): number {
    if (!array) return 1;
    const count = evaluate(filter?.count, this.variables);
    return typeof count === 'number' ? Math.min(count, ASSUMED.items) : ASSUMED.items;
  }

  #dearest({ named }: AnyTypeSelection, cost: (selection: Selection) => number, otherwise = 0): number {
    return Object.values(named).reduce((dearest, selection) => Math.max(dearest, cost(selection)), otherwise);
  }
}

/** A write looks before it leaps where it patches, or is conditional. */
function callsOf({ interaction, args }: WriteField): number {
  return interaction === 'patch' || Object.hasOwn(args, 'ifNoneExist') ? 2 : 1;
}

/** Fields of one resource, those of its elements included, without what references and lists lead to. */
function countFields({ fields }: Selection): number {
  return fields.reduce((sum, field) => {
    switch (field.kind) {
      case 'object':
        return sum + 1 + countFields(field.selection);
      case 'choice':
        return (
          sum + Math.max(1, ...field.forms.map((form) => (form.kind === 'object' ? countFields(form.selection) : 1)))
        );
      default:
        return sum + 1;
    }
  }, 0);
}
