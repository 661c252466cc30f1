import type { IndexEntry } from '../index/index-entry.js';
import { insideParameter, linkParameter, splitGroup } from '../index/inside.js';
import type { SearchSubject } from './search-subject.js';

/** The resources of one type in the subject that a reference parameter points to. */
export function insideSubjects(subject: SearchSubject, parameter: string, type: string): readonly SearchSubject[] {
  if (subject.sealed === true) return [];
  const links = subject.entries.get(linkParameter(parameter, type)) ?? [];
  return links.flatMap(({ value }) =>
    value.kind === 'number' ? insideSubject(subject.container ?? subject, type, value.low) : [],
  );
}

/** The subject of a contained resource, by its number and type. */
export function insideSubject(container: SearchSubject, type: string, number: number): SearchSubject {
  const prefix = insideParameter(type, '');
  const entries = new Map<string, readonly IndexEntry[]>();
  for (const [name, list] of container.entries) {
    if (!name.startsWith(prefix)) continue;
    const parameter = name.slice(prefix.length);
    const own = list.flatMap(({ group, value }): IndexEntry[] => {
      const split = splitGroup(group);
      return split.number === number ? [{ parameter, group: split.group, value }] : [];
    });
    if (own.length > 0) entries.set(parameter, own);
  }
  return { type, id: '', lastUpdated: NaN, entries, container };
}
