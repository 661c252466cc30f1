import { evaluate, evaluateJson, evaluateTexts, type Argument, type Variables } from '../plan/arguments.js';
import type { Edge, HostEdge, ReadEdge, SearchEdge } from '../plan/plan.js';

import { fieldName } from '../schema/host/host-schema.js';

/**
 * The key of an edge's store call, without the resources requested. Edges of one level with the same question share one
 * call, such as the hundreds of aliases `_v1: Patient(id: …)` that gateways send.
 *
 * | edge | same question |
 * |---|---|
 * | read | same type |
 * | reference | same kind, possible targets and `type:` |
 * | reverse search | same search, page and shape |
 * | field of the host | same field and arguments |
 * | resources that values of the host name | all |
 *
 * @returns undefined for edges that cannot share a call: a search at the root, and a read without a single id
 */
export function questionOf(edge: Edge, variables: Variables): string | undefined {
  switch (edge.kind) {
    case 'read':
      return hasId(edge, variables) ? `read ${edge.type}` : undefined;
    case 'reference':
      return JSON.stringify(['reference', edge.canonical, edge.targets, evaluate(edge.type, variables)]);
    case 'host':
      return hostQuestion(edge, variables);
    case 'host-reference':
      return 'host-reference';
    case 'search':
      return edge.reverse === undefined ? undefined : reverseQuestion(edge, variables);
  }
}

function hostQuestion({ field, args }: HostEdge, variables: Variables): string {
  const values = field.args.map(({ name, defaultValue }) => {
    const given = evaluateJson(Object.hasOwn(args, name) ? args[name] : undefined, variables);
    const value = given === undefined ? defaultValue : given;
    return value === undefined ? [] : [value];
  });
  return JSON.stringify(['host', fieldName(field), values]);
}

function hasId({ id }: ReadEdge, variables: Variables): boolean {
  return evaluateTexts(id, variables)?.length === 1;
}

function reverseQuestion(edge: SearchEdge, variables: Variables): string {
  const valueOf = (argument: Argument | undefined): unknown => [
    evaluateTexts(argument, variables),
    evaluate(argument, variables),
  ];
  const { type, parameters, reverse, filter, sort, count, offset, fhirpath, cursors, shape } = edge;
  const { kind, total, matches, cursors: paged } = shape.kind === 'connection' ? shape : LIST;
  return JSON.stringify([
    type,
    [kind, total, matches, paged],
    [reverse, filter, sort, count, offset, fhirpath, ...cursors].map(valueOf),
    parameters.map(({ code, values }) => [code, valueOf(values)]),
  ]);
}

const LIST = { kind: 'list', total: false, matches: true, cursors: false } as const;
