// Runs the packed package with web frameworks, GraphQL servers, schema tools, FHIR clients and query builders that are not
// development dependencies here, because they require graphql 16 or many packages: installs each into an empty project and
// runs its script. Run `npm run build` first.
// A package that cannot be installed is reported and left out.
import './assert-node.mjs';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createProject, install, pack, ROOT, run, temporaryFolder, tryInstall } from './package/temporary-project.mjs';

/** Later versions of the last two depend on a version of `batch-execute` that not every registry has. */
const STITCHING = ['@graphql-tools/stitch@10', '@graphql-tools/delegate@12.2.0', '@graphql-tools/wrap@11.2.0'];

const SQLITE = 'better-sqlite3@13';

const SERVERS = [
  { name: 'express', packages: ['express@5'], script: 'hosts.mjs' },
  { name: 'fastify', packages: ['fastify@5'], script: 'hosts.mjs' },
  { name: 'apollo-server', packages: ['@apollo/server@5'] },
  { name: 'mercurius', packages: ['mercurius@16', 'fastify@5'] },
  { name: 'apollo-schema', packages: ['@apollo/server@5'], script: 'apollo-schema.mjs' },
  { name: 'federation', packages: ['@apollo/composition@2'], script: 'compose.mjs' },
  { name: 'gateway', packages: ['@apollo/gateway@2'], script: 'gateway.mjs' },
  { name: 'stitching', packages: STITCHING, script: 'stitch.mjs' },
  {
    name: 'pothos',
    packages: ['@pothos/core@4', '@graphql-tools/schema@10'],
    script: 'pothos.mjs',
    graphql: 'graphql@17',
  },
  { name: 'event-stream', packages: ['graphql-sse@2', '@apollo/client@4', 'rxjs@7'], script: 'event-stream.mjs' },
  { name: 'nexus', packages: ['nexus@1'], script: 'nexus.mjs' },
  { name: 'fhir-kit-client', packages: ['fhir-kit-client@2', SQLITE], script: 'fhir-clients.mjs' },
  { name: 'fhirclient', packages: ['fhirclient@2', SQLITE], script: 'fhir-clients.mjs' },
  {
    name: '@medplum/react-hooks',
    packages: ['@medplum/react-hooks@5', '@medplum/core@5', 'react@19', 'react-dom@19', 'jsdom@26', SQLITE],
    script: 'fhir-clients.mjs',
  },
  { name: 'kysely', packages: ['kysely@0.29', SQLITE, 'pg@8'], script: 'host-transactions.mjs' },
  { name: 'drizzle-orm', packages: ['drizzle-orm@0.45', SQLITE, 'pg@8'], script: 'host-transactions.mjs' },
  { name: 'jest', packages: ['jest@30', '@medplum/core@5'], script: 'test-runners.mjs' },
  // Only over the PostgreSQL server whose URL is POSTGRES.
  ...(process.env.POSTGRES === undefined
    ? []
    : [
        {
          name: 'prisma',
          packages: ['prisma@7', '@prisma/client@7', '@prisma/adapter-pg@7', SQLITE, 'pg@8'],
          script: 'host-transactions.mjs',
        },
      ]),
];
const SOURCES = ['examples/hosts', 'examples/servers', 'scripts/servers'].map((folder) => join(ROOT, folder));

const temporary = temporaryFolder();
const { tarball } = pack(temporary);
for (const { name, packages, script = 'exercise.mjs', graphql = 'graphql@16' } of SERVERS) {
  const project = join(temporary, name);
  mkdirSync(project, { recursive: true });
  createProject(project);
  for (const folder of SOURCES) {
    for (const file of readdirSync(folder)) copyFileSync(join(folder, file), join(project, file));
  }
  install(project, [tarball, graphql]);
  if (!tryInstall(project, packages)) {
    console.log(`${packages.join(' and ')} cannot be installed here: left out`);
    continue;
  }
  const output = run(process.execPath, [script, name], { cwd: project });
  console.log(`${packages.join(' and ')}: ${output.trim()}`);
}
