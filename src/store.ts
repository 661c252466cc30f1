// What a store is written with: the contract and the shapes in it, the one meaning of searches, and what all stores would
// otherwise repeat. The proof of a store is in `fhirgraph/testing`.

export type {
  ElementDefinition,
  PathExpression,
  PathStep,
  SearchComponentDefinition,
  SearchParameterDefinition,
  SearchParameterType,
  TypeDefinition,
} from './fhir/model/definition-types.js';
export type { FhirModel } from './fhir/model/fhir-model.js';
export { R4 } from './fhir/r4.js';
export { parseJson } from './fhir/json/parse-json.js';
export { stringifyJson } from './fhir/json/stringify-json.js';
export { inDoubt, isInDoubt } from './fhir/error.js';
export { parametersOf, type TypeParameter } from './search/criteria/parameters-of.js';
export { collationKey, fold } from './search/index/fold.js';
export { indexEntries } from './search/index/index-resource.js';
export { matches } from './search/evaluate/match.js';
export { createSubject, type SearchSubject, type SearchWorld } from './search/evaluate/search-subject.js';
export {
  compareSubjects,
  compareToPosition,
  endOf,
  positionOf,
  sortValue,
  type SearchPosition,
} from './search/evaluate/sort.js';
export { createSearch, type CriteriaSearch } from './repository/search-query.js';
export type { SearchRequest, TotalMode } from './search/parse/parse-search.js';
export { decidesAccess } from './store/access-epoch.js';
export { changeRetention, changesWindowOf, type ChangesWindow } from './store/changes.js';
export { expectationFailed, uniqueKeyTaken, matchFound } from './store/with-retries.js';
export { assertErasureReason, erasedForGood, purgeBoundsOf, type PurgeBounds } from './store/removal.js';
export { deepFreeze } from './store/versioned.js';
export {
  assertNotAborted,
  assertPutMatchesKey,
  pageEdgeOf,
  pageOf,
  storeClosed,
  timeWindowOf,
  type PageEdge,
  type TimeWindow,
} from './store/guards.js';
export { jsonText, MAX_RESOURCE_BYTES, parseJsonText } from './store/json-text.js';
export { CallTexts, ShortPage, TextBudget } from './store/text-budget.js';
export { nextInstant, versionBefore, withVersion } from './store/versioned.js';
export { Watchers } from './store/watchers.js';
export { cutPage } from './stores/cut-page.js';
export type {
  AllCriteria,
  AndCriteria,
  ChainCriteria,
  CompositeCriteria,
  Criteria,
  HasCriteria,
  IdCriteria,
  LastUpdatedCriteria,
  MatchCriteria,
  MissingCriteria,
  NoneCriteria,
  NotCriteria,
  OrCriteria,
  SortKey,
} from './search/criteria/criteria.js';
export type {
  ConceptTest,
  DateTest,
  NumberTest,
  Prefix,
  QuantityTest,
  ReferenceTest,
  StringTest,
  TextTest,
  TokenTest,
  UriTest,
  ValueTest,
} from './search/criteria/value-test.js';
export type {
  DateValue,
  IndexEntry,
  IndexValue,
  LocalReferenceValue,
  NumberValue,
  QuantityValue,
  StringValue,
  TokenValue,
  UriValue,
  UrlReferenceValue,
} from './search/index/index-entry.js';
export { SERVER_SCOPE } from './store/resource-key.js';
export type { CallOptions } from './store/call-options.js';
export type { ChangePage, ChangesQuery, CommittedChange } from './store/changes.js';
export type { JoinedStore } from './store/joined-store.js';
export type {
  HistoryEntry,
  HistoryPage,
  VersionRange,
  TypeHistoryEntry,
  TypeHistoryQuery,
  VersionPosition,
} from './store/history.js';
export type { PurgeRequest, PurgeStep, RemovalStep, StoreRemoval } from './store/removal.js';
export type { ReferenceTarget, ResourceKey } from './store/resource-key.js';
export type { SearchPage, SearchQuery } from './store/search-query.js';
export type { ResourceStore, StatementPlan, StoreCall } from './store/store.js';
export type { Deletion, ReadResult, StoredResource } from './store/stored-resource.js';
export type {
  Change,
  DeleteWrite,
  EraseWrite,
  Expectation,
  PutWrite,
  NoMatchAssertion,
  Write,
  WriteResult,
} from './store/write.js';
export type { ReindexMode, ReindexOptions, ReindexProgress } from './stores/sql/reindex.js';
