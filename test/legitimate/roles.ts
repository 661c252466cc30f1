import type { Role } from './operation.js';
import { ADMINISTRATOR } from './roles/administrator.js';
import { AUDITOR } from './roles/auditor.js';
import { CARE_TEAM } from './roles/care-team.js';
import { BOT_FEED, LABORATORY } from './roles/feeds.js';
import { FRONT_DESK } from './roles/front-desk.js';
import { LARGE } from './roles/large-policy.js';
import { PROVISIONER, SUPER_ADMIN } from './roles/operations.js';
import { ONE_PATIENT } from './roles/one-patient.js';
import { ADMINISTRATOR_WITH_POLICY, MIXED } from './roles/mixed-rules.js';
import { NURSE, TWO_WARDS } from './roles/organizations.js';
import { FILES, PATIENT, PORTAL } from './roles/patients.js';
import { PRACTITIONER } from './roles/practitioner.js';
import { BOT, PROGRAM } from './roles/programs.js';
import { RELATED, RELATED_WITH_POLICY } from './roles/related-persons.js';
import { RESEARCHER } from './roles/researcher.js';
import { MOVER, OPERATOR } from './roles/server.js';
import { TRUSTED } from './roles/trusted.js';
import { TWO_PROJECTS } from './roles/two-projects.js';

/** All users of the library, and the operations that must succeed for each of them. */
export const ROLES: readonly Role[] = [
  SUPER_ADMIN,
  PROVISIONER,
  ADMINISTRATOR,
  ADMINISTRATOR_WITH_POLICY,
  PRACTITIONER,
  NURSE,
  TWO_WARDS,
  CARE_TEAM,
  ONE_PATIENT,
  AUDITOR,
  FRONT_DESK,
  RESEARCHER,
  MIXED,
  LARGE,
  PATIENT,
  PORTAL,
  FILES,
  RELATED,
  RELATED_WITH_POLICY,
  ...TWO_PROJECTS,
  LABORATORY,
  PROGRAM,
  BOT_FEED,
  BOT,
  TRUSTED,
  OPERATOR,
  MOVER,
];
