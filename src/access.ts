// What operators ask of access policies: who may do what and why, and which policies are not understood.

export type { Caller, MemberCaller, ServerCaller, SystemCaller } from './access/caller.js';
export {
  accessMatrix,
  type AccessByType,
  type AccessMatrixContext,
  type MemberAccess,
  type TypeAccess,
} from './access/explain/access-matrix.js';
export { checkPolicies, type PolicyCheck, type PolicyFinding } from './access/explain/check-policies.js';
export {
  explainAccess,
  type AccessExplanation,
  type AccessQuestion,
  type DenialReason,
  type ExplainAccessContext,
  type InteractionExplanation,
} from './access/explain/explain-access.js';
export type { PolicyProblem } from './access/policy/policy-problem.js';
export type { SuperAdminPower } from './access/policy/policy-grant.js';
export type { Interaction } from './access/rule.js';
export type { ResourceRef } from './access/sign-in/find-membership.js';
export type { StoreContext } from './store/store-context.js';
export type { CallLimits } from './access/limits/call-limits.js';
export type { ConcurrencyOptions, Concurrency } from './access/limits/concurrency.js';
