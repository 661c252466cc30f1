import { generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { type Caller, FhirError, type ResourceStore, signIn } from 'fhirgraph';
import { verifyOnce } from './verified-tokens.js';

const ISSUER = 'https://id.example.org';
const AUDIENCE = 'https://fhir.example.org';

/** Stands for your identity provider: signs tokens, and knows the key that they are verified with. */
export interface Tokens {
  /** A token for a user or client in a project. */
  sign(claims: { readonly sub: string; readonly project: string }, lifetime?: string): Promise<string>;
  /**
   * Who a request comes from, by its `Authorization` header.
   *
   * @returns undefined without a token
   * @throws FhirError `unauthenticated` - the token is not valid; and what `signIn` throws
   */
  callerOf(authorization: string | null, store: ResourceStore): Promise<Caller | undefined>;
}

export async function createTokens(): Promise<Tokens> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const rules = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], requiredClaims: ['exp', 'iat', 'sub'] };
  const verify = verifyOnce(async (token) => {
    const { payload } = await jwtVerify<{ project: string }>(token, publicKey, rules);
    return payload;
  });
  return {
    sign: ({ sub, project }, lifetime = '5m') =>
      new SignJWT({ project })
        .setProtectedHeader({ alg: 'ES256' })
        .setSubject(sub)
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setIssuedAt()
        .setExpirationTime(lifetime)
        .sign(privateKey),
    async callerOf(authorization, store) {
      const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
      if (token === undefined) return undefined;
      const {
        sub = '',
        project,
        iat = 0,
      } = await verify(token).catch((cause: unknown) => {
        throw new FhirError('unauthenticated', 'The token is not valid', { cause });
      });
      const isClient = sub.startsWith('ClientApplication/');
      const issuedAt = new Date(iat * 1000);
      return signIn(store, isClient ? { project, client: sub } : { project, user: sub }, { issuedAt });
    },
  };
}
