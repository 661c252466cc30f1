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

/** The secrets of the data type IdentityProvider. */
const PROVIDER_SECRETS = ['identityProvider.clientSecret', 'identityProvider.userInfoApiKey'] as const;

/**
 * Element paths never readable through this library, by type. A test walks the definitions and fails if an element with
 * a secret-like name is neither listed here nor reviewed.
 */
const SECRETS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['ClientApplication', ['secret', 'retiringSecret', ...PROVIDER_SECRETS]],
  ['DomainConfiguration', PROVIDER_SECRETS],
  ['JsonWebKey', ['d', 'p', 'q', 'dp', 'dq', 'qi']],
  [
    'Login',
    [
      'code',
      'codeChallenge',
      'cookie',
      'emailMfa.codeHash',
      'nonce',
      'preAuthorizedCodeHash',
      'previousRefreshSecret',
      'refreshSecret',
    ],
  ],
  ['Project', ['secret', 'systemSecret', 'site.googleClientSecret', 'site.recaptchaSecretKey']],
  ['SmartHealthLink', ['passcodeHash']],
  ['User', ['passwordHash', 'mfaSecret']],
  ['UserSecurityRequest', ['secret']],
]);

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

export function secretFields(type: string): readonly string[] {
  return SECRETS.get(type) ?? [];
}

/** Types that live above projects. */
export function isAboveProjects(type: string): boolean {
  return type === 'User' || type === 'Project';
}
