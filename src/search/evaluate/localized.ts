import { parseReference } from '../../fhir/reference.js';
import type { IndexEntry } from '../index/index-entry.js';
import type { SearchSubject } from './search-subject.js';

/**
 * Resolves a subject's absolute references below the service's base to local ones. Stores keep references as written
 * because they serve hosts with different bases.
 *
 * @param baseUrl without a trailing slash; undefined returns the subject unchanged
 */
export function localized(subject: SearchSubject, baseUrl: string | undefined): SearchSubject {
  if (baseUrl === undefined) return subject;
  const known = KNOWN.get(subject);
  if (known?.baseUrl === baseUrl) return known.subject;
  const made = { baseUrl, subject: localizedEntries(subject, baseUrl) };
  KNOWN.set(subject, made);
  return made.subject;
}

/** Caches the latest base only: most services have one. */
const KNOWN = new WeakMap<SearchSubject, { readonly baseUrl: string; readonly subject: SearchSubject }>();

function localizedEntries(subject: SearchSubject, baseUrl: string): SearchSubject {
  const below = `${baseUrl}/`;
  const isOwn = ({ value }: IndexEntry): boolean =>
    value.kind === 'reference' && 'url' in value && value.url.startsWith(below);
  if (![...subject.entries.values()].some((list) => list.some(isOwn))) return subject;
  const local = (entry: IndexEntry): IndexEntry => {
    const url = isOwn(entry) && 'url' in entry.value ? parseReference(entry.value.url, baseUrl) : undefined;
    if (url?.kind !== 'local') return entry;
    return { ...entry, value: { kind: 'reference', type: url.type, id: url.id } };
  };
  return { ...subject, entries: new Map([...subject.entries].map(([name, list]) => [name, list.map(local)])) };
}
