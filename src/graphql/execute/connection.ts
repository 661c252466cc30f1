import { endOf } from '../../search/evaluate/sort.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { StoredResource } from '../../store/stored-resource.js';
import type { ConnectionEdgeField, ConnectionShape } from '../plan/plan.js';
import { encodeCursor } from './cursor.js';
import { positionAt } from '../../interactions/pages/cursor-text.js';
import { type CursorPart, neighbourOf, type WindowedPage } from '../../interactions/pages/page-window.js';
import { projectItems } from './fill-list.js';
import { projectResource } from './project.js';
import type { Output } from './holes.js';
import type { Run } from './run.js';
import type { SearchRequest } from './search-request.js';

/** One page of a connection and its search. */
export interface ConnectionPage extends WindowedPage<StoredResource> {
  readonly request: SearchRequest;
  /** The target of a reverse connection; undefined at the root. */
  readonly target: ReferenceTarget | undefined;
}

/**
 * The fields of a connection. See https://hl7.org/fhir/R4/graphql.html#paging.
 *
 * @param kept the matches of the page that pass the `fhirpath` argument
 */
export async function answerConnection(
  shape: ConnectionShape,
  page: ConnectionPage,
  kept: readonly StoredResource[],
  run: Run,
): Promise<Output> {
  const { window, total } = page;
  const { type } = page.request.query;
  const out: Output = {};
  for (const field of shape.fields) {
    switch (field.part) {
      case 'typename':
        out[field.key] = field.value;
        break;
      case 'edges':
        if (!field.fields.some(({ part }) => part === 'resource')) run.options.trace?.count(type, kept.length);
        out[field.key] = await projectItems(kept, (match) => answerEdge(field.fields, match, run), run);
        break;
      case 'count':
        if (total !== undefined) run.options.trace?.count(type, total);
        out[field.key] = total ?? null;
        break;
      case 'offset':
        out[field.key] = window.offset;
        break;
      case 'pagesize':
        out[field.key] = window.count ?? defaultPageSize(run);
        break;
      default:
        out[field.key] = cursorTo(field.part, page, run);
    }
  }
  return out;
}

/**
 * Without `_count` all matches are one page. Dialect `hl7` returns the maximum page size, since its pagesize is not
 * nullable.
 */
function defaultPageSize({ options: { dialect, limits } }: Run): number | null {
  return dialect === 'hl7' ? limits.listSize : null;
}

function answerEdge(fields: readonly ConnectionEdgeField[], match: StoredResource, run: Run): Output {
  const out: Output = {};
  for (const field of fields) {
    if (field.part === 'typename') out[field.key] = field.value;
    else if (field.part === 'resource') out[field.key] = projectResource(field.selection, match.resource, run);
    else out[field.key] = field.part === 'mode' ? 'match' : null;
  }
  return out;
}

/** The cursor of another page; null if no such page exists. */
function cursorTo(part: CursorPart, page: ConnectionPage, { options: { store } }: Run): string | null {
  const { request, target } = page;
  const { type, sort } = request.query;
  const bounds = neighbourOf(part, page, {
    position: (match) => positionAt(store.model, match, sort, request.baseUrl),
    end: endOf(sort),
  });
  return bounds === undefined ? null : encodeCursor({ type, search: request.search, target, bounds }, store.caller);
}
