// Value sets and hierarchies of codes in searches and access policies.

export type { Concept } from './search/criteria/criteria.js';
export type { ExpansionRequest } from './search/criteria/value-test.js';
export type {
  LookupRequest,
  SubsumesRequest,
  Subsumption,
  Terminology,
  TerminologyContext,
} from './store/terminology.js';
export { withTerminology } from './store/store-view.js';
export { projectTerminology, type ProjectTerminologyOptions } from './terminology/project-terminology.js';
export {
  remoteTerminology,
  type RemoteHeaders,
  type RemoteTerminologyOptions,
} from './terminology/remote-terminology.js';
