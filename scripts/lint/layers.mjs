/**
 * Which layers each folder of src may import from, types included, besides itself. From the bottom to the top.
 * The public entries beside the folders (index.ts, sqlite.ts …) may import from all; nobody imports them.
 */
const BELOW_ACCESS = ['audit', 'telemetry', 'store', 'search', 'profiles', 'fhirpath', 'fhir', 'platform'];
const BELOW_INTERACTIONS = ['access', ...BELOW_ACCESS];
const BELOW_IMPORT = ['interactions', ...BELOW_INTERACTIONS];
const BELOW_PROJECTS = ['import', ...BELOW_IMPORT];

export const LAYERS = {
  // Runs in browsers, so it imports nothing.
  client: [],
  platform: [],
  fhir: ['platform'],
  fhirpath: ['fhir', 'platform'],
  profiles: ['fhir', 'fhirpath', 'platform'],
  search: ['fhir', 'fhirpath', 'profiles', 'platform'],
  terminology: ['store', 'search', 'fhir', 'platform'],
  // Reads the host's file system; only its own entry imports it.
  'fhir-package': ['fhir'],
  // Writes to the host's file system; only its own entry imports it.
  'audit-journal': ['audit', 'fhir', 'platform'],
  store: ['fhir', 'search', 'platform'],
  telemetry: ['fhir', 'store', 'platform'],
  audit: ['fhir', 'search', 'store', 'telemetry', 'platform'],
  stores: ['store', 'search', 'fhirpath', 'fhir', 'telemetry', 'platform'],
  access: BELOW_ACCESS,
  live: BELOW_INTERACTIONS,
  subscriptions: ['live', ...BELOW_INTERACTIONS],
  interactions: BELOW_INTERACTIONS,
  import: BELOW_IMPORT,
  projects: BELOW_PROJECTS,
  repository: ['live', 'subscriptions', 'projects', ...BELOW_PROJECTS],
  // Knows no store, no project and no repository: what it carries out, it carries out through interactions.
  graphql: ['client', 'live', ...BELOW_IMPORT],
  http: ['live', 'graphql', 'repository', 'projects', ...BELOW_PROJECTS],
  // What hosts' own tests use; nothing else imports it.
  'test-service': ['http', 'graphql', 'repository', 'projects', 'stores', ...BELOW_PROJECTS],
  testing: ['store', 'search', 'fhir'],
  // The program for operators; nothing else imports it.
  command: ['repository', 'projects', 'stores', ...BELOW_PROJECTS],
};

/** The parts of folders that have an order of their own, from the bottom to the top. Files not listed stand on top. */
export const ROOMS = {
  fhir: [
    ...['messages.ts', 'error.ts', 'resource.ts', 'reference.ts', 'own-extensions.ts', 'json/', 'model/'],
    ...['r4-definitions.ts', 'r4.ts', 'date.ts', 'validation/', 'validate-resource.ts', 'json-patch.ts'],
  ],
  search: ['criteria/', 'index/', 'extend/', 'evaluate/', 'parse/'],
  access: [
    ...[
      'limits/',
      'rule.ts',
      'narrowing.ts',
      'fields/',
      'policy/',
      'caller.ts',
      'turns/',
      'operation.ts',
      'access-trace.ts',
      'contract.ts',
      'decide.ts',
    ],
    ...['evaluate/', 'terminology/', 'narrow/', 'sign-in/', 'read/', 'write/', 'guarded-store.ts', 'explain/'],
  ],
  import: [...['session.ts', 'entries/', 'write.ts', 'links/', 'bundle/', 'bundles/', 'ndjson/']],
  projects: [
    ...[
      'session/',
      'body/',
      'people/',
      'invitation.ts',
      'mail/',
      'clients/',
      'invite/',
      'accept/',
      'members/',
      'project/',
      'erasure/',
    ],
  ],
  http: [
    ...['http-types.ts', 'negotiate.ts', 'read-body.ts', 'read-graphql-request.ts', 'to-http-response.ts'],
    ...['exchange/', 'rest/', 'admin/', 'handler/'],
  ],
  graphql: [
    ...[
      'graphql-js.ts',
      'graphql-js-validation.ts',
      'plain-variables.ts',
      'dialect.ts',
      'limits.ts',
      'check-document.ts',
      'prepared-document.ts',
    ],
    ...[
      'schema/',
      'validation/',
      'plan/',
      'check-by-rules.ts',
      'prepare-document.ts',
      'documents/',
      'execute/',
      'introspect/',
      'coerce-variables.ts',
      'context.ts',
      'prepare-request.ts',
      'request-cost.ts',
    ],
    ...[
      'execute-fhir-graphql.ts',
      'subscribe-fhir-graphql.ts',
      'forwarded-document.ts',
      'executable-schema.ts',
      'explain/',
      'validate-documents/',
      'create-fhir-graphql.ts',
    ],
  ],
  'stores/sqlite': [
    ...[
      'database/',
      'rows/',
      'schema/',
      'scans/tuning.ts',
      'segments/',
      'scans/',
      'pages/',
      'search/',
      'commit/',
      'maintenance/',
      'connection.ts',
      'threads/',
    ],
  ],
  'stores/postgres': [
    ...['database/', 'rows/', 'schema/', 'scans/tuning.ts', 'segments/', 'scans/', 'pages/', 'search/', 'maintenance/'],
    'commit/',
  ],
};
