import { FhirError } from '../../../fhir/error.js';
import { referenceTo } from '../../../fhir/reference.js';
import type { ReferenceTarget } from '../../../store/resource-key.js';
import type { ReadResult } from '../../../store/stored-resource.js';
import type { Edge, HostReferenceEdge } from '../../plan/plan.js';
import { call, type HostReferenceHole, type Output, type Run, type Waiting } from '../run.js';
import { projectResource } from '../project.js';

/**
 * Fills the resources that values of the host name, with one read for all. They are read as the caller sees them: an
 * invisible resource is null, or is left out of its list, as if it did not exist.
 */
export async function fillHostReferences(
  waiting: readonly Waiting<HostReferenceEdge, HostReferenceHole>[],
  run: Run,
): Promise<void> {
  const results = await readAll(waiting, run);
  for (const { edge, holes } of waiting) {
    for (const hole of holes) {
      try {
        if (run.isLookDue && run.pace.isSpent) await run.pace.next();
        if (hole.link instanceof FhirError) throw hole.link;
        const result = hole.link === undefined ? MISSING : results.get(nameOf(hole.link))!;
        fill(hole, edge, result, run);
      } catch (error) {
        failHostReference(hole, edge, error, run);
      }
    }
  }
}

/** Fails one place, which an item of a list gets now. */
export function failHostReference(hole: HostReferenceHole, { location }: Edge, error: unknown, run: Run): void {
  run.fail(hole.out, { key: hole.key ?? String(itemsOf(hole.out).length), location }, error);
}

function fill(hole: HostReferenceHole, edge: HostReferenceEdge, result: ReadResult, run: Run): void {
  const { out, key, keepsAbsent } = hole;
  if (result.status !== 'found') {
    if (key === undefined) {
      if (keepsAbsent) itemsOf(out).push(null);
    } else if (run.required.has(out, key)) {
      // The message omits the id, which comes from the host: the caller may not be allowed to see it.
      throw new FhirError('not-found', `The ${edge.type ?? 'resource'} of this field was not found`);
    }
    return;
  }
  const { resource } = result;
  const selection = edge.selection ?? run.options.selections.forType(edge.selections!, resource.resourceType);
  run.spendRows(1, selection);
  const projected = projectResource(selection, resource, run);
  if (key === undefined) itemsOf(out).push(projected);
  else out[key] = projected;
}

async function readAll(
  waiting: readonly Waiting<HostReferenceEdge, HostReferenceHole>[],
  run: Run,
): Promise<ReadonlyMap<string, ReadResult>> {
  const links = new Map<string, ReferenceTarget>();
  for (const { holes } of waiting) {
    for (const { link } of holes) {
      if (link !== undefined && !(link instanceof FhirError)) links.set(nameOf(link), link);
    }
  }
  if (links.size === 0) return new Map();
  const found = await call(run, () => run.options.store.read([...links.values()], run.deadline.options));
  return new Map(Array.from(links.keys(), (name, index) => [name, found[index]!]));
}

function nameOf({ type, id }: ReferenceTarget): string {
  return referenceTo(type, id);
}

/** A list of the response, as a place that awaits resources. */
function itemsOf(out: Output): unknown[] {
  return out as unknown as unknown[];
}

const MISSING: ReadResult = Object.freeze({ status: 'missing' });
