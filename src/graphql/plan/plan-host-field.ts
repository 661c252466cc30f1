import type { SelectionSetNode } from '../graphql-js.js';
import { RESOURCE, type FieldDescriptor } from '../schema/fields.js';
import { hostOf } from '../schema/host/service-model.js';
import { isList, namedTypeOf } from '../schema/host/type-reference.js';
import type { Argument } from './arguments.js';
import type { HostValuePlan, PlannedField } from './plan.js';
import type { Planning, Scope } from './planning.js';

type Base = Pick<PlannedField, 'key' | 'location' | 'shaping'>;

/** Plans a field of the host: an edge of the plan, or a property of an object that a resolver returned. */
export function planHostField(
  { field }: FieldDescriptor & { kind: 'host' },
  base: Base,
  sets: readonly SelectionSetNode[],
  args: ReadonlyMap<string, Argument>,
  inner: Scope,
  planning: Planning,
): PlannedField {
  const name = namedTypeOf(field.type);
  // Selected for another possible type: its field has sub-selections or none.
  if (isLeaf(name, planning) !== (sets.length === 0)) return { kind: 'absent', ...base };
  const value = planValue(name, base, sets, inner, planning);
  const planned = { ...base, field, array: isList(field.type), value };
  if (field.source === 'property') return { kind: 'host-property', ...planned };
  return { kind: field.source === 'writes' ? 'host-write' : 'host', ...planned, args: Object.fromEntries(args) };
}

function isLeaf(name: string, { model }: Planning): boolean {
  const added = hostOf(model)?.types.get(name);
  return added === undefined ? name !== RESOURCE && model.typeDefinition(name) === undefined : added.kind !== 'object';
}

function planValue(
  name: string,
  base: Base,
  sets: readonly SelectionSetNode[],
  inner: Scope,
  planning: Planning,
): HostValuePlan {
  const { model } = planning;
  const added = hostOf(model)?.types.get(name);
  if (added?.kind === 'enum') return { kind: 'leaf', type: name, codes: added.values.map((value) => value.name) };
  if (isLeaf(name, planning)) return { kind: 'leaf', type: name, codes: undefined };
  if (name === RESOURCE) {
    const edge = {
      kind: 'host-reference',
      ...base,
      shaping: undefined,
      type: undefined,
      selection: undefined,
    } as const;
    return { kind: 'resource', edge: { ...edge, selections: planning.selectAnyType(sets, inner) } };
  }
  const selection = planning.select(name, sets, { ...inner, targets: undefined });
  if (model.isResourceType(name)) {
    const edge = { kind: 'host-reference', ...base, shaping: undefined, type: name } as const;
    return { kind: 'resource', edge: { ...edge, selection, selections: undefined } };
  }
  return { kind: 'object', selection };
}
