/** Types that a rule for `*` never covers: they decide who may sign in and what each may do. */
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

/** Types that no rule can grant: keys, sessions, the registration of domains. */
const PROTECTED: ReadonlySet<string> = new Set(['DomainConfiguration', 'Enterprise', 'JsonWebKey', 'Login']);

/**
 * Types that sign in and act: a member who changes one acts with its rights. They are read like other types, and
 * written through the operations for administrators (`createClient`, `updateBot` …) and by trusted code.
 */
const PROGRAMS: ReadonlySet<string> = new Set(['Bot', 'ClientApplication']);

export function coveredByWildcard(type: string): boolean {
  return !ADMINISTRATIVE.has(type) && !PROTECTED.has(type);
}

/** Types that decide access or sign in themselves, without clinical content. */
export function isAdministrative(type: string): boolean {
  return ADMINISTRATIVE.has(type) || PROGRAMS.has(type) || type === 'UserConfiguration';
}

export function isProtected(type: string): boolean {
  return PROTECTED.has(type);
}

export function isClientType(type: string): boolean {
  return PROGRAMS.has(type);
}

/** Types that live above projects. */
export function isAboveProjects(type: string): boolean {
  return type === 'User' || type === 'Project';
}
