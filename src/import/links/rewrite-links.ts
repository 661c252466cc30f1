import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { keyText } from '../../fhir/reference.js';
import type { AnyResource, JsonObject } from '../../fhir/resource.js';
import { findMatches, parseCondition } from '../../interactions/condition.js';
import { inTurns, type Pace } from '../../platform/pace.js';
import { CallPace } from '../../store/guards.js';
import type { EntryFaults } from '../entries/entry-outcome.js';
import type { Identified, PutEntry } from '../entries/identify.js';
import type { ImportSession } from '../session.js';
import { BundleWorld } from './bundle-world.js';

/** Maps a link to its replacement; undefined leaves it unchanged. A replacement for a `uri` also applies to a `url`. */
export type LinkLookup = (link: string, kind: LinkKind) => string | undefined;

/**
 * The kind of element with the link.
 *
 * - `reference`: `Reference.reference`
 * - `url`: an element of type url, oid or uuid, or an `href` or `src` in the narrative
 * - `uri`: an element of type uri, which can also be canonical URLs and code systems
 */
type LinkKind = 'reference' | 'url' | 'uri';

/**
 * Replaces links in a resource wherever the transaction rules of FHIR look for them; elements of type canonical are
 * never touched. See https://hl7.org/fhir/R4/http.html#trules.
 *
 * The input is not changed; without replacements, the input itself is returned.
 */
export function rewriteLinks<Resource extends AnyResource>(
  model: FhirModel,
  resource: Resource,
  lookup: LinkLookup,
): Resource {
  const walk: Walk = { model, lookup, objects: [], names: [] };
  return rewriteObject(resource as unknown as JsonObject, walk) as unknown as Resource;
}

/**
 * One walk: `objects` leads from the resource to the holder of the current value, and `names` are those of the next
 * object, or of the value, in each of them. PERF (import-rate): two lists, because an object per step took a quarter of the time.
 */
interface Walk {
  readonly model: FhirModel;
  readonly lookup: LinkLookup;
  readonly objects: JsonObject[];
  readonly names: string[];
}

function rewriteObject(object: JsonObject, walk: Walk): JsonObject {
  let copy: { [key: string]: unknown } | undefined;
  const depth = walk.objects.push(object) - 1;
  for (const name in object) {
    const value = object[name];
    let replaced: unknown;
    if (typeof value === 'string') {
      replaced = rewriteText(value, name, walk);
    } else if (typeof value === 'object' && value !== null) {
      walk.names[depth] = name;
      replaced = Array.isArray(value) ? rewriteArray(value, name, walk) : rewriteObject(value as JsonObject, walk);
    } else {
      continue;
    }
    if (replaced !== value) {
      copy ??= { ...object };
      copy[name] = replaced;
    }
  }
  walk.objects.pop();
  return copy ?? object;
}

function rewriteArray(array: readonly unknown[], name: string, walk: Walk): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < array.length; index++) {
    const item = array[index];
    let replaced: unknown = item;
    if (typeof item === 'string') {
      replaced = rewriteText(item, name, walk);
    } else if (typeof item === 'object' && item !== null) {
      replaced = Array.isArray(item) ? rewriteArray(item, name, walk) : rewriteObject(item as JsonObject, walk);
    }
    if (replaced !== item) {
      copy ??= [...array];
      copy[index] = replaced;
    }
  }
  return copy ?? array;
}

function rewriteText(text: string, name: string, walk: Walk): string {
  // All string elements of this name are literal references or, in three types, uris that FHIR treats the same way.
  if (name === 'reference') return walk.lookup(text, 'reference') ?? text;
  if (name === 'div') return rewriteNarrative(text, walk.lookup);
  // Types are looked up only for the few strings to be replaced. A replacement for a uri also applies to a url.
  const replaced = walk.lookup(text, 'url');
  if (replaced === undefined) return text;
  switch (elementType(name, walk)) {
    case 'uri':
      return walk.lookup(text, 'uri') ?? text;
    case 'url':
    case 'oid':
    case 'uuid':
      return replaced;
    default:
      return text;
  }
}

const NARRATIVE_LINK = /(<(?:a|img)\s[^<>]*?\b(?:href|src)\s*=\s*)("[^"<>]*"|'[^'<>]*')/gi;

function rewriteNarrative(div: string, lookup: LinkLookup): string {
  if (!div.includes('href') && !div.includes('src')) return div;
  return div.replace(NARRATIVE_LINK, (whole, before: string, quoted: string) => {
    const replaced = lookup(quoted.slice(1, -1), 'url');
    return replaced === undefined ? whole : `${before}${quoted[0]}${replaced}${quoted[0]}`;
  });
}

