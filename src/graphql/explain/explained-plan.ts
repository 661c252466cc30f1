import type { Criteria } from '../../search/criteria/criteria.js';
import type { StatementPlan } from '../../store/store.js';
import type { Location } from '../plan/plan.js';

/** The explanation of a query as plain data. */
export interface ExplainedPlan {
  /** Name of the operation; undefined if it has none. */
  readonly operation: string | undefined;
  /** Deepest nesting of selections. */
  readonly depth: number;
  /**
   * The minimum cost of the store calls, whatever the data, in resources. The request is refused if it exceeds
   * `limits.cost`.
   */
  readonly leastCost: number;
  /**
   * The cost with assumed numbers where neither the query nor the definitions say how much there is. Only mutations are
   * refused by it; a query ends when what it has read costs more than `limits.cost`.
   */
  readonly estimatedCost: number;
  /**
   * The store calls in order, and the calls of the host's resolvers; those of one level run in parallel. Below references of several types there is one for
   * each type that the definitions and fragments allow, although the data may need fewer.
   */
  readonly calls: readonly ExplainedCall[];
  /** True if there are more calls than listed. */
  readonly cut: boolean;
}

/** One store call of a query. */
export interface ExplainedCall {
  /** Calls of level 1 start immediately; calls of level 2 wait for the answers of level 1. */
  readonly level: number;
  /** The keys of the response down to the field; `resource(Patient)` if the following keys apply to one type only. */
  readonly path: string;
  readonly location: Location | undefined;
  /**
   * | kind | what it is |
   * |---|---|
   * | read | one resource by its id |
   * | search | a list or connection at the root |
   * | reverse | the lists or connections of all parents, by the reference parameter that points to them |
   * | reference | all the resources that references lead to, by their ids |
   * | canonical, identifier | the resources that canonicals or logical references lead to, by a search |
   * | host | a resolver of the host, once for all parents; no call to the store |
   */
  readonly kind: 'read' | 'search' | 'reverse' | 'reference' | 'canonical' | 'identifier' | 'host';
  /** Requested resource types; empty if a reference may have any target type. */
  readonly types: readonly string[];
  /** Read: the id. */
  readonly id?: string;
  /** Other fields of the level filled by the same call. */
  readonly sharedWith?: readonly Pick<ExplainedCall, 'path' | 'location' | 'id'>[];
  /** Host: the field, the elements of each parent that its resolver receives, and the cost of one parent. */
  readonly host?: { readonly field: string; readonly needs: readonly string[]; readonly cost: number };
  /** Reverse search: the reference parameter. */
  readonly parameter?: string;
  /** Search: the criteria, including the caller's rules. */
  readonly criteria?: ExplainedCriteria;
  /** Search: the sort parameters, with a minus for descending; ties are ordered by id. */
  readonly sort?: readonly string[];
  /** Parameters in `_sort` hidden by the caller's rules, and therefore ignored. */
  readonly hiddenSort?: readonly string[];
  /** Search: the requested page, per parent if reverse. */
  readonly page?: ExplainedPage;
  /** Search: costs that grow with the data, and lists of values that exclude nothing, each with a remedy. */
  readonly warnings?: readonly string[];
  /** The caller's rules that grant access; empty for references to any type. */
  readonly rules: readonly ExplainedRule[];
  /** Whether the store is called. It is not called without a grant, or if the field fails earlier. */
  readonly asked: boolean;
  /** Why the field fails before the store call. */
  readonly fault?: string;
  /** The store's plan, if the store can explain it. */
  readonly statements?: readonly StatementPlan[];
}

/** The page that a call requests. */
export interface ExplainedPage {
  /** Maximum number of matches read, including the extra one that detects a next page. */
  readonly limit: number | undefined;
  /** Matches skipped before the page. */
  readonly offset: number;
  /** Whether all matches are counted too. */
  readonly total: boolean;
  /** Whether a cursor bounds the page. */
  readonly cursor: boolean;
}

/** Criteria as a tree. */
export interface ExplainedCriteria {
  readonly kind: Criteria['kind'];
  /** `gender = male and [AccessPolicy/1, rule 2: Patient?active=true: active = true]` */
  readonly text: string;
  readonly of?: readonly ExplainedCriteria[];
  /** The rules that added it; absent for criteria of the query itself. */
  readonly rules?: readonly string[];
}

/** One grant of the caller. */
export interface ExplainedRule {
  readonly type: string;
  /** Its origin: `AccessPolicy/1, rule 2: Patient?active=true`. */
  readonly origin: string;
  /** The resources it grants. */
  readonly criteria: string;
  readonly hidden: readonly string[];
  /** Whether a separate search is needed to find the resources it grants. */
  readonly asksStore: boolean;
}
