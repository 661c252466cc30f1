import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { getOrCreate } from '../../platform/collections.js';
import { ALL, and, type Criteria, NONE, not, or, simplifyCriteria } from '../../search/criteria/criteria.js';
import type { SearchPosition } from '../../search/evaluate/sort.js';
import { INSIDE } from '../../search/index/elements-read.js';
import { assertAffordable, MAX_RESTRICTED_COST } from '../../search/parse/parse-context.js';
import type { SearchQuery } from '../../store/search-query.js';
import { type Caller, homeOf } from '../caller.js';
import type { GuardedQuery } from '../contract.js';
import { type HiddenInside, readsHidden } from '../fields/hidden-fields.js';
import { hiddenInResources } from '../fields/mask-resource.js';
import type { AccessRule, AccessRules } from '../rule.js';

/** The rules that let a caller search a type; null if no rule does. */
export type SearchRules = (type: string) => readonly AccessRule[] | null;

/**
 * Restricts a search to visible data: some rule grants the resource, and the criteria hold for the fields that this
 * rule shows. Hidden fields have no values, and chains reach visible resources only.
 *
 * Rules that show everything the criteria read share one copy of them. If rules hide parts, those parts are repeated
 * per distinct set of hidden fields, and multiply through chains; the cost is checked before any store call.
 *
 * @param all the caller's rules, which mask the resources inside others; undefined for trusted code
 * @throws FhirError `too-costly` - the search itself, or with the rules added; see `assertAffordable`
 */
export function restrict(
  model: FhirModel,
  asked: Criteria,
  type: string,
  rules: readonly AccessRule[],
  rulesOf: SearchRules,
  reference: string | undefined,
  all: AccessRules | undefined,
): Criteria {
  const question = simplifyCriteria(asked);
  assertAffordable({ criteria: question });
  const seen = new Restriction(model, rulesOf, hiddenInResources(model, all)).restrict(
    question,
    type,
    rules,
    reference,
  );
  // Most rules grant whole types, so the criteria need no rewriting.
  if (seen === question) return seen;
  const restricted = simplifyCriteria(seen);
  assertAffordable({ criteria: restricted }, MAX_RESTRICTED_COST);
  return restricted;
}

/** Rules that show a caller the same elements in a search. */
interface Group {
  /** The keys of {@link readings} that the rules hide. */
  readonly hidden: ReadonlySet<string>;
  /** The disjunction of the rules' criteria. */
  readonly criteria: Criteria;
}

/**
 * One search under one caller's rules. The targets of chains are the same for all preceding rules, so they are computed
 * once.
 */
class Restriction {
  readonly #followed = new Map<Criteria, Criteria>();

  constructor(
    private readonly model: FhirModel,
    readonly rulesOf: SearchRules,
    private readonly inside: HiddenInside,
  ) {}

  restrict(asked: Criteria, type: string, rules: readonly AccessRule[], reference: string | undefined): Criteria {
    // The reference of a reverse search counts as a criterion too.
    const open = reference === undefined ? rules : rules.filter(({ hidden }) => !this.#hides(hidden, type, reference));
    return this.#through(asked, this.#groupsOf(asked, type, open));
  }

  #hides(hidden: readonly string[], type: string, reading: string): boolean {
    return readsHidden(this.model, type, reading, hidden, this.inside);
  }

