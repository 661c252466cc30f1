export * from '../../fhir/R4/[[...path]]/route';
