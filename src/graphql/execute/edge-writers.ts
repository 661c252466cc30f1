import type { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import { elementsOf, type JsonObject } from '../../fhir/resource.js';
import type { HostEdge, ReferenceEdge, SearchEdge } from '../plan/plan.js';
import type { Output, Run } from './run.js';
import { resolvableCanonical, resolvableReference } from './resolvable-reference.js';

/** Writes one field of the response. */
export type Writer = (source: JsonObject, out: Output, container: Container, run: Run) => void;

/** A reference leaves a hole for its resource. */
export function compileReference(edge: ReferenceEdge): Writer {
  return (source, out, container, run) => {
    const reference = edge.canonical
      ? resolvableCanonical(source, container)
      : resolvableReference(source, container, run.options.baseUrl, edge.targets);
    if (reference === undefined) {
      run.fail(out, edge, new FhirError('invalid', 'The reference is malformed; expected Type/id, #id or a URL'));
    } else if (reference === null) {
      out[edge.key] = null;
    } else {
      run.defer(edge, { out, reference });
    }
  };
}

/** A reverse list leaves a hole for the resources that refer to this one. */
export function compileReverse(edge: SearchEdge): Writer {
  return (source, out, container, run) => {
    const { resourceType: type, id } = container.root;
    run.defer(edge, { out, target: id !== undefined && isStored(source, container, run) ? { type, id } : undefined });
  };
}

/**
 * Resources inside others and external resources have no identity here: nothing can reference them, whatever their id.
 */
function isStored(source: JsonObject, { root }: Container, run: Run): boolean {
  return source === elementsOf(root) && root.id !== undefined && !run.foreign.has(root);
}

/**
 * A field of the host. Resolvers never receive contained and external resources, because they would confuse them with
 * stored resources of the same id; the field is null.
 */
export function compileHostField(edge: HostEdge): Writer {
  const { on, type } = edge.field;
  return (source, out, container, run) => {
    if (on !== 'resource' || isStored(source, container, run)) {
      run.defer(edge, { out, parent: source, container });
    } else if (type.kind === 'required') {
      run.require(out, edge.key);
      run.fail(out, edge, new FhirError('unprocessable', 'Contained and external resources do not have this field'));
    } else {
      out[edge.key] = null;
    }
  };
}
