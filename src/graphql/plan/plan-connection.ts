import type { SelectionSetNode } from '../graphql-js.js';
import { selectionSetsOf } from './collect-fields.js';
import { below, type Planning, type Scope } from './planning.js';
import type { ConnectionEdgeField, ConnectionField, ConnectionShape } from './plan.js';
import type { CursorPart } from '../../interactions/pages/page-window.js';

/** Plans the selection of an `XConnection`. See https://hl7.org/fhir/R4/graphql.html#paging. */
export function planConnection(
  type: string,
  sets: readonly SelectionSetNode[],
  scope: Scope,
  planning: Planning,
): ConnectionShape {
  const name = `${type}Connection`;
  const fields = Array.from(planning.collect(name, sets), ([key, nodes]): ConnectionField => {
    const part = nodes[0].name.value;
    if (part === '__typename') return { key, part: 'typename', value: name };
    if (part === 'edges') {
      return { key, part, fields: planEdges(type, selectionSetsOf(nodes), below(scope, key), planning) };
    }
    return { key, part: part === 'pageSize' ? 'pagesize' : (part as SimplePart) };
  });
  const cursors = fields.some(({ part }) => CURSOR_PARTS.has(part));
  return {
    kind: 'connection',
    fields,
    total: fields.some(({ part }) => part === 'count'),
    matches: cursors || fields.some(({ part }) => part === 'edges'),
    cursors,
  };
}

type SimplePart = 'count' | 'offset' | 'pagesize' | CursorPart;

const CURSOR_PARTS: ReadonlySet<string> = new Set<CursorPart>(['first', 'previous', 'next', 'last']);

function planEdges(
  type: string,
  sets: readonly SelectionSetNode[],
  scope: Scope,
  planning: Planning,
): ConnectionEdgeField[] {
  const name = `${type}ConnectionEdge`;
  return Array.from(planning.collect(name, sets), ([key, nodes]): ConnectionEdgeField => {
    const part = nodes[0].name.value;
    if (part === '__typename') return { key, part: 'typename', value: name };
    if (part !== 'resource') return { key, part: part as 'mode' | 'score' };
    return { key, part, selection: planning.select(type, selectionSetsOf(nodes), below(scope, key)) };
  });
}
