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

/** The element paths of a type that are secrets. */
export function secretFields(type: string): readonly string[] {
  return SECRETS.get(type) ?? [];
}
