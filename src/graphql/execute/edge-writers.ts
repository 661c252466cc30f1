import { FhirError } from '../../fhir/error.js';
import { elementsOf, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import type { HostEdge, ReferenceEdge, SearchEdge } from '../plan/plan.js';
import type { Output } from './holes.js';
import { resolvableCanonical, resolvableReference, type ResolvableReference } from './resolvable-reference.js';
import type { Run } from './run.js';

/** Writes one field of the response. */
export type Writer = (source: JsonObject, out: Output, container: AnyResource, run: Run) => void;

/** A reference leaves a hole for its resource. */
export function compileReference(edge: ReferenceEdge): Writer {
  return (source, out, container, run) => {
    const reference = edge.canonical
      ? resolvableCanonical(source)
      : resolvableReference(source, run.options.baseUrl, edge.targets);
    if (reference === undefined) {
      run.fail(out, edge, new FhirError('invalid', 'The reference is malformed; expected Type/id, #id or a URL'));
    } else if (reference === null) {
      out[edge.key] = null;
    } else {
      run.defer(edge, { out, reference: fromOutside(reference, run.foreign.get(container)), container });
    }
  };
}

/** A relative reference inside an external resource is relative to that resource's server, never to ours. */
function fromOutside(reference: ResolvableReference, url: string | undefined): ResolvableReference {
  if (url === undefined || reference.kind !== 'local') return reference;
  const base = url.replace(/\/[A-Za-z]+\/[^/]+(\/_history\/[^/]+)?$/, '');
  return { kind: 'foreign', url: `${base}/${reference.type}/${reference.id}` };
}

/** A reverse list leaves a hole for the resources that refer to this one. */
export function compileReverse(edge: SearchEdge): Writer {
  return (source, out, container, run) => {
    const { resourceType: type, id } = container;
    run.defer(edge, { out, target: id !== undefined && isStored(source, container, run) ? { type, id } : undefined });
  };
}

/** Contained and external resources have no identity here: nothing can reference them, whatever their id. */
function isStored(source: JsonObject, container: AnyResource, run: Run): boolean {
  return source === elementsOf(container) && container.id !== undefined && !run.foreign.has(container);
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
