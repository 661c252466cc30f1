import { LimitError } from '../limits.js';
import { evaluateSingle, type Variables } from '../plan/arguments.js';
import { responseKey } from '../plan/collect-fields.js';
import type { AnyTypeSelection, Edge, HostValuePlan, ReferenceEdge, Selection } from '../plan/plan.js';
import type { TypedSelections } from '../plan/plan-cache.js';

/** An edge of a plan with its position. */
export interface PlacedEdge {
  readonly edge: Edge;
  readonly level: number;
  readonly path: string;
  /** The type of the parent resource; `Query` at the root. */
  readonly parent: string;
}

/** The root edges, in the order of the response. */
export function edgesAtRoot(root: Selection, selections: TypedSelections): readonly PlacedEdge[] {
  return edgesOf(root, selections, { path: '', level: 1, parent: root.type });
}

/** The edges below an edge. */
export function edgesBelow(
  { edge, level, path }: PlacedEdge,
  variables: Variables,
  selections: TypedSelections,
): readonly PlacedEdge[] {
  const place = { path, level: level + 1, parent: 'type' in edge && typeof edge.type === 'string' ? edge.type : '' };
  switch (edge.kind) {
    case 'read':
      return edgesOf(edge.selection, selections, place);
    case 'search': {
      const { shape } = edge;
      if (shape.kind === 'list') return edgesOf(shape.selection, selections, place);
      return shape.fields.flatMap((field) => {
        if (field.part !== 'edges') return [];
        return field.fields.flatMap((part) => {
          if (part.part !== 'resource') return [];
          return edgesOf(part.selection, selections, { ...place, path: joined(joined(path, field.key), part.key) });
        });
      });
    }
    case 'host':
      return edgesOfValue(edge.value, selections, { ...place, parent: parentType(edge.value) });
    case 'host-reference': {
      if (edge.selection !== undefined) return edgesOf(edge.selection, selections, place);
      return Object.entries(edge.selections?.named ?? {}).flatMap(([type, inner]) =>
        edgesOf(inner, selections, { path: `${path}(${type})`, level: level + 1, parent: type }),
      );
    }
    case 'reference': {
      const types = selectedTypes(edge.selections, typesOf(edge, variables));
      return types.flatMap((type) => {
        const named = types.length === 1 ? path : `${path}(${type})`;
        return edgesOf(selectionFor(edge.selections, type, selections), selections, {
          path: named,
          level: level + 1,
          parent: type,
        });
      });
    }
  }
}

/** The possible target types of a reference; empty for any. */
export function typesOf(edge: ReferenceEdge, variables: Variables): readonly string[] {
  const type = evaluateSingle('type', edge.type, variables);
  return typeof type === 'string' ? [type] : (edge.targets ?? []);
}

/** Maximum number of target types explained per reference without type fragments. */
const MAX_TYPES = 10;

/** The types of resources behind a reference that a selection is walked for. */
export function selectedTypes(place: AnyTypeSelection, possible: readonly string[]): readonly string[] {
  const named = Object.keys(place.named);
  if (possible.length > 0 && possible.length <= MAX_TYPES) return possible;
  return possible.length === 0 ? named : named.filter((type) => possible.includes(type));
}

/** The selection for one type; empty if the plan has reached its limit. */
export function selectionFor(place: AnyTypeSelection, type: string, selections: TypedSelections): Selection {
  try {
    return selections.forType(place, type);
  } catch (error) {
    if (error instanceof LimitError) return { type, fields: [] };
    throw error;
  }
}

type EdgeScope = Omit<PlacedEdge, 'edge'> & { readonly contained?: true };

/** The edges inside one resource, in the order of the response. */
function edgesOf(selection: Selection, selections: TypedSelections, place: EdgeScope): PlacedEdge[] {
  const { path, level, parent } = place;
  return selection.fields.flatMap((field): PlacedEdge[] => {
    const here = joined(path, field.key);
    switch (field.kind) {
      case 'search':
        // Contained resources have no reverse references.
        return place.contained === true ? [] : [{ edge: field, level, path: here, parent }];
      case 'read':
      case 'reference':
        return [{ edge: field, level, path: here, parent }];
      case 'changes':
        return [{ edge: field.search, level, path: here, parent }];
      case 'host':
        // Contained resources are not given to resolvers.
        if (place.contained === true && field.field.on === 'resource') return [];
        return [{ edge: field, level, path: here, parent }];
      case 'host-property':
        return edgesOfValue(field.value, selections, { ...place, path: here });
      case 'object':
        return edgesOf(field.selection, selections, { ...place, path: here });
      case 'extension':
        return field.field.kind === 'object'
          ? edgesOf(field.field.selection, selections, { ...place, path: here })
          : [];
      case 'choice':
        return field.forms.flatMap((form) =>
          form.kind === 'object' ? edgesOf(form.selection, selections, { ...place, path: here }) : [],
        );
      case 'inline-resource':
        return Object.entries(field.selections.named).flatMap(([type, inner]) =>
          edgesOf(inner, selections, {
            path: `${here}(${type})`,
            level,
            parent: type,
            contained: true,
          }),
        );
      default:
        return [];
    }
  });
}

/** The edges inside a value of the host; its own resources are an edge of the level. */
function edgesOfValue(value: HostValuePlan, selections: TypedSelections, place: EdgeScope): PlacedEdge[] {
  const { path, level, parent } = place;
  if (value.kind === 'object') return edgesOf(value.selection, selections, place);
  return value.kind === 'resource' ? [{ edge: value.edge, level, path, parent }] : [];
}

function parentType(value: HostValuePlan): string {
  return value.kind === 'object' ? value.selection.type : '';
}

function joined(path: string, key: string): string {
  return path === '' ? responseKey(key) : `${path}.${responseKey(key)}`;
}
