import { FhirError } from '../../fhir/error.js';
import { elementsOf, isJsonObject, type AnyResource } from '../../fhir/resource.js';
import { referenceText, splitReference } from '../../fhir/reference.js';
import { refersTo } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import { everyMatch } from '../../store/every-page.js';
import type { ResourceStore } from '../../store/store.js';
import type { TerminologyContext } from '../../store/terminology.js';

/** Most resources that one search of a terminology finds. */
export const MAX_FOUND = 100;

/**
 * The searches of a terminology for an access policy. They find what trusted code or an administrator of the project
 * wrote: a policy must not be decided by a resource that its subject can write, or another member for it.
 *
 * @param subject the profile of the member that the policy binds; what it wrote never counts
 * @param ignored receives the references of resources that do not count
 */
export function searchForPolicy(
  store: ResourceStore,
  project: string,
  subject: string | undefined,
  ignored: Set<string>,
  call: CallOptions | undefined,
): TerminologyContext['search'] {
  const administrators = new Map<string, Promise<boolean>>();
  const counts = async (resource: AnyResource): Promise<boolean> => {
    const author = authorOf(resource);
    if (author === undefined) return true;
    if (author === subject) return false;
    let known = administrators.get(author);
    if (known === undefined) administrators.set(author, (known = isAdministrator(store, project, author, call)));
    return known;
  };
  return async (type, criteria): Promise<readonly AnyResource[]> => {
    const found: AnyResource[] = [];
    let read = 0;
    const query = { project, type, criteria };
    for await (const { resource } of everyMatch(MAX_FOUND, (page, budget) =>
      store.search({ ...query, ...page }, { ...call, budget }),
    )) {
      // What does not count must not take the place of what does.
      if (++read > MAX_READ) throw tooMany(type);
      if (await counts(resource)) found.push(resource);
      else ignored.add(`${type}/${resource.id ?? ''}`);
    }
    return found;
  };
}

/** The maximum number of resources of one url that a policy's expansion reads. */
const MAX_READ = 1_000;

function tooMany(type: string): FhirError {
  const message = `The project has more than ${MAX_READ} resources of type ${type} with one url, which decide an access policy; delete some`;
  return new FhirError('too-costly', message, { details: { max: MAX_READ } });
}

/** The profile of the member who wrote the version; undefined for trusted code. */
function authorOf({ meta }: AnyResource): string | undefined {
  const author = isJsonObject(meta) ? meta['author'] : undefined;
  if (author === undefined) return undefined;
  return referenceText(author) ?? '';
}

/** Every membership of the profile is active and one of an administrator; another could write without being one. */
async function isAdministrator(
  store: ResourceStore,
  project: string,
  profile: string,
  call: CallOptions | undefined,
): Promise<boolean> {
  const { type, id } = splitReference(profile);
  if (type === '' || id === '') return false;
  const criteria = refersTo('profile', { type, id });
  const { matches } = await store.search({ project, type: 'ProjectMembership', criteria, limit: MAX_FOUND }, call);
  const memberships = matches.map(({ resource }) => elementsOf(resource));
  return memberships.length > 0 && memberships.every(({ active, admin }) => active !== false && admin === true);
}
