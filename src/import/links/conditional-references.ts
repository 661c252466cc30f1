import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { quote } from '../../fhir/messages/quote.js';
import { keyText, trimBaseUrl } from '../../fhir/reference.js';
import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import { type Criteria, refersTo } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import { localized } from '../../search/evaluate/localized.js';
import { createSubject, type SearchSubject, type SearchWorld } from '../../search/evaluate/search-subject.js';
import { findMatches, parseCondition } from '../../interactions/condition.js';
import { CallPace } from '../../store/call-pace.js';
import type { EntryFaults } from '../entries/entry-faults.js';
import type { Identified, PutEntry } from '../entries/identify.js';
import { rewriteLinks } from './rewrite-links.js';
import type { ImportSession } from '../session.js';

/**
 * Replaces conditional references (`Practitioner?identifier=system|value`) by the one resource that matches.
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
    const found = conditionalReferences(session.store.model, one.resource);
    if (found.size > 0) texts.set(one, found);
  }
  if (texts.size === 0) return identified;

  const future = new BundleWorld(session.store.model, identified, trimBaseUrl(session.baseUrl));
  const answers = new Map<string, Promise<string>>();
  const resolved: Identified[] = [];
  for (const one of identified) {
    // Each text is compared with all of the Bundle.
    if (pace.isSpent) await pace.next();
    const wanted = one.action === 'put' ? texts.get(one) : undefined;
    if (one.action !== 'put' || wanted === undefined) {
      resolved.push(one);
      continue;
    }
    await faults.guardAsync(one.entry.index, async () => {
      const targets = new Map<string, string>();
      for (const text of wanted) {
        const answer = answers.get(text) ?? resolveOne(text, future, session);
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

function conditionalReferences(model: FhirModel, resource: AnyResource): ReadonlySet<string> {
  const found = new Set<string>();
  rewriteLinks(model, resource, (link, kind) => {
    if (kind === 'reference' && link.includes('?') && model.isResourceType(CONDITIONAL.exec(link)?.[1] ?? ''))
      found.add(link);
    return undefined;
  });
  return found;
}

async function resolveOne(text: string, future: BundleWorld, session: ImportSession): Promise<string> {
  const [, type, query] = CONDITIONAL.exec(text) as unknown as [string, string, string];
  const criteria = parseCondition(session.store.model, type, query, session);
  const own = future.matching(type, criteria);
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

/** The resources that a Bundle is about to write, as a search world. */
class BundleWorld implements SearchWorld {
  /** Keys that the Bundle writes or deletes; their stored versions are ignored. */
  readonly touched: ReadonlySet<string>;
  readonly #puts = new Map<string, AnyResource>();
  readonly #subjects = new Map<string, SearchSubject>();

  constructor(
    private readonly model: FhirModel,
    identified: readonly Identified[],
    private readonly baseUrl: string | undefined,
  ) {
    const touched = new Set<string>();
    for (const one of identified) {
      if (one.action === 'put') this.#puts.set(keyText(one.key), { ...one.resource, id: one.key.id });
      if (one.action === 'put' || one.action === 'delete') touched.add(keyText(one.key));
    }
    this.touched = touched;
  }

  matching(type: string, criteria: Criteria): readonly string[] {
    return [...this.#ofType(type)].filter((subject) => matches(criteria, subject, this)).map(({ id }) => id);
  }

  find(type: string, id: string): SearchSubject | undefined {
    const key = keyText({ type, id });
    const resource = this.#puts.get(key);
    if (resource === undefined) return undefined;
    const subject = this.#subjects.get(key) ?? localized(createSubject(this.model, resource, Date.now()), this.baseUrl);
    this.#subjects.set(key, subject);
    return subject;
  }

  *referencing(type: string, parameter: string, target: { type: string; id: string }): Iterable<SearchSubject> {
    const criteria = refersTo(parameter, target);
    for (const subject of this.#ofType(type)) if (matches(criteria, subject, this)) yield subject;
  }

  *#ofType(type: string): Iterable<SearchSubject> {
    for (const { resourceType, id } of this.#puts.values()) {
      if (resourceType === type) yield this.find(type, id!)!;
    }
  }
}
