import { EXPORT_ROUTES } from '../admin/export-routes.js';
import { INVITATION_ROUTES } from '../admin/invitation-routes.js';
import { MEMBER_ROUTES } from '../admin/member-routes.js';
import { PROJECT_ROUTES } from '../admin/project-routes.js';
import { REMOVAL_ROUTES } from '../admin/removal-routes.js';
import { BINARY_ROUTES } from '../rest/binary-routes.js';
import { BUNDLE_ROUTES } from '../rest/bundle-routes.js';
import { EVERYTHING_ROUTES } from '../rest/everything-routes.js';
import { GRAPHQL_ROUTES } from '../rest/graphql-routes.js';
import { METADATA_ROUTES } from '../rest/metadata-routes.js';
import { READ_ROUTES } from '../rest/read-routes.js';
import { SEARCH_ROUTES } from '../rest/search-routes.js';
import { VALIDATE_ROUTES } from '../rest/validate-routes.js';
import { WRITE_ROUTES } from '../rest/write-routes.js';
import type { Route } from '../exchange/route.js';

/** All routes. If several match a request, the first one answers. */
export const ROUTES: readonly Route[] = [
  ...PROJECT_ROUTES,
  ...EXPORT_ROUTES,
  ...REMOVAL_ROUTES,
  ...MEMBER_ROUTES,
  ...INVITATION_ROUTES,
  ...METADATA_ROUTES,
  ...GRAPHQL_ROUTES,
  ...EVERYTHING_ROUTES,
  ...VALIDATE_ROUTES,
  ...BINARY_ROUTES,
  ...READ_ROUTES,
  ...SEARCH_ROUTES,
  ...WRITE_ROUTES,
  ...BUNDLE_ROUTES,
];
