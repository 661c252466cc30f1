/**
 * Name of the field that identifies a resource among all others, including contained ones. It cannot collide with a
 * FHIR element, because no element has an underscore inside its name.
 */
export const CACHE_KEY = 'cache_key';

/** An object of an answer, as a cache receives it. */
export interface KeyedObject {
  readonly [field: string]: unknown;
}

/**
 * For Apollo Client: `new InMemoryCache({ dataIdFromObject, possibleTypes })`. Objects without `cache_key` are kept inside
 * the object around them, also where they have an `id`: the ids of elements and of contained resources are unique within
 * one resource only.
 *
 * @returns undefined for an object that has no key
 */
export function dataIdFromObject(object: KeyedObject): string | undefined {
  const key = object[CACHE_KEY];
  return typeof key === 'string' && key !== '' ? key : undefined;
}

/** For Relay: `new Store(source, { getDataID })`, with `"nodeInterfaceIdField": "cache_key"` in the compiler's `schemaConfig`. */
export function getDataID(object: KeyedObject, _typename?: string): string | undefined {
  return dataIdFromObject(object);
}

/**
 * For urql's Graphcache: `cacheExchange({ keys })`. It covers every type, because Graphcache would otherwise key any
 * object with an `id` by that `id`.
 */
export const keys: { [typename: string]: (object: KeyedObject) => string | null } = new Proxy(Object.create(null), {
  get: (_, typename) =>
    typeof typename === 'string' ? (object: KeyedObject) => dataIdFromObject(object) ?? null : undefined,
});

/** The types behind the interface `Resource`, as the definitions have them, which browsers do without. */
const RESOURCE_TYPES: readonly string[] = (
  'AccessPolicy Account ActivityDefinition AdverseEvent Agent AllergyIntolerance ' +
  'Appointment AppointmentResponse AsyncJob AuditEvent Basic Binary BiologicallyDerivedProduct ' +
  'BodyStructure Bot BulkDataExport Bundle CapabilityStatement CarePlan CareTeam ' +
  'CatalogEntry ChargeItem ChargeItemDefinition Claim ClaimResponse ClientApplication ' +
  'ClinicalImpression CodeSystem Communication CommunicationRequest CompartmentDefinition ' +
  'Composition ConceptMap Condition Consent Contract Coverage CoverageEligibilityRequest ' +
  'CoverageEligibilityResponse Cron DetectedIssue Device DeviceDefinition ' +
  'DeviceMetric DeviceRequest DeviceUseStatement DiagnosticReport DicomInstance ' +
  'DicomSeries DicomStudy DocumentManifest DocumentReference DomainConfiguration ' +
  'EffectEvidenceSynthesis Encounter Endpoint EnrollmentRequest EnrollmentResponse ' +
  'Enterprise EpisodeOfCare EventDefinition Evidence EvidenceVariable ExampleScenario ' +
  'ExplanationOfBenefit FamilyMemberHistory Flag Goal GraphDefinition Group ' +
  'GuidanceResponse HealthcareService ImagingStudy Immunization ImmunizationEvaluation ' +
  'ImmunizationRecommendation ImplementationGuide InsurancePlan Invoice JsonWebKey ' +
  'Library Linkage List Location Login Measure MeasureReport Media Medication ' +
  'MedicationAdministration MedicationDispense MedicationKnowledge MedicationRequest ' +
  'MedicationStatement MedicinalProduct MedicinalProductAuthorization MedicinalProductContraindication ' +
  'MedicinalProductIndication MedicinalProductIngredient MedicinalProductInteraction ' +
  'MedicinalProductManufactured MedicinalProductPackaged MedicinalProductPharmaceutical ' +
  'MedicinalProductUndesirableEffect MessageDefinition MessageHeader MolecularSequence ' +
  'NamingSystem NutritionOrder Observation ObservationDefinition OperationDefinition ' +
  'OperationOutcome Organization OrganizationAffiliation Package PackageInstallation ' +
  'PackageRelease Parameters Patient PaymentNotice PaymentReconciliation Person ' +
  'PlanDefinition Practitioner PractitionerRole Procedure Project ProjectMembership ' +
  'Provenance Questionnaire QuestionnaireResponse RelatedPerson RequestGroup ' +
  'ResearchDefinition ResearchElementDefinition ResearchStudy ResearchSubject ' +
  'RiskAssessment RiskEvidenceSynthesis Schedule SearchParameter ServiceRequest ' +
  'Slot SmartAppLaunch SmartHealthLink Specimen SpecimenDefinition StructureDefinition ' +
  'StructureMap Subscription SubscriptionStatus Substance SubstanceNucleicAcid ' +
  'SubstancePolymer SubstanceProtein SubstanceReferenceInformation SubstanceSourceMaterial ' +
  'SubstanceSpecification SupplyDelivery SupplyRequest Task TerminologyCapabilities ' +
  'TestReport TestScript User UserConfiguration UserSecurityRequest ValueSet ' +
  'VerificationResult VisionPrescription'
).split(' ');

/** For Apollo Client: which types a fragment on `Resource` applies to. The resource types of R4. */
export const possibleTypes: { readonly Resource: string[] } = { Resource: [...RESOURCE_TYPES] };
