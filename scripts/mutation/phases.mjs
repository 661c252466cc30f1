/**
 * The tests that are run over mutants, in this order: those that take least and are nearest to the code first, as each
 * mutant is tried only until a test finds it. Property tests and tests of many cases take too long for that.
 */
export const PHASES = [
  [
    'test/access/{assert-indexed,assert-policy-write,caller,chosen-ids,compile-policies,decide,decide-*,default-rules,evaluate-*,explain-*,field-edges}.test.ts',
    'test/access/{commit-failures,commit-guarded,current-caller,find-membership,former-memberships,granted-before,granting-rules,guarded-*,policy-checks}.test.ts',
    'test/access/{hidden-by-writing-rule,keep-decimals,keep-fields,load-stored,make-caller,membership-policies,own-project-write,paths-read,policy-criteria}.test.ts',
    'test/access/{profiles-in-use,related-*,restrict-query,super-admin-powers,unique-keys,validate-writes}.test.ts',
    'test/access/{access-matrix,access-trace,break-glass,break-glass-refusals,clearance,clearance-criteria,identity,list-memberships,narrow-caller,open-invitations}.test.ts',
    'test/access/{narrow-limits,own-parameters-hidden,require-audit,required-profiles,session-checks,sessions,test-policy,type-history}.test.ts',
    'test/terminology/{expand-concepts,policy-expansions}.test.ts',
    'test/access/{switched-off,tallied-store,visible-reads,trusted-reach,within-contexts,write-constraint,write-error,written-resources}.test.ts',
  ],
  [
    'test/search/{criteria-cost,match,resources-inside,sort,values,parse-*,describe-criteria,simplify-criteria,test-value}.test.ts',
  ],
  ['test/stores/memory-store.test.ts', 'test/access/turns/*.test.ts'],
  [
    'test/access/{audited,audited-sign-in,bot-code,carry-out-writes,check-policies,hidden-fields,mask-resource,own-user,policy-mutation,policy-typos}.test.ts',
    'test/access/{programs-closed,restrict,secrets,trusted-code,version-races,write-answers}.test.ts',
  ],
  ['test/access/{binary-context,policy-size,sign-in}.test.ts', 'test/telemetry/{counters,spans}.test.ts'],
  ['test/repository/{audit,history,isolation,patch,administration,transaction,interactions}.test.ts'],
  ['test/repository/search-bundle.test.ts'],
  [
    'test/projects/{audit,choose-membership,invitation-message,invite-body,invite-profiles,invite-refusals,name-for-message,unused-parameters}.test.ts',
  ],
  ['test/projects/{invite,in-doubt,programs,change-programs,members}.test.ts'],
  ['test/profiles/writes.test.ts', 'test/terminology/concept-searches.test.ts'],
  ['test/projects/{acceptance,stale-callers,what-binds}.test.ts', 'test/repository/rights.test.ts'],
  ['test/repository/{search-results,type-history}.test.ts'],
  ['test/http/handler/{everything,rest,rights}.test.ts'],
];