  /** Criteria shown by all groups are outside the disjunction, once. */
  #through(asked: Criteria, groups: readonly Group[]): Criteria {
    const granted = or(groups.map(({ criteria }) => criteria));
    const isAlike = (one: Criteria): boolean => seenAlike(one, groups);
    if (groups.length === 0) return NONE;
    if (isAlike(asked)) {
      const seen = this.#visible(asked, groups[0]!);
      return granted.kind === 'all' ? seen : and([seen, granted]);
    }
    const byGroup = (question: Criteria): Criteria =>
      or(groups.map((group) => and([this.#visible(question, group), group.criteria])));
    if (asked.kind !== 'and' && asked.kind !== 'or') return byGroup(asked);
    const join = asked.kind === 'and' ? and : or;
    const alike = asked.of.filter(isAlike);
    const others = asked.of.filter((one) => !isAlike(one));
    const apart = others.length === 1 ? this.#through(others[0]!, groups) : byGroup(join(others));
    if (alike.length === 0) return apart;
    const common = this.#visible(join(alike), groups[0]!);
    return asked.kind === 'and' ? and([common, apart]) : or([and([common, granted]), apart]);
  }

  #visible(criteria: Criteria, group: Group): Criteria {
    switch (criteria.kind) {
      case 'and':
      case 'or': {
        const of = criteria.of.map((one) => this.#visible(one, group));
        if (of.every((one, index) => one === criteria.of[index])) return criteria;
        return criteria.kind === 'and' ? and(of) : or(of);
      }
      case 'not': {
        const of = this.#visible(criteria.of, group);
        return of === criteria.of ? criteria : not(of);
      }
      case 'missing':
        if (!group.hidden.has(criteria.parameter)) return criteria;
        return criteria.missing ? ALL : NONE;
      case 'match':
      case 'composite':
      case 'last-updated':
        return group.hidden.has(readingOf(criteria)!) ? NONE : criteria;
      case 'chain': {
        if (group.hidden.has(criteria.parameter)) return NONE;
        const followed = this.#follow(criteria);
        if (followed.kind !== 'chain' || !group.hidden.has(INSIDE)) return followed;
        return followed.reach === 'inside' ? NONE : { ...followed, reach: 'outside' };
      }
      case 'has':
        return this.#follow(criteria);
      case 'all':
      case 'none':
      case 'id':
        return criteria;
    }
  }

  #follow(criteria: Criteria & { readonly kind: 'chain' | 'has' }): Criteria {
    let followed = this.#followed.get(criteria);
    if (followed === undefined) {
      const { kind, type, parameter } = criteria;
      const rules = this.rulesOf(type);
      const reference = kind === 'has' ? parameter : undefined;
      const of = rules === null ? NONE : this.restrict(criteria.of, type, rules, reference);
      followed = of.kind === 'none' ? NONE : { ...criteria, of };
      this.#followed.set(criteria, followed);
    }
    return followed;
  }

  /** Rules with the same effect on the search form one group. */
  #groupsOf(asked: Criteria, type: string, rules: readonly AccessRule[]): readonly Group[] {
    const reads = [...readings(asked)];
    const hiddenBy = new Map<string, ReadonlySet<string>>();
    const groups = new Map<string, { readonly hidden: ReadonlySet<string>; readonly criteria: Criteria[] }>();
    for (const { hidden, criteria } of rules) {
      const fields = [...hidden].sort().join();
      const unread = getOrCreate(
        hiddenBy,
        fields,
        () => new Set(reads.filter((reading) => this.#hides(hidden, type, reading))),
      );
      getOrCreate(groups, JSON.stringify([...unread]), () => ({ hidden: unread, criteria: [] })).criteria.push(
        criteria,
      );
    }
    return [...groups.values()].map(({ hidden, criteria }) => ({ hidden, criteria: or(criteria) }));
  }
}

function seenAlike(criteria: Criteria, groups: readonly Group[]): boolean {
  if (groups.length < 2) return true;
  const [first, ...others] = groups as readonly [Group, ...Group[]];
  for (const reading of readings(criteria)) {
    if (others.some(({ hidden }) => hidden.has(reading) !== first.hidden.has(reading))) return false;
  }
  return true;
}

/** The parameter codes that the criteria read from the resource itself, not from chain targets. */
function readings(criteria: Criteria, found = new Set<string>()): ReadonlySet<string> {
  if (criteria.kind === 'and' || criteria.kind === 'or') for (const one of criteria.of) readings(one, found);
  else if (criteria.kind === 'not') readings(criteria.of, found);
  else if (criteria.kind === 'chain' && criteria.reach !== 'outside') found.add(INSIDE);
  const reading = readingOf(criteria);
  return reading === undefined ? found : found.add(reading);
}

function readingOf(criteria: Criteria): string | undefined {
  switch (criteria.kind) {
    case 'match':
    case 'composite':
    case 'missing':
    case 'chain':
      return criteria.parameter;
    case 'last-updated':
      return '_lastUpdated';
    default:
      return undefined;
  }
}

/**
 * Restricts a caller's search to resources that the rules grant, without any use of hidden fields.
 *
 * @throws FhirError `too-costly` - the search itself, or with the rules added; see `assertAffordable`
 *
 * @param rules those of the searched type
 * @param rulesOf those of the types that chains lead to
 * @param reference the parameter that a search by reference follows
 */
export function restrictQuery(
  model: FhirModel,
  caller: Caller,
  query: GuardedQuery,
  rules: readonly AccessRule[],
  rulesOf: SearchRules,
  reference?: string,
): SearchQuery {
  const project = homeOf(query.type, caller);
  // Sorting by a hidden field would reveal its order.
  const all = caller.kind === 'member' ? caller.rules : undefined;
  const inside = hiddenInResources(model, all);
  const open = query.sort?.map(({ parameter }) =>
    rules.every(({ hidden }) => !readsHidden(model, query.type, parameter, hidden, inside)),
  );
  const isOpen = (_: unknown, index: number): boolean => open?.[index] !== false;
  const place = ({ values, id }: SearchPosition): SearchPosition => ({ values: values.filter(isOpen), id });
  const criteria = restrict(model, query.criteria, query.type, rules, rulesOf, reference, all);
  const sort = query.sort?.filter(isOpen);
  if (sort !== undefined && sort.length > 0) assertAffordable({ criteria, sort }, MAX_RESTRICTED_COST);
  return {
    ...query,
    project,
    criteria,
    sort,
    after: query.after && place(query.after),
    before: query.before && place(query.before),
  };
}
