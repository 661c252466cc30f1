/** The types behind the interface `Resource`, as the definitions have them, which browsers do without. */
export const RESOURCE_TYPES: readonly string[] = (
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
