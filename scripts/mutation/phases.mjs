/**
 * The tests that are run over mutants, in this order: those that take least first, as each mutant is tried only until a
 * test finds it. Property tests and tests of many cases take too long for that.
 */
export const PHASES = [
  // Some milliseconds at most, as they call one function.
  [
    'test/access/{access-trace,assert-*,audited,caller,clearance-criteria,commit-failures,commit-trace,decide,decide-*,default-rules,field-edges}.test.ts',
    'test/access/{find-membership,former-memberships,granted-before,granting-rules,guarded-store,hidden-by-writing-rule,keep-*}.test.ts',
    'test/access/{make-caller,membership-*,open-invitations,own-project-write,policy-checks,policy-criteria,policy-terminology}.test.ts',
    'test/access/{profiles-in-use,related-patient,require-audit,required-profiles,restrict-query,session-checks,super-admin-powers}.test.ts',
    'test/access/{switched-off,tallied-store,trusted-reach,unique-keys,validate-writes,within-contexts,write-error}.test.ts',
    'test/projects/{choose-membership,invite-body}.test.ts',
    'test/search/{criteria-cost,describe-criteria,match,parse-filter,parse-parameter,resources-inside,sort,test-value,values}.test.ts',
    'test/terminology/{expand-concepts,policy-expansions}.test.ts',
  ],
  [
    'test/access/{audited-sign-in,break-glass-refusals,carry-out-writes,chosen-ids,clearance,compile-policies,evaluate-*}.test.ts',
    'test/access/{explain-query,explain-reasons,guarded-elements,hidden-fields,identity,list-memberships,load-stored,narrow-caller}.test.ts',
    'test/access/{narrow-limits,own-user,paths-read,secrets,sign-in,test-policy,trusted-code,visible-reads,write-answers,write-constraint}.test.ts',
    'test/search/{parse-search,simplify-criteria}.test.ts',
  ],
  [
    'test/access/{access-matrix,break-glass,check-policies,commit-guarded,current-caller,explain-access,mask-resource}.test.ts',
    'test/access/{policy-typos,related-person,restrict,sessions,type-history}.test.ts',
    'test/access/turns/*.test.ts',
    'test/stores/memory/store.test.ts',
  ],
  ['test/repository/{audit,history,isolation,patch,transaction,interactions,search-bundle,rights}.test.ts'],
  [
    'test/access/{binary-context,bot-code,policy-size,programs-closed,version-races,written-resources}.test.ts',
    'test/repository/administration.test.ts',
    'test/telemetry/{counters,spans}.test.ts',
  ],
  ['test/access/{own-parameters-hidden,policy-mutation}.test.ts'],
  ['test/profiles/writes.test.ts', 'test/terminology/concept-searches.test.ts'],
  [
    'test/projects/{audit,invitation-message,invite-profiles,invite-refusals,name-for-message,unused-parameters}.test.ts',
  ],
  ['test/projects/{invite,in-doubt,programs,change-programs,members}.test.ts'],
  ['test/projects/{acceptance,stale-callers,what-binds}.test.ts'],
  ['test/repository/{search-results,type-history}.test.ts'],
  ['test/http/handler/{everything,rest,rights}.test.ts'],
];
