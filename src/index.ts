// The public names, nothing else. Nobody inside imports this file.

export { searchAuditLog } from './repository/search-audit-log.js';
export { toAuditEvent } from './audit/audit-event.js';
export type { AuditHook, AuditOptions } from './audit/audit.js';
export { AUDIT_LOG_PROJECT } from './audit/log/chain.js';
export type { AuditJournal } from './audit/log/delivery.js';
export type { AuditHead } from './audit/log/chain.js';
export { createAuditLog, type AuditLog, type AuditLogConfig } from './audit/log/create-audit-log.js';
export {
  verifyAuditLog,
  type AuditLogProblem,
  type AuditLogReport,
  type AuditSegment,
  type VerifyAuditLogContext,
} from './audit/log/verify-audit-log.js';
export type {
  AuditedCaller,
  AuditedCount,
  AuditedEmergency,
  AuditedPatients,
  AuditedResource,
  AuditedResources,
  AuditInteraction,
  AuditOutcome,
  AuditRecord,
  AuditTarget,
  ProjectOperation,
  RestInteraction,
  SignInInteraction,
} from './audit/audit-record.js';
export {
  serverCaller,
  systemCaller,
  type Caller,
  type MemberCaller,
  type ServerCaller,
  type SystemCaller,
} from './access/caller.js';
export type { Interaction } from './access/rule.js';
export type { SuperAdminPower } from './access/policy/policy-grant.js';
export { breakGlass, type BreakGlassOptions, type EmergencyNotice } from './access/sign-in/break-glass.js';
export { narrowCaller } from './access/sign-in/session.js';
export type { Clearance } from './access/narrowing.js';
export type { Narrowing } from './access/narrowing.js';
export { signIn, type SignInOptions } from './access/sign-in/sign-in.js';
export type { SignInIdentity } from './access/sign-in/find-membership.js';
export { listMemberships, type MembershipSummary } from './access/sign-in/list-memberships.js';
export type { PersonIdentity } from './access/sign-in/find-membership.js';
export type { ResourceRef } from './access/sign-in/find-membership.js';
export { whoAmI, type WhoAmI, type WhoAmIContext } from './access/who-am-i.js';
export { type DetailsOf, ERROR_CODES, FhirError, type ErrorCode, type FhirErrorOptions } from './fhir/error.js';
export type { ErrorDetails, WriteDetails } from './fhir/error.js';
export type { OperationOutcome, OutcomeCoding, OutcomeIssue } from './fhir/error.js';
export type { AnyResource, ResourceMeta } from './fhir/resource.js';
export type { Stored } from './fhir/resource.js';
export { createAllowList } from './graphql/documents/document-lists.js';
export { createAutomaticDocuments, type AutomaticDocumentsOptions } from './graphql/documents/document-lists.js';
export type {
  PersistedDocuments,
  DocumentText,
  PersistedDocument,
  PersistedQueryCode,
} from './graphql/documents/documents.js';
export type { ResponseError } from './graphql/execute/response-errors.js';
export type {
  ExplainedCall,
  ExplainedCriteria,
  ExplainedPage,
  ExplainedPlan,
  ExplainedRule,
} from './graphql/explain/explained-plan.js';
export { explainFhirGraphql, type GraphqlExplanation } from './graphql/explain/explain-fhir-graphql.js';
export { executeFhirGraphql, type FhirGraphqlResult } from './graphql/execute-fhir-graphql.js';
export {
  subscribeFhirGraphql,
  type FhirGraphqlResults,
  type SubscriptionStart,
} from './graphql/subscribe-fhir-graphql.js';
export type {
  QueryDocument,
  TypedContext,
  TypedDocument,
  TypedRequest,
  TypedServiceRequest,
  WithVariables,
} from './graphql/context.js';
export type {
  FhirGraphqlConfig,
  FhirGraphqlContext,
  FhirGraphqlRequest,
  FhirGraphqlService,
  ServiceRequest,
} from './graphql/context.js';
export {
  createFhirGraphql,
  type FhirGraphql,
  type FhirServiceConfig,
  type ServiceSchemaOptions,
} from './graphql/create-fhir-graphql.js';
export type { Dialect } from './graphql/dialect.js';
export type { Location as QueryLocation } from './graphql/plan/plan.js';
export type { ReferenceResolver } from './graphql/execute/run.js';
export { DEFAULT_LIMITS, type LimitOptions, type Limits } from './graphql/limits.js';
export type { RequestCost } from './graphql/request-cost.js';
export type { IntrospectionOption } from './graphql/introspect/introspect.js';
export { defineField, type ParentWithNeeds } from './graphql/schema/host/define-field.js';
export type {
  ElementOf,
  HostField,
  HostFieldContext,
  HostFieldOptions,
  HostFields,
  HostParent,
  HostParentOf,
  HostRootField,
  HostValue,
  HostWrite,
  HostWriteContext,
  HostWriteField,
  HostWriteOutcome,
  ResourcesByType,
  UntypedHostField,
  WritableResource,
} from './graphql/schema/host/host-fields.js';
export type {
  ArgumentText,
  ArgumentTexts,
  ArgumentTypeText,
  ArgumentValues,
  GivenArgument,
  InputOfText,
  RequiredSdlValue,
  ResourceLink,
  SdlOutputTypes,
  SdlScalars,
  SdlValue,
  TrimmedText,
  TypeOfText,
} from './graphql/schema/host/text-types.js';
export { type PrintOptions, printFhirSchema, type SchemaOptions } from './graphql/schema/print-fhir-schema.js';
export type { ApolloManifest, DocumentManifest } from './graphql/validate-documents/document-manifest.js';
export {
  type GraphqlFinding,
  type GraphqlValidation,
  type GraphqlValidationOptions,
  validateFhirGraphql,
} from './graphql/validate-documents/validate-fhir-graphql.js';
export type { ValidatedOperation } from './graphql/validate-documents/validate-operation.js';
export type { LeafOptions } from './graphql/schema/leaf-types.js';
export type { SchemaDetail } from './graphql/schema/schema-detail.js';
export type { HttpRequest, HttpResponse } from './http/http-types.js';
export { toHttpResponse, type ResponseOptions } from './http/to-http-response.js';
export type { ImportResult } from './import/entries/entry-outcome.js';
export { importBundle } from './import/bundle/import-bundle.js';
export {
  type BadBundle,
  type BundlesContext,
  type BundleSource,
  type BundlesResult,
  importBundles,
} from './import/bundles/import-bundles.js';
export type { NdjsonSource } from './import/ndjson/read-line.js';
export type { ImportContext } from './import/session.js';
export { importNdjson } from './import/ndjson/import-ndjson.js';
export {
  type BadLine,
  type NdjsonContext,
  type NdjsonProgress,
  type NdjsonResult,
} from './import/ndjson/ndjson-types.js';
export {
  type BotBody,
  type ClientBody,
  createBot,
  createClient,
  type CreatedBot,
  type CreatedClient,
  type ClientOrBotBody,
} from './projects/clients/create-client.js';
export type { UncheckedRule } from './profiles/element-rules.js';
export {
  type ResourceValidation,
  type ResourceValidationOptions,
  validateResource,
} from './profiles/validate-resource.js';
export { type ErasedResource, eraseResource } from './projects/erasure/erase-resource.js';
export { erasePatient, type PatientErasure, type PatientErasureContext } from './projects/erasure/erase-patient.js';
export {
  ERASURE_REASONS,
  type ErasureContext,
  type ErasureReason,
  type RemovalContext,
} from './projects/erasure/erasure-session.js';
export type { KeptBecause, KeptResource } from './projects/erasure/patient-plan.js';
export { type HistoryPurge, purgeHistory } from './projects/erasure/purge-history.js';
export { deactivateProject, reactivateProject } from './projects/project/deactivate-project.js';
export {
  type DeletedProject,
  deleteProject,
  type DeletionProgress,
  type ProjectDeletion,
} from './projects/project/delete-project.js';
export { type ExportContext, exportProject } from './projects/project/export-project.js';
export { listProjects } from './projects/project/list-projects.js';
export { type ProjectChanges, updateProject } from './projects/project/update-project.js';
export { createProject, type ProjectBody } from './projects/project/create-project.js';
export type { PersonProfile } from './projects/session/project-session.js';
export { initialize, type InitializeOptions, type Initialized } from './projects/clients/initialize.js';
export type {
  AccessChoice,
  InviteBody,
  InviteDryRun,
  MembershipChoice,
  MembershipIdentifier,
  ParameterChoice,
  PersonType,
} from './projects/body/invite-body.js';
export { invite, type InviteContext, type InvitePreview, type InviteResult } from './projects/invite/invite.js';
export {
  acceptInvitation,
  type AcceptanceContext,
  type AcceptedInvitation,
  type VerifiedIdentity,
} from './projects/accept/accept-invitation.js';
export type { AcceptanceOptions } from './projects/invitation.js';
export type {
  EmailOutcome,
  Invitation,
  InvitationFacts,
  InvitationMessage,
  MailContext,
  Mailer,
  MessageBuilder,
} from './projects/mail/invitation.js';
export type { ProjectContext } from './projects/session/project-context.js';
export { revokeSessions, type RevokedSessions } from './projects/members/revoke-sessions.js';
export { removeMember } from './projects/members/update-member.js';
export { resendInvitation } from './projects/invite/resend-invitation.js';
export { rotateClientSecret, type SecretRotation } from './projects/clients/rotate-client-secret.js';
export { searchMembers } from './projects/members/search-members.js';
export { updateMember, type MemberChanges } from './projects/members/update-member.js';
export {
  type BotChanges,
  type BotRef,
  type ClientChanges,
  type ClientRef,
  updateBot,
  updateClient,
} from './projects/clients/update-client.js';
export { type PresentedSecret, verifyClientSecret } from './projects/clients/verify-client-secret.js';
export { createRepository } from './repository/create-repository.js';
export type { JsonPatchOperation } from './fhir/json-patch.js';
export type { RepositoryContext } from './repository/repository.js';
export type {
  CreateOptions,
  MatchOptions,
  Repository,
  ResourceEvent,
  SubscribeOptions,
  TransactionOptions,
  TypeHistoryPage,
  UpdateOptions,
  VersionsPage,
  WriteOptions,
} from './repository/repository.js';
export type { RepositorySearch } from './repository/search-query.js';
export type { SearchInput } from './search/parse/parse-search.js';
export type { ResourceStore } from './store/store.js';
export type { StoreContext } from './store/store.js';
export type { CallLimits, LimitedStoreContext } from './access/limits/call-limits.js';
export type { Concurrency, ConcurrencyOptions } from './access/limits/call-limits.js';
export type { StreamLimits, StreamLimitOptions } from './access/limits/call-limits.js';
export type { MemoryStoreOptions } from './stores/memory/config.js';
export { MemoryStore } from './stores/memory/store.js';
export { deliverSubscriptions } from './subscriptions/deliver-subscriptions.js';
export type {
  DeliverHook,
  DeliverSubscriptionsOptions,
  DeliveryRetry,
  SubscriptionNotification,
} from './subscriptions/delivery-settings.js';
