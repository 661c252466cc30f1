import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { print, type OperationDefinitionNode, type SelectionSetNode } from '../graphql-js.js';
import { tooDeep, tooManyFields, type Limits } from '../limits.js';
import { MUTATION } from '../schema/fields.js';
import { collectFields, typesNamedIn, type DocumentParts } from './collect-fields.js';
import { planField, type FieldNodes, type Planning, type Scope } from './plan-field.js';
import type { AnyTypeSelection, OperationPlan, Selection } from './plan.js';
import { hasShapedField } from './shaping.js';

/**
 * Compiles a validated operation.
 *
 * @param root the type of the outermost selection: `Query`, `Mutation`, `Subscriptions`, or the type of the instance the query is
 * executed on
 * @throws LimitError `fields`, `depth` - fragments can expand a small document to a huge one
 */
export function planOperation(
  operation: OperationDefinitionNode,
  root: string,
  parts: DocumentParts,
  limits: Limits,
): OperationPlan {
  const variables = operation.variableDefinitions?.map(({ variable }) => variable.name.value) ?? [];
  const planner = new Planner(parts, limits, variables, 0);
  const selection = planner.select(root, [operation.selectionSet], { depth: 1, path: '', targets: undefined });
  if (root === MUTATION) assertAlone(selection);
  const shaped = !parts.merge || hasShapedField(operation.selectionSet, parts.fragments);
  return freezePlan({ root: selection, shaped, depth: planner.depth, size: planner.size });
}

/**
 * A field of the host that writes outside of the store cannot be undone together with a commit, and cannot follow
 * another such field.
 *
 * @throws FhirError `invalid`
 */
function assertAlone({ fields }: Selection): void {
  const alone = fields.find((field) => field.kind === 'host');
  const others = fields.filter((field) => field.kind !== 'typename');
  if (alone === undefined || others.length === 1) return;
  throw new FhirError('invalid', `Field "${alone.field.name}" must be the only field of its mutation`);
}

/** A selection that was planned after its operation, for a type first found in the data. */
export interface LateSelection {
  readonly selection: Selection;
  /** Number of selections it opened. */
  readonly size: number;
}

/**
 * Compiles the selection on a type not named by any fragment.
 *
 * @param opened number of selections opened so far, which counts against the limit
 * @throws LimitError `fields`, `depth`
 */
export function planLateSelection(
  place: AnyTypeSelection,
  type: string,
  parts: DocumentParts,
  limits: Limits,
  opened: number,
): LateSelection {
  const planner = new Planner(parts, limits, [], opened);
  const selection = planner.select(type, place.sets, scopeFor(place, type));
  return freezePlan({ selection, size: planner.size - opened });
}

class Planner implements Planning {
  readonly model: FhirModel;
  depth = 0;

  constructor(
    private readonly parts: DocumentParts,
    private readonly limits: Limits,
    readonly variables: readonly string[],
    public size: number,
  ) {
    this.model = parts.model;
  }

  printFragments(): readonly string[] {
    return [...this.parts.fragments.values()].map(print);
  }

  select(type: string, sets: readonly SelectionSetNode[], scope: Scope): Selection {
    if (scope.depth > this.limits.depth) throw tooDeep(this.limits);
    this.depth = Math.max(this.depth, scope.depth);
    const fields = Array.from(this.collect(type, sets), ([key, nodes]) => planField(type, key, nodes, scope, this));
    return { type, fields };
  }

  selectAnyType(sets: readonly SelectionSetNode[], { depth, path }: Scope): AnyTypeSelection {
    const types = [...typesNamedIn(sets, this.parts)];
    const named = types.map((type) => [type, this.select(type, sets, scopeFor({ depth, path }, type))] as const);
    return { path, depth, named: Object.fromEntries(named), sets };
  }

  collect(type: string, sets: readonly SelectionSetNode[]): ReadonlyMap<string, FieldNodes> {
    return collectFields(type, sets, this.parts, () => {
      this.size += 1;
      if (this.size > this.limits.fields) throw tooManyFields(this.limits);
    });
  }
}

function scopeFor({ depth, path }: Pick<AnyTypeSelection, 'depth' | 'path'>, type: string): Scope {
  return { depth, path: `${path}(${type})`, targets: undefined };
}

/** Freezes a plan and its own objects, but not document nodes and element definitions. */
function freezePlan<Plan extends object>(plan: Plan): Plan {
  const open: object[] = [plan];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    Object.freeze(one);
    // PERF: `Object.entries` makes an array for each of thousands of members.
    for (const name in one) {
      const inner = (one as { readonly [name: string]: unknown })[name];
      if (typeof inner === 'object' && inner !== null && !FOREIGN.has(name) && !Object.isFrozen(inner))
        open.push(inner);
    }
  }
  return plan;
}

const FOREIGN: ReadonlySet<string> = new Set(['element', 'nodes', 'sets', 'targets', 'field']);
