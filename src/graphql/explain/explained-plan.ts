import type { Criteria } from '../../search/criteria/criteria.js';
import type { StatementPlan } from '../../store/store.js';
import type { Location } from '../plan/plan.js';

/** What a query would do, as plain data. */
export interface ExplainedPlan {
  /** Name of the operation; undefined for one without. */
  readonly operation: string | undefined;
  /** Deepest nesting of selections. */
  readonly depth: number;
  /** What `limits.cost` bounds: about so many resources. */
  readonly estimatedCost: number;
  /**
   * The calls to the store in their order, those of one level side by side. Below references of several types there is one
   * for each type that the definitions and fragments allow, of which the data may need fewer.
   */
  readonly calls: readonly ExplainedCall[];
  /** There are more calls than are listed here. */
  readonly cut: boolean;
}

export interface ExplainedCall {
  /** 1 for what begins at once; a call of level 2 waits for the answers of level 1. */
  readonly level: number;
  /** The keys of the response down to the field; `resource(Patient)` where what follows is for one type only. */
  readonly path: string;
  readonly location: Location | undefined;
  /**
   * | kind | what it is |
   * |---|---|
   * | read | one resource by its id |
   * | search | a list or connection at the root |
   * | reverse | the lists or connections of all parents, by the parameter that points to them |
   * | reference | all the resources that references lead to, by their ids |
   * | canonical, identifier | the resources that canonicals or logical references lead to, by a search |
   */
  readonly kind: 'read' | 'search' | 'reverse' | 'reference' | 'canonical' | 'identifier';
  /** Resource types that are asked for; empty where a reference may lead to any. */
  readonly types: readonly string[];
  /** Of a read: the id. */
  readonly id?: string;
  /** Other fields of the level that the same call fills, since they ask the same question. */
  readonly sharedWith?: readonly Pick<ExplainedCall, 'path' | 'location' | 'id'>[];
  /** Of a reverse search: the parameter that points back. */
  readonly parameter?: string;
  /** Of a search: what must hold, the caller's rules included. */
  readonly criteria?: ExplainedCriteria;
  /** Of a search: parameters by which it is sorted, those descending with a minus; ids decide ties. */
  readonly sort?: readonly string[];
  /** Parameters in `_sort` that the caller's rules hide, and that therefore sort nothing. */
  readonly hiddenSort?: readonly string[];
  /** Of a search: the part of the matches that is read; per parent where it is reverse. */
  readonly page?: ExplainedPage;
  /** What of a search grows with the data, and what to do about it. Left out where nothing does. */
  readonly warnings?: readonly string[];
  /** The caller's rules that grant what is asked for; of references to any type they are left out. */
  readonly rules: readonly ExplainedRule[];
  /** Whether the store is asked: not for what no rule grants, nor where the field fails before. */
  readonly asked: boolean;
  /** Why the field fails before the store is asked. */
  readonly fault?: string;
  /** What the store would do, where it can tell. */
  readonly statements?: readonly StatementPlan[];
}

export interface ExplainedPage {
  /** Longest page that is read, one more than asked for where that tells whether another follows. */
  readonly limit: number | undefined;
  /** Matches left out before it. */
  readonly offset: number;
  /** All matches are counted too. */
  readonly total: boolean;
  /** A cursor decides where it begins or ends. */
  readonly cursor: boolean;
}

/** Criteria as a tree. */
export interface ExplainedCriteria {
  readonly kind: Criteria['kind'];
  /** `gender = male and [AccessPolicy/1, rule 2: Patient?active=true: active = true]` */
  readonly text: string;
  readonly of?: readonly ExplainedCriteria[];
  /** The rules that brought it in; left out for what the query asks for itself. */
  readonly rules?: readonly string[];
}

/** One grant of the caller. */
export interface ExplainedRule {
  readonly type: string;
  /** Where it comes from: `AccessPolicy/1, rule 2: Patient?active=true`. */
  readonly origin: string;
  /** What it grants. */
  readonly criteria: string;
  readonly hidden: readonly string[];
  /** It takes a search of its own to see which of the answers it grants. */
  readonly asksStore: boolean;
}
