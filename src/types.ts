// The types of FHIR's resources and data types, so that hosts need no second dependency for `Patient`.

export type * from '@medplum/fhirtypes';
