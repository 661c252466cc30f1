/** Types that a rule for `*` never covers: who may sign in, and what each may do. */
const ADMINISTRATIVE: ReadonlySet<string> = new Set([
  'AccessPolicy',
  'Cron',
  'IdentityProvider',
  'Package',
  'PackageInstallation',
  'PackageRelease',
  'Project',
  'ProjectMembership',
  'User',
  'UserSecurityRequest',
]);

/** Types that no rule reaches, whoever wrote it: keys, sessions, the registration of domains. */
const PROTECTED: ReadonlySet<string> = new Set(['DomainConfiguration', 'Enterprise', 'JsonWebKey', 'Login']);

/**
 * Types whose resources sign in and act: a member who rewrites one acts with its rights. They are read like other types,
 * and written through the operations for administrators (`createClient`, `updateBot` …) and by trusted code.
 */
const PROGRAMS: ReadonlySet<string> = new Set(['Bot', 'ClientApplication']);

/** Fields that nobody ever reads through this library, by type. */
const SECRETS: ReadonlyMap<string, readonly string[]> = new Map([
  ['ClientApplication', ['secret', 'retiringSecret']],
  ['User', ['passwordHash', 'mfaSecret']],
  ['Project', ['secret', 'systemSecret']],
  ['UserSecurityRequest', ['secret']],
]);

export function coveredByWildcard(type: string): boolean {
  return !ADMINISTRATIVE.has(type) && !PROTECTED.has(type);
}

export function isProtected(type: string): boolean {
  return PROTECTED.has(type);
}

export function isProgram(type: string): boolean {
  return PROGRAMS.has(type);
}

export function secretFields(type: string): readonly string[] {
  return SECRETS.get(type) ?? [];
}

/** Types that live above projects. */
export function isAboveProjects(type: string): boolean {
  return type === 'User' || type === 'Project';
}
