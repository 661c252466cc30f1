import { FhirError } from '../../fhir/error.js';
import { isResourceId, type AnyResource } from '../../fhir/resource.js';
import type { ReadResult, ReferenceTarget, SearchPage, StoredResource } from '../../store/store.js';
import { LimitError } from '../limits.js';
import { evaluateTexts } from '../plan/arguments.js';
import { selectionOf } from '../plan/estimate-cost.js';
import type { Edge, ReadEdge, SearchEdge } from '../plan/plan.js';
import { absence, call } from './call.js';
import { answerConnection, connectionPage } from './connection.js';
import { fillReferences } from './fill-references.js';
import { projectResource } from './project.js';
import { shapeItems } from './shape-items.js';
import type { Hole, Output, ReadHole, ReferenceHole, Run, SearchHole } from './run.js';
import { searchRequest, type SearchRequest } from './search-request.js';

/** Fills all holes of one edge with one store call. */
export async function fillEdge(edge: Edge, holes: readonly Hole[], run: Run): Promise<void> {
  try {
    switch (edge.kind) {
      case 'read':
        return await fillRead(edge, holes, run);
      case 'search':
        return await fillSearch(edge, holes as readonly SearchHole[], run);
      case 'reference':
        return await fillReferences(edge, holes as readonly ReferenceHole[], run);
    }
  } catch (error) {
    for (const { out } of holes) run.fail(out, edge, error);
  }
}

async function fillRead(edge: ReadEdge, holes: readonly ReadHole[], run: Run): Promise<void> {
  const { store, variables } = run.options;
  const { signal } = run.deadline;
  const [id] = evaluateTexts(edge.id, variables) ?? [];
  if (id === undefined) throw new FhirError('invalid', 'Argument "id" must be given');
  const result = isResourceId(id)
    ? await call(run, async () => (await store.read([{ type: edge.type, id }], { signal }))[0]!)
    : MISSING;
  for (const { out } of holes) {
    if (result.status === 'found') {
      run.spendRows(1, edge.selection);
      out[edge.key] = projectResource(edge.selection, result.resource, run);
    } else {
      run.fail(out, edge, absence(result, `${edge.type}/${id.slice(0, 64)}`));
    }
  }
}

async function fillSearch(edge: SearchEdge, holes: readonly SearchHole[], run: Run): Promise<void> {
  const { store } = run.options;
  const { signal } = run.deadline;
  const request = searchRequest(edge, run.options, run);
  if (request.reference === undefined) {
    const page = await call(run, () => store.search(request.query, { signal }));
    for (const { out } of holes) out[edge.key] = answerSearch(edge, { request, page, target: undefined }, out, run);
    return;
  }
  const targets = new Map<string, ReferenceTarget>();
  const pointed = holes.map(({ out, target = request.target }) => ({ out, target }));
  for (const { target } of pointed) if (target !== undefined) targets.set(`${target.type}/${target.id}`, target);
  const pages = new Map<string, SearchPage>();
  if (targets.size > 0) {
    const reference = request.reference;
    const found = await call(run, () =>
      store.searchByReference(request.query, reference, [...targets.values()], { signal }),
    );
    [...targets.keys()].forEach((key, index) => pages.set(key, found[index]!));
  }
  for (const { out, target } of pointed) {
    const page = target === undefined ? EMPTY : pages.get(`${target.type}/${target.id}`)!;
    try {
      out[edge.key] = answerSearch(edge, { request, page, target }, out, run);
    } catch (error) {
      run.fail(out, edge, error);
    }
  }
}

const MISSING: ReadResult = Object.freeze({ status: 'missing' });
const EMPTY: SearchPage = Object.freeze({ matches: Object.freeze([]), total: 0 });

/** What a search asked for and what the store gave. */
interface Found {
  readonly request: SearchRequest;
  readonly page: SearchPage;
  readonly target: ReferenceTarget | undefined;
}

function answerSearch(edge: SearchEdge, { request, page, target }: Found, out: Output, run: Run): unknown {
  const { listSize } = run.options.limits;
  if (request.count === undefined && page.matches.length > listSize) {
    throw new LimitError(
      'listSize',
      listSize,
      `${edge.key} has more than ${listSize} matches; narrow the search, or page with _count and _offset`,
    );
  }
  run.spendRows(page.matches.length, selectionOf(edge));
  if (edge.shape.kind === 'connection') {
    const part = connectionPage(request, target, page);
    return answerConnection(edge.shape, part, filtered(part.matches, request, run), run);
  }
  const { selection } = edge.shape;
  const resources = filtered(page.matches, request, run).map(({ resource }) => resource);
  const shaped = edge.shaping === undefined ? resources : shapeResources(edge, resources, out, run);
  return shaped.map((resource) => projectResource(selection, resource, run));
}

/** The matches for which the `fhirpath` argument is true. */
function filtered(matches: readonly StoredResource[], { keep }: SearchRequest, run: Run): readonly StoredResource[] {
  if (keep === undefined) return matches;
  return matches.filter(({ resource }) => keep(resource, run));
}

/** `@first` and `@slice` on a list of resources. */
function shapeResources(
  edge: SearchEdge,
  resources: readonly AnyResource[],
  out: Output,
  run: Run,
): readonly AnyResource[] {
  const [first] = resources;
  if (first === undefined) return resources;
  return shapeItems(edge, edge.type, resources, out, first, run) as readonly AnyResource[];
}
