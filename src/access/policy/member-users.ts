import { ALL, type Criteria } from '../../search/criteria/criteria.js';

/** Criteria that represent "Users who are members of the caller's project"; see `resolveMemberUsers`. */
export const MEMBER_USERS: Criteria = Object.freeze({
  kind: 'has',
  type: 'ProjectMembership',
  parameter: 'user',
  of: ALL,
});
