/**
 * The code that mutation testing changes, in groups of files, each with the tests that are asked about it: quick ones that
 * are near to the code. Property tests and tests of whole stories take seconds for each mutant, so they are not asked.
 *
 * A file belongs to the first group that holds it or its folder.
 *
 * @type {readonly { name: string, files: readonly string[], tests: readonly string[] }[]}
 */
export const GROUPS = [
  {
    name: 'access/explain',
    files: ['src/access/explain/'],
    tests: ['test/access/{explain-*,check-policies}.test.ts'],
  },
  {
    name: 'access/fields',
    files: ['src/access/fields/'],
    tests: [
      'test/access/{field-edges,guarded-elements,hidden-fields,keep-fields,mask-resource,hidden-by-writing-rule}.test.ts',
    ],
  },
  {
    name: 'access/read',
    files: ['src/access/read/'],
    tests: ['test/access/{restrict,restrict-query,visible-reads,within-contexts,hidden-fields,binary-context}.test.ts'],
  },
  {
    name: 'access/evaluate',
    files: ['src/access/evaluate/'],
    tests: ['test/access/{evaluate-criteria,granting-rules,visible-reads,restrict}.test.ts'],
  },
  {
    name: 'access/policy-checks',
    files: [
      'src/access/policy/assert-policy-write.ts',
      'src/access/policy/policy-problem.ts',
      'src/access/policy/policy-shape.ts',
      'src/access/policy/policy-size.ts',
      'src/access/policy/write-constraint.ts',
    ],
    tests: ['test/access/{policy-shape,policy-size,write-constraint,assert-policy-write}.test.ts'],
  },
  {
    name: 'access/policy',
    files: ['src/access/policy/'],
    tests: [
      'test/access/{access-policy,policy-criteria,default-rules,membership-policies,super-admin-powers,decide}.test.ts',
      'test/access/{binary-context,own-user,within-contexts}.test.ts',
    ],
  },
  {
    name: 'access/sign-in',
    files: ['src/access/sign-in/'],
    tests: [
      'test/access/{sign-in,current-caller,related-*,default-rules,switched-off,check-policies,carry-out-writes}.test.ts',
    ],
  },
  {
    name: 'access/write',
    files: ['src/access/write/'],
    tests: [
      'test/access/{bot-code,carry-out-writes,chosen-ids,former-memberships,keep-fields,own-*,programs-closed}.test.ts',
      'test/access/{secrets,trusted-code,version-races,write-answers,write-races,policy-mutation}.test.ts',
      'test/repository/administration.test.ts',
    ],
  },
  {
    name: 'access',
    files: ['src/access/'],
    tests: [
      'test/access/{audited,caller,decide,guarded-store,restrict,sign-in,tallied-store,trusted-code,write-answers}.test.ts',
      'test/repository/{audit,administration,isolation}.test.ts',
    ],
  },
  {
    name: 'search',
    files: [
      'src/search/evaluate/',
      'src/search/parse/chain.ts',
      'src/search/parse/date-span.ts',
      'src/search/parse/number-span.ts',
    ],
    tests: ['test/search/{match,sort,values,parse-search,parse-parameter,search-subject}.test.ts'],
  },
  {
    name: 'repository',
    files: ['src/repository/'],
    tests: ['test/repository/*.test.ts'],
  },
  {
    name: 'interactions',
    files: ['src/interactions/'],
    tests: [
      'test/repository/{interactions,transaction,patch,administration}.test.ts',
      'test/access/carry-out-writes.test.ts',
    ],
  },
  {
    name: 'projects/clients',
    files: ['src/projects/clients/', 'src/projects/project/', 'src/projects/session/'],
    tests: ['test/projects/{programs,change-programs,audit,in-doubt,stale-callers}.test.ts'],
  },
  {
    name: 'projects/invite',
    files: ['src/projects/body/', 'src/projects/invite/', 'src/projects/mail/', 'src/projects/people/'],
    tests: [
      'test/projects/{invite,invite-profiles,invite-refusals,name-for-message,unused-parameters,in-doubt}.test.ts',
    ],
  },
  {
    name: 'projects/members',
    files: ['src/projects/members/'],
    tests: ['test/projects/{members,unused-parameters,what-binds,audit,member-names}.test.ts'],
  },
];
