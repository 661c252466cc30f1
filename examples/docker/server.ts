// A service in a container. DATABASE is a SQLite file or the URL of a PostgreSQL database; BASE_URL is how clients see
// the service; ISSUER and JWKS_URL are those of your identity provider.
import { createServer } from 'node:http';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { createAuditLog, signIn, type ResourceStore } from 'fhirgraph';
import { createFhirHandler, toNodeListener } from 'fhirgraph/http';

const { DATABASE = '/data/clinic.db', BASE_URL = 'http://localhost:8080/fhir/R4', PORT = '8080' } = process.env;
const { ISSUER = 'https://id.example', JWKS_URL = 'https://id.example/keys' } = process.env;

const store = await openStore();
const log = createAuditLog({ store });
const keys = createRemoteJWKSet(new URL(JWKS_URL));
const handler = createFhirHandler({
  store,
  baseUrl: BASE_URL,
  audit: log.audit,
  onError: (error) => console.error(error),
  healthcheck: true,
  async signIn(request) {
    const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
    if (token === undefined) return undefined;
    const { payload } = await jwtVerify(token, keys, { issuer: ISSUER, requiredClaims: ['iat', 'sub'] });
    const issuedAt = new Date(payload.iat! * 1000);
    return signIn(store, { project: String(payload['project']), user: payload.sub! }, { issuedAt });
  },
});

const server = createServer(toNodeListener(handler)).listen(Number(PORT), () => console.log(`Listening on ${PORT}`));
process.once('SIGTERM', () => {
  server.close(() => void log.close().then(() => store.close()));
});

/** This service owns its database, so it brings the tables up to date. */
async function openStore(): Promise<ResourceStore> {
  if (!/^postgres(?:ql)?:/.test(DATABASE)) {
    const { SqliteStore } = await import('fhirgraph/sqlite');
    return new SqliteStore(DATABASE, { takeOver: true });
  }
  const [{ PostgresStore }, { default: pg }] = await Promise.all([import('fhirgraph/postgres'), import('pg')]);
  return new PostgresStore(new pg.Pool({ connectionString: DATABASE, max: 20 }), { takeOver: true });
}
