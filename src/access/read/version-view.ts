import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { type AnyResource, elementsOf, INLINE_HEADS } from '../../fhir/resource.js';
import { childrenOf, expansionsIn, NONE, type Criteria } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import { EMPTY_WORLD, type SearchSubject } from '../../search/evaluate/search-subject.js';
import { type Caller, homeOf } from '../caller.js';
import { decide } from '../decide.js';
import { isLocal } from '../evaluate/evaluate-criteria.js';
import { areMaskedAlike, joinedByFields } from '../evaluate/granting-rules.js';
import { mentionsMemberUsers } from '../evaluate/member-users.js';
import { maskResource } from '../fields/mask-resource.js';
import type { AccessRule } from '../rule.js';
import { AUDIT_EVENT } from './audit-names.js';
import { restrictQuery } from './restrict.js';

/** A version of a resource with its index values. */
export interface IndexedVersion {
  readonly versionId: string;
  readonly resource: AnyResource;
  readonly subject: SearchSubject;
}

/** What a caller would find of single versions by a search: filter and rights together, as a search has them. */
export interface VersionView {
  /** The project whose feed has the type. */
  readonly project: string;
  readonly type: string;
  /** A version that fits is found by the search. It depends on nothing but the version. */
  readonly criteria: Criteria;
  /** Equal for views that show the same of each version without resources inside it. */
  readonly key: string;
  /** The version as the caller sees it; undefined if the search would not find it. */
  show(version: IndexedVersion): AnyResource | undefined;
}

/**
 * The view of a caller's search.
 *
 * @throws FhirError `unsupported` - whether a version is found, or what is shown of it, depends on other resources
 * @throws FhirError `too-costly`, `forbidden` - as the search
 */
export function versionView(
  model: FhirModel,
  caller: Caller,
  { type, criteria: asked }: { readonly type: string; readonly criteria: Criteria },
): VersionView {
  assertOwn(type, asked);
  const rules = decide(caller, type, 'search') ?? [];
  const all = caller.kind === 'member' ? caller.rules : undefined;
  const { criteria } =
    rules.length === 0
      ? { criteria: NONE }
      : restrictQuery(model, caller, { type, criteria: asked, limit: 0 }, rules, (of) => decide(caller, of, 'search'));
  const isAlike = areMaskedAlike(rules);
  const apart = isAlike ? [] : joinedByFields(rules);
  for (const one of [criteria, ...apart.map((rule) => rule.criteria)]) assertGranted(type, caller, one);
  const grants = (rule: AccessRule, subject: SearchSubject): boolean => matches(rule.criteria, subject, EMPTY_WORLD);
  const masks = isAlike ? rules.slice(0, 1) : apart;
  const project = homeOf(type, caller);
  return {
    project,
    type,
    criteria,
    key: JSON.stringify([project, type, criteria, masks.map(({ hidden, criteria: of }) => [hidden, isAlike || of])]),
    show({ resource, subject }) {
      if (!matches(criteria, subject, EMPTY_WORLD)) return undefined;
      return maskResource(resource, isAlike ? rules : apart.filter((rule) => grants(rule, subject)), all);
    },
  };
}

/** Whether what is shown of a resource also depends on the caller's rules for the resources inside it. */
export function hasResourcesInside(resource: AnyResource): boolean {
  return INLINE_HEADS.some((name) => elementsOf(resource)[name] !== undefined);
}

/** @throws FhirError `unsupported` */
function assertOwn(type: string, criteria: Criteria): void {
  const outside = outsideParameter(criteria);
  if (outside !== undefined) {
    throw new FhirError('unsupported', `A subscription to ${type} cannot filter by "${outside}": ${REASON}`, {
      details: { type, parameter: outside },
    });
  }
  if (expansionsIn(criteria).size > 0) {
    throw new FhirError(
      'unsupported',
      `A subscription to ${type} cannot filter by value sets or hierarchies of codes: ${REASON}`,
    );
  }
}

const REASON = 'writes of other resources would change what matches';

/** @throws FhirError `unsupported` */
function assertGranted(type: string, caller: Caller, criteria: Criteria): void {
  const isEvent = type === AUDIT_EVENT && caller.kind === 'member';
  if (!isEvent && isLocal(criteria) && !mentionsMemberUsers(criteria)) return;
  throw new FhirError(
    'unsupported',
    `The access rules of this caller for ${type} depend on other resources, so it cannot subscribe to ${type}`,
    {
      details: { type },
    },
  );
}

/** The first chain or `_has` of criteria. */
function outsideParameter(criteria: Criteria): string | undefined {
  if (criteria.kind === 'chain') return `${criteria.parameter}:${criteria.type}`;
  if (criteria.kind === 'has') return '_has';
  for (const child of childrenOf(criteria)) {
    const found = outsideParameter(child);
    if (found !== undefined) return found;
  }
  return undefined;
}
