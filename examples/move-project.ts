import { type AnyResource, importNdjson, type NdjsonResult, type ResourceStore, serverCaller } from 'fhirgraph';
import type { SearchPosition } from 'fhirgraph/store';
import { SERVER_SCOPE, type SearchQuery } from 'fhirgraph/store';

/**
 * Copies what a project holds now from one store to another, whatever they are, with the Project itself and the Users that
 * are members of it, which is why it needs serverCaller. Ids are kept; version numbers start again. It can be run again: what is there already and the same is left
 * alone.
 *
 * @param types the resource types to copy, beside Project and User
 */
export function moveProject(
  from: ResourceStore,
  to: ResourceStore,
  project: string,
  types: readonly string[],
): Promise<NdjsonResult> {
  return importNdjson(linesOf(from, project, types), { store: to, caller: serverCaller(project) });
}

async function* linesOf(from: ResourceStore, project: string, types: readonly string[]): AsyncGenerator<string> {
  const users = new Set<string>();
  for (const type of types) {
    for await (const resource of all(from, { project, type, criteria: { kind: 'all' } })) {
      if (type === 'ProjectMembership') users.add(userOf(resource));
      yield `${JSON.stringify(resource)}\n`;
    }
  }
  for (const [type, ids] of [
    ['Project', [project]],
    ['User', [...users]],
  ] as const) {
    for await (const resource of all(from, { project: SERVER_SCOPE, type, criteria: { kind: 'id', ids } })) {
      yield `${JSON.stringify(resource)}\n`;
    }
  }
}

/** All matches, page by page: none twice and none left out, whatever is written meanwhile. */
async function* all(from: ResourceStore, query: SearchQuery): AsyncGenerator<AnyResource> {
  let after: SearchPosition | undefined;
  do {
    const { matches } = await from.search({ ...query, limit: PAGE, after });
    for (const { resource } of matches) yield resource;
    const last = matches.at(-1)?.resource.id;
    after = last === undefined ? undefined : { values: [], id: last };
  } while (after !== undefined);
}

const PAGE = 500;

/** The id of a member's User; programs are their own users, and move as what they are. */
function userOf(membership: AnyResource): string {
  const { user } = membership as unknown as { user: { reference: string } };
  return user.reference.replace(/^User\//, '');
}
