// Runs the packed package behind GraphQL servers that take graphql 16 alone and so are not development dependency here:
// installs each with it into an empty project and asks the example host of this repository. Run `npm run build` first. What
// cannot be installed is told and left out.
import './assert-node.mjs';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createProject, install, pack, ROOT, run, temporaryFolder, tryInstall } from './package/temporary-project.mjs';

const SERVERS = [
  { name: 'apollo-server', packages: ['@apollo/server@5'] },
  { name: 'mercurius', packages: ['mercurius@16', 'fastify@5'] },
  { name: 'apollo-schema', packages: ['@apollo/server@5'], script: 'apollo-schema.mjs' },
  { name: 'federation', packages: ['@apollo/composition@2'], script: 'compose.mjs' },
];
const SOURCES = [join(ROOT, 'examples', 'servers'), join(ROOT, 'scripts', 'servers')];

const temporary = temporaryFolder();
const { tarball } = pack(temporary);
for (const { name, packages, script = 'exercise.mjs' } of SERVERS) {
  const project = join(temporary, name);
  mkdirSync(project);
  createProject(project);
  for (const folder of SOURCES) {
    for (const file of readdirSync(folder)) copyFileSync(join(folder, file), join(project, file));
  }
  install(project, [tarball, 'graphql@16']);
  if (!tryInstall(project, packages)) {
    console.log(`${packages.join(' and ')} cannot be installed here: left out`);
    continue;
  }
  const output = run(process.execPath, [script, name], { cwd: project });
  console.log(`${packages.join(' and ')}: ${output.trim()}`);
}
