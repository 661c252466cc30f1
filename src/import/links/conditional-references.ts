import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { quote } from '../../fhir/messages/quote.js';
import { keyText } from '../../fhir/reference.js';
import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import { findMatches, parseCondition } from '../../interactions/condition.js';
import { inTurns, type Pace } from '../../platform/pace.js';
import { CallPace } from '../../store/call-pace.js';
import type { EntryFaults } from '../entries/entry-faults.js';
import type { Identified, PutEntry } from '../entries/identify.js';
import { BundleWorld } from './bundle-world.js';
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

  const future = await BundleWorld.of(session.store.model, identified, session.baseUrl, pace);
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

function conditionalReferences(model: FhirModel, resource: AnyResource): ReadonlySet<string> {
  const found = new Set<string>();
  rewriteLinks(model, resource, (link, kind) => {
    if (kind === 'reference' && link.includes('?') && model.isResourceType(CONDITIONAL.exec(link)?.[1] ?? ''))
      found.add(link);
    return undefined;
  });
  return found;
}

async function resolveOne(text: string, future: BundleWorld, session: ImportSession, pace: Pace): Promise<string> {
  const [, type, query] = CONDITIONAL.exec(text) as unknown as [string, string, string];
  const criteria = parseCondition(session.store.model, type, query, session);
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
