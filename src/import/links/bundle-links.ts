import { keyText } from '../../fhir/reference.js';
import type { Pace } from '../../platform/pace.js';
import type { Identified } from '../entries/identify.js';
import type { LinkLookup } from './rewrite-links.js';

/**
 * Maps links to entries of a Bundle to `Type/id` as stored.
 *
 * - `urn:uuid:` and `urn:oid:` fullUrls, in all links.
 * - `http` fullUrls, in references and urls only: in elements of type uri they are canonical URLs and names of code
 *   systems, which an import must not change.
 * - `Type/id` of an entry that is stored under another id, because its condition matched an existing resource.
 *
 * A link to a version (`…/_history/2`) stays a link to that version.
 */
export async function linksWithin(identified: readonly Identified[], pace: Pace): Promise<LinkLookup> {
  const targets = new Map<string, string>();
  for (const one of identified) {
    if (pace.isSpent) await pace.next();
    if (one.action !== 'put' && one.action !== 'match') continue;
    const { fullUrl, resource } = one.entry;
    const target = keyText(one.key);
    if (fullUrl !== undefined) targets.set(fullUrl, target);
    // If a resource with a `urn:uuid:…` fullUrl gets a new id, its old id does not identify it inside the Bundle.
    const renamed = one.action === 'put' && fullUrl?.startsWith('urn:') === true;
    if (resource?.id !== undefined && resource.id !== one.key.id && !renamed) {
      targets.set(keyText({ type: one.key.type, id: resource.id }), target);
    }
  }
  // A relative link to an entry's own identity means that entry.
  for (const one of identified) {
    if (pace.isSpent) await pace.next();
    if (one.action === 'put') targets.delete(keyText(one.key));
  }

  // PERF: most strings of a resource are shorter than any link.
  let shortest = Infinity;
  for (const link of targets.keys()) {
    if (pace.isSpent) await pace.next();
    shortest = Math.min(shortest, link.length);
  }
  return (link, kind) => {
    if (link.length < shortest) return undefined;
    if (kind === 'uri' && !link.startsWith('urn:')) return undefined;
    const target = targets.get(link);
    if (target !== undefined) return target;
    const history = link.indexOf('/_history/');
    const versioned = history === -1 ? undefined : targets.get(link.slice(0, history));
    return versioned === undefined ? undefined : versioned + link.slice(history);
  };
}