/** The type of an element of the last object, by its path; undefined for unknown paths. */
function elementType(name: string, { model, objects, names }: Walk): string | undefined {
  // A contained resource starts a new path.
  let start = objects.length - 1;
  while (start > 0 && typeof objects[start]!['resourceType'] !== 'string') start--;
  let type = objects[start]!['resourceType'];
  for (const step of [...names.slice(start, objects.length - 1), name]) {
    type = typeof type === 'string' ? model.typeDefinition(type)?.elements.get(step)?.type : undefined;
  }
  return typeof type === 'string' ? type : undefined;
}

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

  // Most strings of a resource are shorter than any link.
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

/**
 * Replaces conditional references (`Practitioner?identifier=system|value`, also below the service's own base) by the one
 * resource that matches.
 *
 * The search sees the project as the Bundle will leave it: its resources, and stored ones that it does not replace or
 * delete. Chains from the Bundle's resources are evaluated within the Bundle only. See
 * https://hl7.org/fhir/R4/http.html#trules.
 *
 * @returns the entries, with a fault for each one that has a reference with no match or several
 */
export async function resolveConditionalReferences(
  identified: readonly Identified[],
  session: ImportSession,
  faults: EntryFaults,
): Promise<readonly Identified[]> {
  const pace = new CallPace(session.options);
  const texts = new Map<PutEntry, ReadonlySet<string>>();
  for (const one of identified) {
    if (pace.isSpent) await pace.next();
    if (one.action !== 'put') continue;
    const found = conditionalReferences(session, one.resource);
    if (found.size > 0) texts.set(one, found);
  }
  if (texts.size === 0) return identified;

  const future = await BundleWorld.of(session.store.model, identified, pace);
  const answers = new Map<string, Promise<string>>();
  const resolved: Identified[] = [];
  for (const one of identified) {
    if (pace.isSpent) await pace.next();
    const wanted = one.action === 'put' ? texts.get(one) : undefined;
    if (one.action !== 'put' || wanted === undefined) {
      resolved.push(one);
      continue;
    }
    await faults.guardAsync(one.entry.index, async () => {
      const targets = new Map<string, string>();
      for (const text of wanted) {
        const answer = answers.get(text) ?? resolveOne(text, future, session, pace);
        answers.set(text, answer);
        targets.set(text, await answer);
      }
      const lookup = (link: string, kind: string): string | undefined =>
        kind === 'reference' ? targets.get(link) : undefined;
      resolved.push({ ...one, resource: rewriteLinks(session.store.model, one.resource, lookup) });
    });
  }
  return resolved;
}

const CONDITIONAL = /^([A-Z][A-Za-z]*)\?(.*)$/s;

function conditionIn(link: string, { baseUrl }: ImportSession): RegExpExecArray | null {
  const isOwn = baseUrl !== undefined && link.startsWith(`${baseUrl}/`);
  return CONDITIONAL.exec(isOwn ? link.slice(baseUrl.length + 1) : link);
}

function conditionalReferences(session: ImportSession, resource: AnyResource): ReadonlySet<string> {
  const { model } = session.store;
  const found = new Set<string>();
  rewriteLinks(model, resource, (link, kind) => {
    if (kind !== 'reference' || !link.includes('?')) return undefined;
    if (model.isResourceType(conditionIn(link, session)?.[1] ?? '')) found.add(link);
    return undefined;
  });
  return found;
}

async function resolveOne(text: string, future: BundleWorld, session: ImportSession, pace: Pace): Promise<string> {
  const [, type, query] = conditionIn(text, session) as unknown as [string, string, string];
  const criteria = parseCondition(session.store.model, type, query);
  const own = await inTurns(future.matching(type, criteria), pace);
  const stored = own.length > 1 ? [] : await findMatches(type, criteria, future.touched, session);
  const ids = [...own, ...stored.map(({ resource }) => resource.id!)];
  const [id] = ids;
  if (ids.length === 1) return keyText({ type, id: id! });
  const count = ids.length === 0 ? 'no resource' : 'several resources';
  throw new FhirError(
    'precondition-failed',
    `The conditional reference ${quote(withoutValues(text))} matches ${count}; it must match exactly one`,
  );
}

/** Search values identify people, so messages contain parameter names only. */
function withoutValues(text: string): string {
  return text.replace(/=[^&]*/g, '=…');
}
