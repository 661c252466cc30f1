// What operators ask of access policies: who may do what and why, and which policies are not understood.

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
